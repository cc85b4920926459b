/* stream: measures the bandwidth of caches and memory by traffic pattern. See README.md. */
#include "cpu.h"
#include "kit/affinity.h"
#include "kit/distance.h"
#include "kit/opts.h"
#include "kit/width.h"
#include "stream/bench.h"
#include "stream/sets.h"

#define SIZE_MAX_BYTES ((int64_t)1 << 46)

static struct options {
    struct opt_list cpus, nodes, sizes;
    struct opt_words traffic, widths;
    const char *labels, *variants, *pages;
    int64_t window_us, windows, time_cap_ms, order, seed;
} options;

static struct opt table[] = {
    {"cpus", "", "", "CPUs, one thread each; empty: the one that the kernel starts on",
     OPT_INTEGERS, 0, AFFINITY_CPUS - 1, NULL, &options.cpus, false},
    {"nodes", "", "-1", "NUMA node of the memory, one for all or one for each CPU; -1: the CPU's own node",
     OPT_INTEGERS, -1, NODE_MAX - 1, NULL, &options.nodes, false},
    {"sizes", "bytes", "32768,1048576,16777216,536870912", "working sets per thread, all arrays combined",
     OPT_INTEGERS, 64, SIZE_MAX_BYTES, NULL, &options.sizes, false},
    {"traffic", "", "all-reads,write,copy,triad", "traffic patterns to measure",
     OPT_CHOICES, 0, 0, TRAFFIC_WORDS, &options.traffic, false},
    {"labels", "", "", "names of the sizes for the samples, one for each size", OPT_TEXT, 0, 0, NULL, &options.labels, false},
    {"width", "", "auto", "bytes of one load or store, one for all or one for each size; auto: the widest that the CPU supports",
     OPT_CHOICES, 0, 0, WIDTH_WORDS, &options.widths, false},
    {"variants", "", "best", "loops to measure completely: the best after short trials, all, or the plain one only",
     OPT_CHOICE, 0, 0, "best all plain", &options.variants, false},
    {"pages", "", "auto", "page size; auto: 2m, otherwise thp, otherwise 4k", OPT_CHOICE, 0, 0, ARENA_KINDS, &options.pages, false},
    {"window-us", "us", "100", "duration of a window", OPT_INTEGER, 20, 1000000, NULL, &options.window_us, false},
    {"windows", "", "63", "number of windows for each loop that is measured completely",
     OPT_INTEGER, 1, BENCH_WINDOWS_MAX, NULL, &options.windows, false},
    {"time-cap-ms", "ms", "50", "time limit for one size and traffic, even if not all windows are complete",
     OPT_INTEGER, 1, 600000, NULL, &options.time_cap_ms, false},
    {"order", "", "0", "seed for a random order of sizes and traffic; 0: the given order",
     OPT_INTEGER, 0, INT64_MAX / 2, NULL, &options.order, false},
    {"seed", "", "1", "seed for the contents of the memory", OPT_INTEGER, 0, INT64_MAX / 2, NULL, &options.seed, false},
};

static const struct opts opts = {"stream", "1.0", "measures the bandwidth of caches and memory by traffic pattern", table,
                                 sizeof table / sizeof *table};

static struct set sets[OPTS_LIST_MAX];
static struct value values[OPTS_LIST_MAX * OPTS_WORDS_MAX];
static int64_t nodes[OPTS_LIST_MAX];
static struct noise noise;
static struct bench bench;
static struct distance before;

static void settle_cpus(void)
{
    for (size_t i = 0; i < options.cpus.count; i++)
        for (size_t k = 0; k < i; k++)
            if (options.cpus.values[i] == options.cpus.values[k])
                fail(EXIT_USAGE, "--cpus: %lld is listed twice", (long long)options.cpus.values[i]);
    if (options.cpus.count == 0)
        options.cpus.values[options.cpus.count++] = affinity_bind(-1);
    if (options.nodes.count != 1 && options.nodes.count != options.cpus.count)
        fail(EXIT_USAGE, "--nodes: %zu nodes for %zu CPUs; give one, or one for each CPU", options.nodes.count, options.cpus.count);
    for (size_t i = 0; i < options.cpus.count; i++) {
        nodes[i] = options.nodes.values[options.nodes.count == 1 ? 0 : i];
        node_require(nodes[i]);
    }
}

static void require_grain(uint64_t size, const struct traffic *traffic, uint64_t grain)
{
    if (layout_of(size, traffic, grain).array_bytes == 0)
        fail(EXIT_USAGE, "--sizes: %llu bytes are too few for traffic %s, which needs %u arrays of at least %llu bytes",
             (unsigned long long)size, traffic->word, traffic_arrays(traffic), (unsigned long long)grain);
}

