#include "chase/measure.h"

#include <string.h>
#include <sys/resource.h>

#include "kit/fail.h"
#include "kit/loop.h"

#define BATCH_NS 100000   /* far below a scheduler tick, so that most batches are not interrupted */
#define LOADS_MIN 512
#define LOADS_MAX 16384
#define WARM_LOADS 1024   /* untimed, before each batch: getrusage and reading the clock evict lines of the first-level cache */
#define LOOK_EVERY 7       /* batches between two computations of the interval */
#define CYCLE_REACH 2      /* batches before and after whose adds are used for a batch */
#define CAP_FACTOR 20     /* on a machine too busy for the least number of batches, measure for this many caps, */
#define BUSY_NS 5000000000u /* and at least this long if there is no batch at all */
#define TRIALS 8          /* batches discarded to find their length, */
#define TRIALS_UP 3       /* of which the first ones may lengthen it */
#define JUMP_FACTOR 4     /* a batch this many times the median ... */
#define JUMP_NS 50000     /* ... and this much longer lost the CPU to something that getrusage does not report */

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static struct batch one_batch(const struct timer *timer, uint64_t turns, struct node **at)
{
    uint64_t adds = loop_probe_adds(timer), t0 = cpu_ticks();
    loop_adds(adds);
    uint64_t t1 = cpu_ticks();
    struct node *node = loop_loads(*at, WARM_LOADS / LOOP_LOADS_PER_TURN);
    uint64_t t2 = cpu_ticks();
    *at = loop_loads(node, turns);
    uint64_t t3 = cpu_ticks();
    return (struct batch){timer_net(timer, t2, t3), timer_net(timer, t0, t1)};
}

/* Iterations of the loop for a batch of about BATCH_NS. The first estimate may hit lines that the warm-up left in a near cache,
 * so it is reduced until a batch fits. */
static uint64_t batch_turns(const struct timer *timer, struct node **at)
{
    uint64_t turns = LOADS_MIN / LOOP_LOADS_PER_TURN, least = turns, most = LOADS_MAX / LOOP_LOADS_PER_TURN;
    for (int i = 0; i < TRIALS; i++) {
        double taken_ns = (double)one_batch(timer, turns, at).load_ticks * timer->ns_per_tick;
        if (i >= TRIALS_UP && taken_ns < BATCH_NS * 1.25)
            break;
        double fitting = taken_ns > 0 ? (double)turns * BATCH_NS / taken_ns : (double)most;
        turns = fitting < (double)least ? least : fitting > (double)most ? most : (uint64_t)fitting;
    }
    return turns;
}

/* Statistics of the last `count` batches. */
static struct stats load_stats(const struct measured *measured, uint64_t count, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    const struct batch *batches = &measured->batches[measured->count - count];
    for (uint64_t i = 0; i < count; i++)
        values[i] = (double)batches[i].load_ticks * timer->ns_per_tick / (double)measured->loads;
    return stats_of(values, count);
}

/* Nanoseconds of a core cycle around batch i: the fastest adds of it and its neighbors. Disturbances only make adds longer, and
 * the clock changes within milliseconds, not from batch to batch. */
static double cycle_ns_at(const struct measured *measured, uint64_t i, const struct timer *timer)
{
    uint64_t from = i > CYCLE_REACH ? i - CYCLE_REACH : 0, to = i + CYCLE_REACH, fastest = UINT64_MAX;
    for (uint64_t k = from; k <= to && k < measured->count; k++)
        if (measured->batches[k].add_ticks < fastest)
            fastest = measured->batches[k].add_ticks;
    return (double)fastest * timer->ns_per_tick / (double)loop_probe_adds(timer);
}

static struct stats cycle_stats(const struct measured *measured, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++) {
        double load_ns = (double)measured->batches[i].load_ticks * timer->ns_per_tick / (double)measured->loads;
        values[i] = load_ns / cycle_ns_at(measured, i, timer);
    }
    return stats_of(values, measured->count);
}

static double median_cycle_ns(const struct measured *measured, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++)
        values[i] = cycle_ns_at(measured, i, timer);
    return stats_of(values, measured->count).median;
}

/* The duration of a cycle without disturbances. */
static double least_cycle_ns(const struct measured *measured, const struct timer *timer)
{
    double least = cycle_ns_at(measured, 0, timer);
    for (uint64_t i = 1; i < measured->count; i++)
        least = cycle_ns_at(measured, i, timer) < least ? cycle_ns_at(measured, i, timer) : least;
    return least;
}

