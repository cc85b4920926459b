#include "chase/measure.h"

#include <sys/resource.h>

#include "kit/fail.h"
#include "kit/loop.h"

#define BATCH_NS 100000   /* far below a scheduler tick, so that most batches are not interrupted */
#define LOADS_MIN 512     /* take up to BATCH_NS if a load takes up to 195 ns */
#define LOADS_MAX 16384   /* take 20 us in a first-level cache (1.2 ns), far longer than reading the clocks */
#define WARM_LOADS 1024   /* untimed, before each batch: getrusage and clock readings evict lines of the first-level cache */
#define CYCLE_REACH 2      /* number of batches on either side whose adds are also used for a batch */
#define CAP_FACTOR 20     /* factor of the time limit on a machine that is too busy for the minimum number of batches; */
#define BUSY_NS 5000000000u /* without any batch, the measurement takes at least this long */
#define TRIALS 8          /* batches discarded to find their length, */
#define TRIALS_UP 3       /* of which the first ones may lengthen it */
#define JUMP_FACTOR 4     /* a batch this many times the median ... */
#define JUMP_NS 50000     /* ... and this much longer was interrupted by something that getrusage does not report */

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

/* Returns the number of loop iterations for a batch of about BATCH_NS. The first estimate may be too large, because it may read
 * lines that the warm-up left in a near cache. It is therefore reduced until a batch fits. */
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

static struct stats load_stats(const struct measured *measured, const struct timer *timer)
{
    static double values[MEASURE_BATCHES_MAX];
    for (uint64_t i = 0; i < measured->count; i++)
        values[i] = (double)measured->batches[i].load_ticks * timer->ns_per_tick / (double)measured->loads;
    return stats_of(values, measured->count);
}

/* Returns the duration of a core cycle around batch i in nanoseconds, from the fastest adds of this batch and its neighbors.
 * Disturbances only lengthen adds, and the clock changes within milliseconds, not from batch to batch. */
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

/* The duration of an undisturbed cycle. */
static double least_cycle_ns(const struct measured *measured, const struct timer *timer)
{
    double least = cycle_ns_at(measured, 0, timer);
    for (uint64_t i = 1; i < measured->count; i++)
        least = cycle_ns_at(measured, i, timer) < least ? cycle_ns_at(measured, i, timer) : least;
    return least;
}

/* Whether the time limit for the size has passed. On a busy machine, more time is allowed for the minimum number of batches. */
static bool given_up(const struct measured *measured, const struct effort *effort, uint64_t elapsed_ns)
{
    uint64_t busy_ns = CAP_FACTOR * effort->cap_ns;
    if (measured->count == 0)
        return elapsed_ns > (busy_ns > BUSY_NS ? busy_ns : BUSY_NS);
    return elapsed_ns > (measured->count < MEASURE_BATCHES_MIN ? busy_ns : effort->cap_ns);
}

/* Measures the batches for the size, or fewer if time runs out. Returns the number of ticks that the fastest batch took. */
static uint64_t collect(struct measured *measured, const struct timer *timer, const struct effort *effort, struct node **at)
{
    uint64_t turns = measured->loads / LOOP_LOADS_PER_TURN, started = timer_monotonic_ns(), fastest = UINT64_MAX;
    uint64_t most = measured->count + effort->batches;
    long before = switches();
    most = most < MEASURE_BATCHES_MAX ? most : MEASURE_BATCHES_MAX;
    while (measured->count < most && !measured->capped) {
        struct batch batch = one_batch(timer, turns, at);
        long after = switches();
        if (after == before && batch.add_ticks > 0) {
            measured->batches[measured->count++] = batch;
            fastest = batch.load_ticks < fastest ? batch.load_ticks : fastest;
        } else {
            measured->dropped++;
        }
        before = after;
        measured->capped = measured->count < most && given_up(measured, effort, timer_monotonic_ns() - started);
    }
    return fastest;
}

/* Drops batches during which a hypervisor took the CPU, which causes no context switch. */
static void drop_jumps(struct measured *measured, const struct timer *timer)
{
    double limit = load_stats(measured, timer).median * (double)measured->loads * JUMP_FACTOR + JUMP_NS;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < measured->count; i++)
        if ((double)measured->batches[i].load_ticks * timer->ns_per_tick <= limit)
            measured->batches[kept++] = measured->batches[i];
    measured->dropped += measured->count - kept;
    measured->count = kept;
}

void measure_more(const struct chain *chain, const struct timer *timer, const struct effort *effort, struct measured *measured)
{
    struct node *at = chain_line(chain, 0);
    measured->capped = false;
    if (measured->loads == 0)
        measured->loads = batch_turns(timer, &at) * LOOP_LOADS_PER_TURN;
    double fastest_ns = (double)collect(measured, timer, effort, &at) * timer->ns_per_tick / (double)measured->loads;
    if (measured->count == 0)
        fail(EXIT_ENVIRONMENT, "this CPU is too busy: all %llu batches were interrupted", (unsigned long long)measured->dropped);
    if (!chain_holds(chain, at))
        fail(EXIT_SELF_CHECK, "the walk left the chain of %llu lines", (unsigned long long)chain->lines);
    if (measured->fastest_ns <= 0 || fastest_ns < measured->fastest_ns)
        measured->fastest_ns = fastest_ns;
    drop_jumps(measured, timer);
    measured->load_ns = load_stats(measured, timer);
    measured->cycles = cycle_stats(measured, timer);
    measured->cycle_ns = median_cycle_ns(measured, timer);
    measured->least_cycle_ns = least_cycle_ns(measured, timer);
}