/* The number of bytes that a thread needs for the largest size and the traffic pattern that needs the most. */
static uint64_t settle_values(void)
{
    uint64_t most = 0;
    if (options.sizes.count == 0 || options.traffic.count == 0)
        fail(EXIT_USAGE, "--%s: nothing to measure", options.sizes.count == 0 ? "sizes" : "traffic");
    sets_settle(sets, &options.sizes, &options.widths, options.labels);
    sets_order(values, sets, options.sizes.count, &options.traffic, (uint64_t)options.order);
    for (size_t i = 0; i < options.sizes.count * options.traffic.count; i++) {
        uint64_t grain = loops_grain(values[i].set->isa), size = values[i].set->size;
        require_grain(size, values[i].traffic, grain);
        uint64_t bytes = layout_of(size, values[i].traffic, grain).pitch * traffic_arrays(values[i].traffic);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void report_meta(struct crew *crew)
{
    int64_t found[OPTS_LIST_MAX], skew = team_skew_ns(&crew->team);
    struct out out = opts_begin_meta(&opts, CPU_ARCH);
    for (size_t i = 0; i < crew->team.count; i++)
        found[i] = crew->walkers[i].node;
    out_integers(&out, "cpus", options.cpus.values, options.cpus.count);
    out_integers(&out, "memory_nodes", found, crew->team.count);
    out_integer(&out, "line_bytes", (int64_t)cpu_line_bytes());
    out_integer(&out, "thread_bytes", (int64_t)crew->thread_bytes);
    arena_report(&crew->least, options.pages, &out);
    out_integer(&out, "arenas", (int64_t)crew->arenas);
    out_integer(&out, "arenas_bytes", (int64_t)crew->arena_bytes);
    out_integer(&out, "tick_hz", (int64_t)(1e9 / crew->timer.ns_per_tick + 0.5));
    out_integer(&out, "timer_overhead_ns", timer_ns(&crew->timer, crew->timer.overhead_ticks));
    out_integer(&out, "skew_ns", skew);
    out_integer(&out, "map_ns", (int64_t)crew->map_ns);
    opts_echo(&opts, &out);
    out_end();
}

static void report_end(const struct crew *crew, bool restored)
{
    const struct timer *timer = &crew->timer;
    int64_t drift = timer_drift_ppm(timer);
    struct out out = out_begin("end");
    out_bool(&out, "ok", true);
    out_integer(&out, "samples", (int64_t)bench.samples);
    out_integer(&out, "checks", (int64_t)bench.checks);
    out_integer(&out, "elapsed_ns", (int64_t)(timer_monotonic_ns() - timer->ns_0));
    out_integer(&out, "tick_drift_ppm", drift);
    out_bool(&out, "pool_restored", restored);
    noise_report(&noise, &out);
    out_end();
}

static enum effort effort_of(const char *word)
{
    return strcmp(word, "all") == 0 ? EFFORT_ALL : strcmp(word, "plain") == 0 ? EFFORT_PLAIN : EFFORT_BEST;
}

static void lead(struct crew *crew)
{
    bench = (struct bench){.crew = crew, .noise = &noise, .effort = effort_of(options.variants),
                           .windows = (uint64_t)options.windows, .cap_ns = (uint64_t)options.time_cap_ms * 1000000};
    report_meta(crew);
    noise_begin(&noise, options.cpus.values, options.cpus.count);
    out_ready();
    distance_report(&before, "before");
    for (size_t i = 0; i < options.sizes.count * options.traffic.count; i++)
        bench_point(&bench, &values[i]);
}

int main(int argc, char **argv)
{
    static struct crew crew;
    out_open();
    opts_parse(&opts, argc, argv);
    crew.thread_bytes = settle_values();
    settle_cpus();
    crew.cpus = &options.cpus;
    crew.nodes = nodes;
    crew.pages = options.pages;
    crew.helpers = options.cpus.count == 1 ? helpers_of(options.cpus.values[0]) : (struct helpers){.count = 0};
    crew.seed = (uint64_t)options.seed;
    crew.lead = lead;
    int64_t first = options.cpus.values[0];
    int64_t second = options.cpus.count > 1 ? options.cpus.values[options.cpus.count - 1] : distance_partner(first);
    timer_start(&crew.timer);
    timer_calibrate(&crew.timer);
    crew.work.window_ticks = (uint64_t)((double)options.window_us * 1e3 / crew.timer.ns_per_tick);
    before = distance_between(first, second);
    bool restored = crew_run(&crew);
    struct distance after = distance_between(first, second);
    distance_report(&after, "after");
    report_end(&crew, restored);
    return 0;
}