static bool narrow(const struct measured *measured, uint64_t count, const struct timer *timer, double target)
{
    struct stats load = load_stats(measured, count, timer);
    return stats_within(&load, target);
}

/* Keeps the last `count` batches only. */
static void keep_last(struct measured *measured, uint64_t count)
{
    measured->outside = measured->count - count;
    memmove(measured->batches, &measured->batches[measured->outside], count * sizeof *measured->batches);
    measured->count = count;
}

/* Whether all batches or the last few are precise enough. The interval of all is computed at growing distances, because sorting
 * costs time. */
static bool settled(struct measured *measured, const struct timer *timer, double target, uint64_t *next_look)
{
    if (measured->count < MEASURE_BATCHES_MIN || measured->count % LOOK_EVERY != 0)
        return false;
    if (measured->count >= *next_look) {
        *next_look = measured->count + measured->count / 4;
        if (narrow(measured, measured->count, timer, target))
            return true;
    }
    if (!narrow(measured, MEASURE_BATCHES_MIN, timer, target))
        return false;
    keep_last(measured, MEASURE_BATCHES_MIN);
    return true;
}

/* Whether the time or the room for batches is used up. */
static bool spent(const struct measured *measured, const struct effort *effort, uint64_t elapsed_ns)
{
    bool enough = measured->count >= MEASURE_BATCHES_MIN && elapsed_ns > effort->cap_ns;
    uint64_t busy_ns = CAP_FACTOR * effort->cap_ns;
    if (measured->count == 0)
        return elapsed_ns > (busy_ns > BUSY_NS ? busy_ns : BUSY_NS);
    return enough || measured->count == MEASURE_BATCHES_MAX || elapsed_ns > busy_ns;
}

/* Takes batches until the interval is narrow enough or the time is over. Returns the ticks of the fastest one. */
static uint64_t collect(struct measured *measured, const struct timer *timer, const struct effort *effort, struct node **at)
{
    uint64_t turns = measured->loads / LOOP_LOADS_PER_TURN, started = timer_monotonic_ns();
    uint64_t look = MEASURE_BATCHES_MIN, fastest = UINT64_MAX;
    long before = switches();
    for (;;) {
        struct batch batch = one_batch(timer, turns, at);
        long after = switches();
        if (after == before && batch.add_ticks > 0) {
            measured->batches[measured->count++] = batch;
            fastest = batch.load_ticks < fastest ? batch.load_ticks : fastest;
            if (settled(measured, timer, effort->target, &look))
                return fastest;
        } else {
            measured->dropped++;
        }
        before = after;
        measured->capped = spent(measured, effort, timer_monotonic_ns() - started);
        if (measured->capped)
            return fastest;
    }
}

/* Drops batches that lost the CPU without a context switch: a hypervisor took it. */
static void drop_jumps(struct measured *measured, const struct timer *timer)
{
    double limit = load_stats(measured, measured->count, timer).median * (double)measured->loads * JUMP_FACTOR + JUMP_NS;
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
    measured->count = measured->dropped = measured->outside = 0;
    measured->capped = false;
    measured->loads = batch_turns(timer, &at) * LOOP_LOADS_PER_TURN;
    uint64_t fastest = collect(measured, timer, effort, &at);
    if (measured->count == 0)
        fail(EXIT_ENVIRONMENT, "this CPU is too busy: all %llu batches were interrupted", (unsigned long long)measured->dropped);
    if (!chain_holds(chain, at))
        fail(EXIT_SELF_CHECK, "following the chain of %llu lines led outside of it", (unsigned long long)chain->lines);
    measured->fastest_ns = (double)fastest * timer->ns_per_tick / (double)measured->loads;
    drop_jumps(measured, timer);
    measured->load_ns = load_stats(measured, measured->count, timer);
    /* The interval was last computed up to a quarter of the batches ago, and included batches dropped since. */
    bool enough = measured->count >= MEASURE_BATCHES_MIN;
    measured->capped = measured->capped && !(enough && stats_within(&measured->load_ns, effort->target));
    measured->cycles = cycle_stats(measured, timer);
    measured->cycle_ns = median_cycle_ns(measured, timer);
    measured->least_cycle_ns = least_cycle_ns(measured, timer);
}
