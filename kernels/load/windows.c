#include "load/windows.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kit/loop.h"

#define SETTLE_NS 1500000     /* until queues, prefetchers and the clock of the core have adapted to the new load */
#define SETTLE_WINDOWS 3      /* least number of discarded windows */
#define WARM_PAGE 4096        /* one load for each of the smallest pages: the host of a guest may use them */
#define WARM_LOADS_MIN 262144 /* twice what was found to be needed for 512 MiB with pages of 1 GiB */
#define WARM_MAX_NS 500000000
#define WARM_TURNS 64
#define SLICE_JUMP_FACTOR 4   /* a slice this many times the fastest of its window ... */
#define SLICE_JUMP_NS 20000   /* ... and this much longer was interrupted */
#define WARM_SHARE 16         /* 1/16 of a window's loads is made untimed before it: reading counters evicts lines of near caches */

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Times slices of dependent loads, each from the end of the previous one. True if the thread was descheduled during one
 * of them. */
static bool chase(struct sampler *sampler, struct window *window)
{
    const struct timer *timer = sampler->timer;
    uint64_t adds = loop_probe_adds(timer), fastest = UINT64_MAX, slowest = 0, before = cpu_ticks();
    loop_adds(adds);
    uint64_t start = cpu_ticks();
    window->add_ticks = timer_net(timer, before, start);
    sampler->at = loop_loads(sampler->at, sampler->turns * sampler->slices / WARM_SHARE + 1);
    start = before = cpu_ticks();
    for (uint64_t i = 0; i < sampler->slices; i++) {
        sampler->at = loop_loads(sampler->at, sampler->turns);
        uint64_t now = cpu_ticks(), ticks = now - before;
        fastest = ticks < fastest ? ticks : fastest;
        slowest = ticks > slowest ? ticks : slowest;
        before = now;
    }
    uint64_t reading = timer->overhead_ticks * sampler->slices;
    window->load_ticks = before - start > reading ? before - start - reading : 0;
    return (double)slowest > (double)fastest * SLICE_JUMP_FACTOR + SLICE_JUMP_NS / timer->ns_per_tick;
}

/* Sleeps until the time is over or a child ends. The program blocks SIGCHLD, which is then pending. */
static void sleep_ns(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &time);
}

/* Records a window from the end of the previous one until now. Returns true if this thread was disturbed, which is impossible while
 * it sleeps. */
static bool pass(struct sampler *sampler, struct window *window)
{
    if (!sampler->chain) {
        sleep_ns(sampler->sleep_ns);
        return false;
    }
    bool jumped = chase(sampler, window);
    long now = switches();
    bool switched = now != sampler->switches;
    sampler->switches = now;
    return jumped || switched;
}

static void mark(struct sampler *sampler)
{
    sampler->ticks = cpu_ticks();
    sampler->count = crew_read(sampler->crew);
}

/* Merges pairs of windows, so that there is room for the whole duration of a workload. */
static void join_pairs(struct sampler *sampler, struct windows *windows)
{
    windows->count /= 2;
    for (uint64_t i = 0; i < windows->count; i++) {
        struct window a = windows->list[2 * i], b = windows->list[2 * i + 1];
        windows->list[i] = (struct window){0, 0, a.steps + b.steps, a.span_ticks + b.span_ticks};
    }
    sampler->sleep_ns *= 2;
}

static void drop(struct windows *windows, const struct window *window)
{
    if (windows->dropped < WINDOWS_SPARE_MAX)
        windows->spare[windows->dropped] = *window;
    windows->dropped++;
}

bool windows_take(struct sampler *sampler, struct windows *windows)
{
    struct window window = {0};
    uint64_t ticks = sampler->ticks;
    if (windows->count == WINDOWS_MAX)
        join_pairs(sampler, windows);
    struct crew_count before = sampler->count;
    bool disturbed = pass(sampler, &window);
    mark(sampler);
    bool lost = sampler->count.lost != before.lost || sampler->count.stalled;
    window.span_ticks = sampler->ticks - ticks;
    window.steps = sampler->count.steps - before.steps;
    /* A thread can report that it was descheduled only when it runs again, so this may have been in the previous window. */
    if (lost && windows->kept_last)
        drop(windows, &windows->list[--windows->count]);
    windows->kept_last = !lost && !disturbed;
    if (windows->kept_last)
        windows->list[windows->count++] = window;
    else
        drop(windows, &window);
    return windows->kept_last;
}

void windows_restore(struct windows *windows)
{
    windows->count = windows->dropped < WINDOWS_SPARE_MAX ? windows->dropped : WINDOWS_SPARE_MAX;
    memcpy(windows->list, windows->spare, windows->count * sizeof *windows->list);
    windows->dropped -= windows->count;
}

/* Computes iterations and slices for a window of about the requested length from the duration of the last one. */
static void fit(struct sampler *sampler, const struct window *window)
{
    double turn_ns = (double)window->load_ticks * sampler->timer->ns_per_tick / (double)(sampler->turns * sampler->slices);
    double turns = turn_ns > 0 ? WINDOWS_CHAIN_NS / turn_ns : 1;
    sampler->slices = turns < 4 ? 4 : turns < WINDOWS_SLICES ? (uint64_t)turns : WINDOWS_SLICES;
    sampler->turns = turns < WINDOWS_SLICES ? 1 : (uint64_t)(turns / WINDOWS_SLICES);
}

void windows_warm(struct sampler *sampler)
{
    uint64_t span = sampler->chain->lines * sampler->chain->cell * sampler->chain->stride, pages = span / WARM_PAGE;
    uint64_t loads = pages > WARM_LOADS_MIN ? pages : WARM_LOADS_MIN, until = timer_monotonic_ns() + WARM_MAX_NS;
    for (uint64_t done = 0; done < loads && timer_monotonic_ns() < until; done += WARM_TURNS * LOOP_LOADS_PER_TURN)
        sampler->at = loop_loads(sampler->at, WARM_TURNS);
}

void windows_begin(struct sampler *sampler, struct windows *windows)
{
    uint64_t until = timer_monotonic_ns() + SETTLE_NS;
    sampler->turns = 1;
    sampler->slices = WINDOWS_SLICES;
    sampler->sleep_ns = WINDOWS_SLEEP_NS;
    for (unsigned i = 0; i < SETTLE_WINDOWS || timer_monotonic_ns() < until; i++) {
        struct window window = {0};
        if (!pass(sampler, &window) && sampler->chain)
            fit(sampler, &window);
    }
    windows->count = windows->dropped = 0;
    windows->kept_last = false;
    crew_read(sampler->crew);
    mark(sampler);
}

uint64_t windows_loads(const struct sampler *sampler)
{
    return sampler->chain ? sampler->turns * sampler->slices * LOOP_LOADS_PER_TURN : 0;
}

double windows_latency_ns(const struct sampler *sampler, const struct window *window)
{
    return (double)window->load_ticks * sampler->timer->ns_per_tick / (double)windows_loads(sampler);
}

double windows_bandwidth(const struct sampler *sampler, const struct window *window)
{
    double seconds = (double)window->span_ticks * sampler->timer->ns_per_tick / 1e9;
    return (double)window->steps * (double)crew_step_bytes(sampler->crew) / seconds;
}
