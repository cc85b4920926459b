#include "chase/sweep.h"

#include <stdlib.h>

#include "chase/quiet.h"
#include "kit/numbers.h"

#define POINTS_MAX 4096 /* sizes; at most half of them before the refinement */
#define HELD_MAX 512    /* sizes in near caches that are compared with one another before they are printed */
#define LOOKS_MAX 5     /* repetitions of a disturbed size, as in quiet.c */
#define ROUND_MAX 8     /* bisections per evaluation of the curve, in order of size, so that the chain grows or shrinks only once */

struct point {
    uint64_t bytes;
    double median; /* ns per load */
};

struct curve {
    struct point points[POINTS_MAX]; /* ascending after the measurement */
    size_t count;
};

struct gap {
    double jump;
    uint64_t middle;
};

static int by_bytes(const void *a, const void *b)
{
    uint64_t x = ((const struct point *)a)->bytes, y = ((const struct point *)b)->bytes;
    return (x > y) - (x < y);
}

static int by_span(const void *a, const void *b)
{
    uint64_t x = (*(struct record *const *)a)->span_bytes, y = (*(struct record *const *)b)->span_bytes;
    return (x > y) - (x < y);
}

static int by_jump_down(const void *a, const void *b)
{
    double x = ((const struct gap *)a)->jump, y = ((const struct gap *)b)->jump;
    return (x < y) - (x > y);
}

static int by_middle(const void *a, const void *b)
{
    uint64_t x = ((const struct gap *)a)->middle, y = ((const struct gap *)b)->middle;
    return (x > y) - (x < y);
}

static void print(const struct sweep *sweep, struct sweep_result *result, const struct record *record)
{
    record_print(record, sweep->bench.timer);
    result->samples++;
    result->refined += record->refined;
}

/* Removes each size that has the same number of lines as the previous one; the sizes are ascending. */
static void drop_equal(struct curve *curve, uint64_t stride)
{
    size_t kept = 0;
    for (size_t i = 0; i < curve->count; i++)
        if (kept == 0 || curve->points[i].bytes / stride != curve->points[kept - 1].bytes / stride)
            curve->points[kept++] = curve->points[i];
    curve->count = kept;
}

/* Plans the requested sizes or, if there are none, a grid in whole strides: the octaves of the smallest size, the sizes between
 * them, and the largest size. */
static void plan_coarse(const struct sweep *sweep, struct curve *curve)
{
    for (size_t i = 0; i < sweep->sizes->count; i++)
        curve->points[curve->count++].bytes = (uint64_t)sweep->sizes->values[i];
    double root = root_of_two(sweep->points_per_octave), octave = (double)sweep->min_bytes;
    uint64_t stride = sweep->bench.chain->stride, last = 0;
    while (curve->count < POINTS_MAX / 2 && sweep->sizes->count == 0 && last < sweep->max_bytes) {
        double size = octave;
        for (unsigned i = 0; i < sweep->points_per_octave && last < sweep->max_bytes; i++, size *= root) {
            uint64_t bytes = (uint64_t)(size / (double)stride + 0.5) * stride;
            bytes = bytes < sweep->max_bytes ? bytes : sweep->max_bytes;
            if (bytes > last)
                curve->points[curve->count++].bytes = last = bytes;
        }
        octave *= 2;
    }
    qsort(curve->points, curve->count, sizeof *curve->points, by_bytes);
    drop_equal(curve, stride);
}

/* Returns the latency of each size, or the latency of a larger size if that is lower. A larger working set is never faster, so a
 * peak is caused by other programs and is not a step of the curve. */
static void envelope(const struct curve *curve, double *latency)
{
    double lowest = curve->points[curve->count - 1].median;
    for (size_t i = curve->count; i-- > 0;) {
        lowest = curve->points[i].median < lowest ? curve->points[i].median : lowest;
        latency[i] = lowest;
    }
}

/* Finds the steepest intervals that are wide enough to bisect: at most `most`, ascending by size. */
static size_t steepest(const struct sweep *sweep, const struct curve *curve, struct gap *gaps, size_t most)
{
    static struct gap all[POINTS_MAX];
    static double latency[POINTS_MAX];
    double stride = (double)sweep->bench.chain->stride;
    size_t count = 0;
    envelope(curve, latency);
    for (size_t i = 0; i + 1 < curve->count; i++) {
        uint64_t low = curve->points[i].bytes, high = curve->points[i + 1].bytes;
        uint64_t middle = (uint64_t)(geometric_mean((double)low, (double)high) / stride + 0.5) * sweep->bench.chain->stride;
        bool wide = (double)high > sweep->refine_ratio * (double)low && middle > low && middle < high;
        if (wide && latency[i + 1] >= sweep->refine_jump * latency[i])
            all[count++] = (struct gap){latency[i + 1] / latency[i], middle};
    }
    qsort(all, count, sizeof *all, by_jump_down);
    count = count < most ? count : most;
    memcpy(gaps, all, count * sizeof *gaps);
    qsort(gaps, count, sizeof *gaps, by_middle);
    return count;
}

