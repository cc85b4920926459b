#include "chase/measure.h"

#include <sys/resource.h>

#include "chase/loop.h"
#include "kit/fail.h"
#include "kit/stats.h"

#define BATCH_NS 100000   /* far below a scheduler tick: most batches are left alone */
#define LOADS_MIN 512
#define LOADS_MAX 16384
#define WARM_LOADS 1024   /* before each batch: getrusage and the reading of the clock displace lines of a first-level cache */
#define CAP_FACTOR 20     /* a machine too busy for the least number of batches is given up after so many caps */
#define JUMP_FACTOR 4     /* a batch so many times the median ... */
#define JUMP_NS 50000     /* ... and so much longer lost the CPU to something that getrusage does not see */

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static struct batch one_batch(const struct timer *timer, uint64_t turns, struct node **at)
{
    uint64_t t0 = cpu_ticks();
    loop_adds();
    uint64_t t1 = cpu_ticks();
    struct node *node = loop_loads(*at, WARM_LOADS / LOOP_LOADS_PER_TURN);
    uint64_t t2 = cpu_ticks();
    *at = loop_loads(node, turns);
    uint64_t t3 = cpu_ticks();
    return (struct batch){timer_net(timer, t2, t3), timer_net(timer, t0, t1)};
}

/* Turns of the loop for a batch of about BATCH_NS, from a first try (the faster of three: the first one finds nothing warm). */
static uint64_t batch_turns(const struct timer *timer, struct node **at)
{
    uint64_t turns = LOADS_MIN / LOOP_LOADS_PER_TURN, fastest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        struct batch batch = one_batch(timer, turns, at);
        fastest = batch.load_ticks < fastest ? batch.load_ticks : fastest;
    }
    double load_ns = (double)fastest * timer->ns_per_tick / LOADS_MIN;
    double loads = load_ns > 0 ? BATCH_NS / load_ns : LOADS_MAX;
    loads = loads < LOADS_MIN ? LOADS_MIN : loads > LOADS_MAX ? LOADS_MAX : loads;
    return (uint64_t)loads / LOOP_LOADS_PER_TURN;
}

static struct summary summarise(double *values, uint64_t count)
{
    stats_sort(values, count);
    size_t low = stats_interval_index(count);
    return (struct summary){stats_median(values, count), values[low], values[count - 1 - low], values[0], values[count - 1]};
}

static struct summary load_summary(const struct measured *measured, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++)
        values[i] = (double)measured->batches[i].load_ticks * timer->ns_per_tick / (double)measured->loads;
    return summarise(values, measured->count);
}

static struct summary cycle_summary(const struct measured *measured)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++) {
        const struct batch *batch = &measured->batches[i];
        values[i] = (double)batch->load_ticks / (double)measured->loads / ((double)batch->add_ticks / LOOP_ADDS);
    }
    return summarise(values, measured->count);
}

static double median_cycle_ns(const struct measured *measured, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++)
        values[i] = (double)measured->batches[i].add_ticks * timer->ns_per_tick / LOOP_ADDS;
    return summarise(values, measured->count).median;
}

/* Whether the interval is narrow enough. */
static bool settled(const struct measured *measured, const struct timer *timer, double target)
{
    struct summary load = load_summary(measured, timer);
    return load.high - load.low <= target * load.median;
}

/* Takes batches until the interval is narrow enough or the time is over. */
static void collect(struct measured *measured, const struct timer *timer, const struct effort *effort, struct node **at)
{
    uint64_t turns = measured->loads / LOOP_LOADS_PER_TURN, started = timer_monotonic_ns(), look = MEASURE_BATCHES_MIN;
    long before = switches();
    for (;;) {
        struct batch batch = one_batch(timer, turns, at);
        long after = switches();
        if (after == before && batch.add_ticks > 0)
            measured->batches[measured->count++] = batch;
        else
            measured->dropped++;
        before = after;
        if (measured->count >= look) {
            if (settled(measured, timer, effort->target))
                return;
            look = measured->count + measured->count / 4;
        }
        uint64_t elapsed = timer_monotonic_ns() - started;
        measured->capped = measured->count == MEASURE_BATCHES_MAX || elapsed > CAP_FACTOR * effort->cap_ns ||
                           (elapsed > effort->cap_ns && measured->count >= MEASURE_BATCHES_MIN);
        if (measured->capped)
            return;
    }
}

/* Leaves out batches that lost the CPU without a context switch of ours: a hypervisor took it. */
static void drop_jumps(struct measured *measured, const struct timer *timer)
{
    double limit = load_summary(measured, timer).median * (double)measured->loads * JUMP_FACTOR + JUMP_NS;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < measured->count; i++)
        if ((double)measured->batches[i].load_ticks * timer->ns_per_tick <= limit)
            measured->batches[kept++] = measured->batches[i];
    measured->dropped += measured->count - kept;
    measured->count = kept;
}

void measure(const struct chain *chain, const struct timer *timer, const struct effort *effort, struct measured *measured)
{
    struct node *at = chain_line(chain, 0);
    measured->count = measured->dropped = 0;
    measured->capped = false;
    measured->loads = batch_turns(timer, &at) * LOOP_LOADS_PER_TURN;
    collect(measured, timer, effort, &at);
    if (measured->count == 0)
        fail(EXIT_ENVIRONMENT, "this cpu is too busy: each of %llu batches was interrupted", (unsigned long long)measured->dropped);
    if (!chain_holds(chain, at))
        fail(EXIT_SELF_CHECK, "the walk over %llu lines ended outside of them", (unsigned long long)chain->lines);
    drop_jumps(measured, timer);
    measured->load_ns = load_summary(measured, timer);
    measured->cycles = cycle_summary(measured);
    measured->cycle_ns = median_cycle_ns(measured, timer);
}
