#include "stream/bench.h"

#include "stream/record.h"

#define TRIAL_WINDOWS 6
#define WINDOWS_FEW 7    /* a measurement with at least this many windows ends at its time limit */
#define BUSY_FACTOR 20   /* factor of the time limit on a machine that is too busy for that number of windows; */
#define BUSY_NS 5000000000u /* without any window, the measurement takes at least this long */
#define CLEARLY 1.005

static double rate(const struct window *window)
{
    return (double)window->bytes * 1e9 / window->ns;
}

static struct stats bps_of(const struct sample *sample)
{
    static double rates[BENCH_WINDOWS_MAX];
    for (size_t i = 0; i < sample->count; i++)
        rates[i] = rate(&sample->windows[i]);
    return stats_of(rates, sample->count);
}

/* Nanoseconds of a core cycle from the adds of the median thread. */
static double cycle_ns(const struct crew *crew)
{
    double ticks[OPTS_LIST_MAX];
    for (size_t i = 0; i < crew->team.count; i++)
        ticks[i] = (double)timer_net(&crew->timer, 0, crew->walkers[i].add_ticks);
    stats_sort(ticks, crew->team.count);
    return stats_median(ticks, crew->team.count) * crew->timer.ns_per_tick / WALKER_ADDS;
}

/* One window of all threads: all bytes, from the common start to the end of the last thread. */
static void take_window(struct crew *crew, struct sample *sample)
{
    crew_do(crew, ORDER_WINDOW);
    uint64_t end = 0, moved = 0;
    bool disturbed = false;
    for (size_t i = 0; i < crew->team.count; i++) {
        const struct walker *walker = &crew->walkers[i];
        end = walker->end_ticks > end ? walker->end_ticks : end;
        moved += walker->moved;
        disturbed = disturbed || walker->disturbed;
    }
    if (disturbed) {
        sample->dropped++;
        return;
    }
    double ns = (double)timer_net(&crew->timer, crew->start_ticks, end) * crew->timer.ns_per_tick;
    sample->cycle_ns[sample->count] = cycle_ns(crew);
    sample->windows[sample->count++] = (struct window){ns, traffic_useful(sample->value.traffic, moved)};
}

/* Whether all windows have been measured or time has run out. The number of windows does not depend on the values, because stopping
 * at a narrow interval would select a quiet moment. */
static bool finished(const struct sample *sample, const struct bench *bench, uint64_t most, uint64_t elapsed_ns)
{
    bool enough = sample->count >= (most < WINDOWS_FEW ? most : WINDOWS_FEW);
    uint64_t busy_ns = BUSY_FACTOR * bench->cap_ns;
    if (sample->count >= most)
        return true;
    if (sample->count == 0)
        return elapsed_ns > (busy_ns > BUSY_NS ? busy_ns : BUSY_NS);
    return elapsed_ns > (enough ? bench->cap_ns : busy_ns);
}

static void take_windows(struct bench *bench, struct sample *sample, uint64_t most)
{
    uint64_t started = timer_monotonic_ns();
    do
        take_window(bench->crew, sample);
    while (!finished(sample, bench, most, timer_monotonic_ns() - started));
    if (sample->count == 0)
        fail(EXIT_ENVIRONMENT,
             "these CPUs are too busy: all %zu windows were interrupted; repeat when they are idle, or select others",
             sample->dropped);
}

/* Runs one loop for up to `most` windows and verifies its results. */
static void measure(struct bench *bench, struct sample *sample, uint64_t most)
{
    struct crew *crew = bench->crew;
    uint64_t started = timer_monotonic_ns();
    crew->work.loop = sample->loop;
    sample->count = sample->dropped = 0;
    crew_do(crew, ORDER_BEGIN);
    crew_do(crew, ORDER_WARM);
    crew->work.whole = false;
    take_windows(bench, sample, most);
    crew_do(crew, ORDER_CHECK);
    bench->checks++;
    sample->bps = bps_of(sample);
    sample->core_ns = stats_of(sample->cycle_ns, sample->count).min;
    sample->capped = sample->count < most;
    sample->elapsed_ns = timer_monotonic_ns() - started;
    noise_clock(bench->noise, stats_rounded(sample->core_ns * 1e6));
}

static void print(struct bench *bench, struct sample *sample, bool best)
{
    sample->best = best;
    record_print(bench, sample);
    bench->samples++;
}

/* Whether one loop is clearly faster than another, so that chance does not decide between loops of equal speed. */
static bool faster(const struct sample *a, const struct sample *b, bool full)
{
    return full ? a->bps.median > CLEARLY * b->bps.median : a->bps.max > CLEARLY * b->bps.max;
}

/* Measures every variant, briefly or completely, and prints all except the best one, whose index is returned. Short trials
 * compare only the fastest windows, because other programs may have slowed down the rest. */
static unsigned compare(struct bench *bench, struct sample *samples, const struct loops *loops)
{
    bool full = bench->effort == EFFORT_ALL;
    unsigned best = 0;
    for (unsigned i = 0; i < loops->count; i++) {
        samples[i].loop = loops->variants[i];
        measure(bench, &samples[i], full ? bench->windows : TRIAL_WINDOWS);
        best = faster(&samples[i], &samples[best], full) ? i : best;
    }
    for (unsigned i = 0; i < loops->count; i++)
        if (i != best)
            print(bench, &samples[i], false);
    return best;
}

void bench_point(struct bench *bench, const struct value *value)
{
    static struct sample samples[LOOPS_VARIANTS_MAX];
    struct work *work = &bench->crew->work;
    work->traffic = value->traffic;
    work->grain = loops_grain(value->set->isa);
    work->layout = layout_of(value->set->size, value->traffic, work->grain);
    work->whole = value->set->size != bench->last_size;
    bench->last_size = value->set->size;
    struct loops loops = loops_of(value->traffic, value->set->isa, work->layout.array_bytes);
    for (unsigned i = 0; i < loops.count; i++) {
        samples[i].value = *value;
        samples[i].trial = 0;
        samples[i].array_bytes = work->layout.array_bytes;
    }
    samples[0].loop = loops.variants[0];
    unsigned best = bench->effort == EFFORT_PLAIN ? 0 : compare(bench, samples, &loops);
    if (bench->effort == EFFORT_BEST)
        samples[best].trial = samples[best].count + samples[best].dropped;
    if (bench->effort != EFFORT_ALL)
        measure(bench, &samples[best], bench->windows);
    print(bench, &samples[best], true);
}
