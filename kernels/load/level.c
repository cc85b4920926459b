#include "load/level.h"

#include "kit/fail.h"
#include "kit/loop.h"

#define CAP_FACTOR 5    /* factor of the time limit on a machine that is too busy for the minimum number of windows; */
#define BUSY_NS 200000000 /* the limit is then at least this long, because time slices of other programs take milliseconds */
#define ESTIMATE_WINDOWS 9   /* few, because the search then measures its result as a whole level */
#define ESTIMATE_TRIES 200   /* to take these windows on a busy machine */

typedef double window_value(const struct sampler *sampler, const struct window *window);

static double chain_bps(const struct sampler *sampler, const struct window *window)
{
    double seconds = (double)window->span_ticks * sampler->timer->ns_per_tick / 1e9;
    return (double)(windows_loads(sampler) * cpu_line_bytes()) / seconds;
}

static double cycle_ns(const struct sampler *sampler, const struct window *window)
{
    return (double)window->add_ticks * sampler->timer->ns_per_tick / (double)loop_probe_adds(sampler->timer);
}

static struct stats stats_by(const struct sampler *sampler, const struct windows *windows, window_value *value)
{
    static double values[WINDOWS_MAX];
    for (uint64_t i = 0; i < windows->count; i++)
        values[i] = value(sampler, &windows->list[i]);
    return stats_of(values, windows->count);
}

static bool given_up(const struct levels *levels, const struct windows *windows, uint64_t elapsed_ns)
{
    bool late = windows->count >= LEVEL_WINDOWS_MIN && elapsed_ns > levels->cap_ns;
    return late || (elapsed_ns > CAP_FACTOR * levels->cap_ns && elapsed_ns > BUSY_NS);
}

/* Measures the windows of a level, or fewer if time runs out. The number of windows does not depend on the values, because stopping
 * at a narrow interval would select a quiet moment. Idle threads have a bandwidth of zero, which requires no windows. */
static void collect(struct levels *levels, struct level *level)
{
    struct windows *windows = &level->windows;
    uint64_t started = timer_monotonic_ns();
    bool nothing = !levels->sampler.chain && level->delay < 0;
    uint64_t most = nothing ? LEVEL_WINDOWS_MIN : levels->windows;
    while (windows->count < most && !level->capped) {
        windows_take(&levels->sampler, windows);
        level->capped = given_up(levels, windows, timer_monotonic_ns() - started);
    }
    level->capped = windows->count < most;
}

/* Measures until the workload has ended. */
static void accompany(struct levels *levels, struct level *level)
{
    uint64_t taken_ns = 0;
    workload_start(levels->workload);
    do
        windows_take(&levels->sampler, &level->windows);
    while (!workload_ended(levels->workload, &taken_ns));
    level->workload_ns = (int64_t)taken_ns;
}

static void summarise(struct levels *levels, struct level *level)
{
    const struct sampler *sampler = &levels->sampler;
    struct windows *windows = &level->windows;
    level->disturbed = windows->count == 0;
    if (level->disturbed)
        windows_restore(windows);
    level->capped = level->capped || level->disturbed;
    level->bandwidth = stats_by(sampler, windows, windows_bandwidth);
    if (!sampler->chain)
        return;
    if (!chain_holds(sampler->chain, sampler->at))
        fail(EXIT_SELF_CHECK, "the walk left the chain of %llu lines", (unsigned long long)sampler->chain->lines);
    level->latency_ns = stats_by(sampler, windows, windows_latency_ns);
    level->chain_bps = stats_by(sampler, windows, chain_bps);
    struct stats cycles = stats_by(sampler, windows, cycle_ns);
    level->cycle_ns = cycles.median;
    noise_clock(levels->noise, stats_rounded(cycles.min * 1e6));
}

void level_measure(struct levels *levels, struct level *level)
{
    uint64_t started = timer_monotonic_ns();
    level->capped = false;
    level->workload_ns = -1;
    if (level->delay < 0)
        crew_park(levels->sampler.crew);
    else
        crew_run(levels->sampler.crew, (uint64_t)level->delay);
    windows_begin(&levels->sampler, &level->windows);
    if (levels->workload)
        accompany(levels, level);
    else
        collect(levels, level);
    summarise(levels, level);
    level->elapsed_ns = timer_monotonic_ns() - started;
}

double level_estimate(struct levels *levels, uint64_t delay)
{
    static struct windows windows;
    crew_run(levels->sampler.crew, delay);
    windows_begin(&levels->sampler, &windows);
    for (int i = 0; i < ESTIMATE_TRIES && windows.count < ESTIMATE_WINDOWS; i++)
        windows_take(&levels->sampler, &windows);
    if (windows.count == 0)
        windows_restore(&windows);
    return stats_by(&levels->sampler, &windows, windows_bandwidth).median;
}