/* The lowest latency of the sizes above `bytes`. */
static double ceiling_above(const struct curve *curve, uint64_t bytes)
{
    double lowest = 0;
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].bytes > bytes && (lowest <= 0 || curve->points[i].median < lowest))
            lowest = curve->points[i].median;
    return lowest;
}

static void refine_one(struct sweep *sweep, struct sweep_result *result, struct curve *curve, uint64_t bytes)
{
    static struct record record;
    double ceiling = ceiling_above(curve, bytes);
    bench_size(&sweep->bench, bytes, true, &record);
    for (int i = 0; i < LOOKS_MAX && sweep->patience_ns > 0 && quiet_is_near(&record) && quiet_is_disturbed(&record, ceiling); i++)
        quiet_look_again(&sweep->bench, &record, &sweep->patience_ns);
    print(sweep, result, &record);
    curve->points[curve->count++] = (struct point){bytes, record.measured.load_ns.median};
}

/* Measures one round, starting at the end that is nearer to the size of the current chain. Returns false if time has run out. */
static bool bisect(struct sweep *sweep, struct sweep_result *result, struct curve *curve, const struct gap *gaps, size_t count,
                   uint64_t until_ns)
{
    const struct chain *chain = sweep->bench.chain;
    uint64_t now = chain->lines * chain->cell * chain->stride, first = gaps[0].middle, last = gaps[count - 1].middle;
    bool down = now > first && now - first > (last > now ? last - now : 0);
    for (size_t i = 0; i < count; i++) {
        if (timer_monotonic_ns() > until_ns)
            return false;
        refine_one(sweep, result, curve, gaps[down ? count - 1 - i : i].middle);
    }
    qsort(curve->points, curve->count, sizeof *curve->points, by_bytes);
    return true;
}

static const char *refine(struct sweep *sweep, struct sweep_result *result, struct curve *curve)
{
    struct gap gaps[ROUND_MAX];
    uint64_t until_ns = timer_monotonic_ns() + sweep->refine_cap_ns;
    if (sweep->sizes->count > 0 || sweep->refine_ratio <= 1)
        return "off";
    for (;;) {
        uint64_t left = sweep->refine_max - result->refined;
        size_t count = steepest(sweep, curve, gaps, ROUND_MAX);
        if (count == 0)
            return "done";
        if (left == 0)
            return "points";
        if (count > left)
            count = steepest(sweep, curve, gaps, left);
        if (!bisect(sweep, result, curve, gaps, count, until_ns))
            return "time";
    }
}

/* Prints the record of a size in the coarse grid, and enters its latency into the curve. */
static void conclude(const struct sweep *sweep, struct sweep_result *result, struct curve *curve, const struct record *record)
{
    struct point same = {.bytes = record->span_bytes};
    struct point *point = bsearch(&same, curve->points, curve->count, sizeof *curve->points, by_bytes);
    print(sweep, result, record);
    point->median = record->measured.load_ns.median;
}

/* Measures the disturbed sizes among the `count` near sizes in `held` again, and concludes all of these near sizes. */
static void release(struct sweep *sweep, struct sweep_result *result, struct curve *curve, struct record *held, size_t count)
{
    static struct record *ascending[HELD_MAX];
    for (size_t i = 0; i < count; i++)
        ascending[i] = &held[i];
    qsort(ascending, count, sizeof *ascending, by_span);
    quiet_settle(&sweep->bench, ascending, count, &sweep->patience_ns);
    for (size_t i = 0; i < count; i++)
        conclude(sweep, result, curve, ascending[i]);
}

static void measure_coarse(struct sweep *sweep, struct sweep_result *result, struct curve *curve)
{
    static struct record held[HELD_MAX];
    static size_t order[POINTS_MAX];
    size_t count = 0;
    random_order(order, curve->count, sweep->order);
    for (size_t i = 0; i < curve->count; i++) {
        struct record *record = &held[count];
        bench_size(&sweep->bench, curve->points[order[i]].bytes, false, record);
        bool near = quiet_is_near(record), beyond = !near && sweep->order == 0; /* ascending: all near sizes are measured */
        count += near;
        if (beyond || count == HELD_MAX || i + 1 == curve->count) {
            release(sweep, result, curve, held, count);
            count = 0;
        }
        if (!near)
            conclude(sweep, result, curve, record);
    }
}

struct sweep_result sweep_run(struct sweep *sweep)
{
    static struct curve curve;
    struct sweep_result result = {0};
    plan_coarse(sweep, &curve);
    measure_coarse(sweep, &result, &curve);
    result.refine_stopped = refine(sweep, &result, &curve);
    bench_finish(&sweep->bench);
    return result;
}
