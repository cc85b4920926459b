#include "chase/sweep.h"

#include <stdlib.h>

#include "chase/check.h"
#include "chase/report.h"
#include "kit/fail.h"
#include "kit/numbers.h"

#define POINTS_MAX 4096
#define ROUND_MAX 8 /* bisected between two looks at the curve, in order of size: the chain then grows or shrinks once */

struct point {
    uint64_t bytes;
    double median, low, high; /* ns a load */
};

struct curve {
    struct point points[POINTS_MAX]; /* ascending once measured */
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

/* Reads a stretch as long as the last-level cache. The caches then hold the share of a sparse chain that they would hold of a
 * dense one over the same span; after the self-check's walk they would hold much more. */
static void flush(const struct sweep *sweep, uint64_t span_bytes)
{
    const struct chain *chain = sweep->chain;
    uint64_t from = sweep->flush_bytes < span_bytes ? span_bytes - sweep->flush_bytes : 0;
    for (uint64_t at = from; at < span_bytes; at += chain->stride)
        (void)*(volatile char *)(chain->start + at);
}

static struct point measure_size(struct sweep *sweep, struct sweep_result *result, uint64_t bytes, bool refined)
{
    static struct measured measured;
    struct extent extent = chain_extent(sweep->chain, bytes);
    uint64_t started = timer_monotonic_ns();
    if (!chain_resize(sweep->chain, extent) || !check_chain(sweep->chain))
        fail(EXIT_SELF_CHECK, "the chain of %llu lines is not one cycle through all of them", (unsigned long long)extent.lines);
    if (extent.cell > 1)
        flush(sweep, bytes);
    uint64_t ready = timer_monotonic_ns();
    measure(sweep->chain, sweep->timer, &sweep->effort, &measured);
    struct sample sample = {.refined = refined, .span_bytes = bytes, .setup_ns = ready - started,
                            .elapsed_ns = timer_monotonic_ns() - started, .chain = sweep->chain, .measured = &measured};
    report_sample(&sample, sweep->timer);
    result->samples++;
    result->refined += refined;
    result->verified_lines += extent.lines;
    return (struct point){bytes, measured.load_ns.median, measured.load_ns.low, measured.load_ns.high};
}

/* The sizes asked for, or those of the grid in whole strides: the octaves of the smallest size and the parts between, and the largest. */
static void plan_coarse(const struct sweep *sweep, struct curve *curve)
{
    for (size_t i = 0; i < sweep->sizes->count; i++)
        curve->points[curve->count++].bytes = (uint64_t)sweep->sizes->values[i];
    double root = root_of_two(sweep->points_per_octave), octave = (double)sweep->min_bytes;
    uint64_t stride = sweep->chain->stride, last = 0;
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
}

/* The factor between two neighbours' latencies, 1 if it lies within their intervals. */
static double jump_between(const struct point *a, const struct point *b)
{
    const struct point *lower = a->median < b->median ? a : b, *upper = lower == a ? b : a;
    return upper->low > lower->high ? upper->median / lower->median : 1;
}

/* Finds the steepest gaps that are still wide; up to `most` of them, ascending by size. */
static size_t steepest(const struct sweep *sweep, const struct curve *curve, struct gap *gaps, size_t most)
{
    static struct gap all[POINTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i + 1 < curve->count; i++) {
        const struct point *a = &curve->points[i], *b = a + 1;
        double jump = jump_between(a, b);
        uint64_t stride = sweep->chain->stride;
        uint64_t middle = (uint64_t)(geometric_mean((double)a->bytes, (double)b->bytes) / (double)stride + 0.5) * stride;
        if (jump >= sweep->refine_jump && (double)b->bytes > sweep->refine_ratio * (double)a->bytes && middle > a->bytes && middle < b->bytes)
            all[count++] = (struct gap){jump, middle};
    }
    qsort(all, count, sizeof *all, by_jump_down);
    count = count < most ? count : most;
    memcpy(gaps, all, count * sizeof *gaps);
    qsort(gaps, count, sizeof *gaps, by_middle);
    return count;
}

/* One round; false if the time is over. The end nearer to the chain as it stands comes first. */
static bool bisect(struct sweep *sweep, struct sweep_result *result, struct curve *curve, const struct gap *gaps, size_t count, uint64_t until_ns)
{
    uint64_t now = sweep->chain->lines * sweep->chain->cell * sweep->chain->stride;
    bool down = now > gaps[0].middle && now - gaps[0].middle > (gaps[count - 1].middle > now ? gaps[count - 1].middle - now : 0);
    for (size_t i = 0; i < count; i++) {
        if (timer_monotonic_ns() > until_ns)
            return false;
        curve->points[curve->count++] = measure_size(sweep, result, gaps[down ? count - 1 - i : i].middle, true);
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

struct sweep_result sweep_run(struct sweep *sweep)
{
    static struct curve curve;
    struct sweep_result result = {0};
    plan_coarse(sweep, &curve);
    for (size_t i = 0; i < curve.count; i++)
        curve.points[i] = measure_size(sweep, &result, curve.points[i].bytes, false);
    result.refine_stopped = refine(sweep, &result, &curve);
    if (!chain_resize(sweep->chain, (struct extent){1, sweep->chain->cell}))
        fail(EXIT_SELF_CHECK, "the chain was changed while it was measured");
    return result;
}
