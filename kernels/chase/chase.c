/* chase: measures load-to-use latency by size of the working set. See README.md. */
#include "chase/sweep.h"

#include "cpu.h"
#include "kit/affinity.h"
#include "kit/arena.h"
#include "kit/chain.h"
#include "kit/distance.h"
#include "kit/llc.h"
#include "kit/noise.h"
#include "kit/opts.h"
#include "kit/timer.h"

#define SIZE_MAX_BYTES ((int64_t)1 << 46)
#define NODE_BYTES 16 /* of a struct node; sizeof does not fit into the table's help text */

static struct options {
    int64_t min_size, max_size, points_per_octave, refine_to, refine_jump, refine_max, refine_cap_ms, stride, window, cpu, node;
    int64_t batches, time_cap_ms, patience_ms, order, seed, llc_bytes;
    const char *pages;
    struct opt_list sizes;
} options;

static struct opt table[] = {
    {"min-size", "bytes", "0", "smallest working set; 0: two lines",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.min_size, false},
    {"max-size", "bytes", "1073741824", "largest working set", OPT_INTEGER, 32, SIZE_MAX_BYTES, NULL, &options.max_size, false},
    {"sizes", "bytes", "", "comma-separated working sets to measure instead of the grid",
     OPT_INTEGERS, 32, SIZE_MAX_BYTES, NULL, &options.sizes, false},
    {"points-per-octave", "", "4", "number of sizes per doubling in the coarse grid",
     OPT_INTEGER, 1, 64, NULL, &options.points_per_octave, false},
    {"refine-to", "percent", "2",
     "bisect a jump in latency until the sizes on either side of it differ by at most this much; 0: no refinement",
     OPT_INTEGER, 0, 100, NULL, &options.refine_to, false},
    {"refine-jump", "percent", "10", "difference in latency between neighboring sizes that is treated as a jump",
     OPT_INTEGER, 1, 1000, NULL, &options.refine_jump, false},
    {"refine-max", "points", "48", "maximum number of sizes added by refinement",
     OPT_INTEGER, 0, 1024, NULL, &options.refine_max, false},
    {"refine-cap-ms", "ms", "4000", "time limit for refinement", OPT_INTEGER, 0, 3600000, NULL, &options.refine_cap_ms, false},
    {"stride", "bytes", "0", "distance between lines, a multiple of 16; 0: one cache line",
     OPT_INTEGER, 0, 1 << 20, NULL, &options.stride, false},
    {"window", "bytes", "0", "walk windows of this size one after another, so that few pages are in use at a time; 0: no windows",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.window, false},
    {"pages", "", "auto", "page size; auto: 2m, otherwise thp, otherwise 4k", OPT_CHOICE, 0, 0, ARENA_KINDS, &options.pages, false},
    {"cpu", "", "-1", "CPU to bind to; -1: the one that the kernel starts on",
     OPT_INTEGER, -1, AFFINITY_CPUS - 1, NULL, &options.cpu, false},
    {"node", "", "-1", "NUMA node to bind the memory to; -1: not bound",
     OPT_INTEGER, -1, NODE_MAX - 1, NULL, &options.node, false},
    {"batches", "", "63", "number of batches of loads per size", OPT_INTEGER, 1, MEASURE_BATCHES_MAX, NULL,
     &options.batches, false},
    {"time-cap-ms", "ms", "100", "time limit for one size, even if not all batches are complete",
     OPT_INTEGER, 1, 60000, NULL, &options.time_cap_ms, false},
    {"patience-ms", "ms", "2000", "time limit for measuring sizes in near caches again if a sibling thread disturbed them",
     OPT_INTEGER, 0, 600000, NULL, &options.patience_ms, false},
    {"order", "", "0", "seed for a random order of the sizes; 0: ascending, so that the chain only has to grow",
     OPT_INTEGER, 0, INT64_MAX, NULL, &options.order, false},
    {"seed", "", "1", "seed for the random order of the chain", OPT_INTEGER, 0, INT64_MAX, NULL, &options.seed, false},
    {"llc-bytes", "bytes", "0", "size of the last-level cache; 0: read from the system",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.llc_bytes, false},
};

static const struct opts opts = {"chase", "1.0", "measures load-to-use latency by working set size", table,
                                 sizeof table / sizeof *table};

/* Fills in defaults that depend on other options and rejects contradictory ones; returns the largest size. */
static uint64_t settle_options(void)
{
    if (options.stride == 0)
        options.stride = (int64_t)cpu_line_bytes();
    if (options.min_size == 0)
        options.min_size = 2 * options.stride;
    if (options.window > 0 && options.window < 2 * options.stride)
        fail(EXIT_USAGE, "--window: %lld bytes are fewer than two lines of %lld", (long long)options.window,
             (long long)options.stride);
    int64_t largest = options.max_size, smallest = options.min_size;
    if (options.stride % NODE_BYTES != 0)
        fail(EXIT_USAGE, "--stride: %lld is not a multiple of %d", (long long)options.stride, NODE_BYTES);
    for (size_t i = 0; i < options.sizes.count; i++) {
        int64_t size = options.sizes.values[i];
        largest = i == 0 || size > largest ? size : largest;
        smallest = i == 0 || size < smallest ? size : smallest;
    }
    if (smallest < 2 * options.stride)
        fail(EXIT_USAGE, "%s: %lld bytes are fewer than two lines of %lld", options.sizes.count ? "--sizes" : "--min-size",
             (long long)smallest, (long long)options.stride);
    if (smallest > largest)
        fail(EXIT_USAGE, "--min-size: %lld is above --max-size %lld", (long long)smallest, (long long)largest);
    return (uint64_t)largest;
}

static void report_meta(const struct arena *arena, const struct chain *chain, const struct timer *timer, const struct llc *llc,
                        int64_t cpu, uint64_t map_ns)
{
    struct out out = opts_begin_meta(&opts, CPU_ARCH);
    out_integer(&out, "cpu", cpu);
    out_integer(&out, "node", options.node);
    out_integer(&out, "seed", options.seed);
    out_integer(&out, "stride", options.stride);
    out_integer(&out, "line_bytes", (int64_t)cpu_line_bytes());
    arena_report(arena, options.pages, &out);
    out_integer(&out, "llc_bytes", llc->bytes);
    out_text(&out, "llc_from", llc->from);
    out_integer(&out, "max_lines", (int64_t)chain->max_lines);
    out_integer(&out, "tick_hz", (int64_t)(1e9 / timer->ns_per_tick + 0.5));
    out_integer(&out, "timer_overhead_ns", timer_ns(timer, timer->overhead_ticks));
    out_integer(&out, "probe_adds", (int64_t)loop_probe_adds(timer));
    out_integer(&out, "time_cap_ns", options.time_cap_ms * 1000000);
    out_integer(&out, "map_ns", (int64_t)map_ns);
    opts_echo(&opts, &out);
    out_end();
}

static void report_end(const struct sweep *sweep, const struct sweep_result *result, const struct timer *timer, bool restored)
{
    int64_t drift = timer_drift_ppm(timer);
    struct out out = out_begin("end");
    out_bool(&out, "ok", true);
    out_integer(&out, "samples", (int64_t)result->samples);
    out_integer(&out, "refined", (int64_t)result->refined);
    out_text(&out, "refine_stopped", result->refine_stopped);
    out_integer(&out, "elapsed_ns", (int64_t)(timer_monotonic_ns() - timer->ns_0));
    out_integer(&out, "tick_drift_ppm", drift);
    out_integer(&out, "verified_lines", (int64_t)sweep->bench.verified_lines);
    out_bool(&out, "pool_restored", restored);
    noise_report(sweep->bench.noise, &out);
    out_end();
}

/* A chain with windows is never sparse, because its windows would extend over more pages. */
static struct chain chain_of(const struct arena *arena)
{
    uint64_t stride = (uint64_t)options.stride;
    return (struct chain){
        .start = arena->start,
        .bytes = arena->bytes,
        .stride = stride,
        .max_lines = options.window > 0 ? INT64_MAX : LLC_DENSE_LINES,
        .seed = (uint64_t)options.seed,
        .window = (uint64_t)options.window / stride,
    };
}

static struct sweep sweep_of(struct chain *chain, const struct timer *timer, const struct llc *llc, struct noise *noise)
{
    return (struct sweep){
        .min_bytes = (uint64_t)options.min_size,
        .max_bytes = (uint64_t)options.max_size,
        .points_per_octave = (unsigned)options.points_per_octave,
        .sizes = &options.sizes,
        .order = (uint64_t)options.order,
        .refine_ratio = 1 + (double)options.refine_to / 100,
        .refine_jump = 1 + (double)options.refine_jump / 100,
        .refine_max = (uint64_t)options.refine_max,
        .refine_cap_ns = (uint64_t)options.refine_cap_ms * 1000000,
        .patience_ns = (uint64_t)options.patience_ms * 1000000,
        .bench = {
            .chain = chain,
            .timer = timer,
            .noise = noise,
            .flush_bytes = (uint64_t)llc->bytes,
            .effort = {(uint64_t)options.batches, (uint64_t)options.time_cap_ms * 1000000},
        },
    };
}

int main(int argc, char **argv)
{
    struct timer timer;
    out_open();
    opts_parse(&opts, argc, argv);
    uint64_t largest = settle_options();
    int64_t first = options.cpu < 0 ? sched_getcpu() : options.cpu, partner = distance_partner(first);
    struct arena arena = {.helpers = helpers_of(first)};
    int64_t cpu = affinity_bind(first);
    struct distance before = distance_between(cpu, partner);
    struct noise noise;
    struct llc llc = llc_find(cpu, options.llc_bytes);
    timer_start(&timer);
    arena_map_into(&arena, options.pages, largest, options.node);
    uint64_t map_ns = timer_monotonic_ns() - timer.ns_0;
    timer_calibrate(&timer);
    struct chain chain = chain_of(&arena);
    report_meta(&arena, &chain, &timer, &llc, cpu, map_ns);
    chain_init(&chain);
    noise_begin(&noise, &cpu, 1);
    out_ready();
    distance_report(&before, "before");
    struct sweep sweep = sweep_of(&chain, &timer, &llc, &noise);
    struct sweep_result result = sweep_run(&sweep);
    struct distance after = distance_between(cpu, partner);
    distance_report(&after, "after");
    report_end(&sweep, &result, &timer, arena_release(&arena));
    return 0;
}
