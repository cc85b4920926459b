/* pingpong: measures the latency of a cache line from one CPU to another. See README.md. */
#include "cpu.h"
#include "kit/arena.h"
#include "kit/noise.h"
#include "kit/opts.h"
#include "kit/timer.h"
#include "line.h"
#include "pingpong/cpus.h"
#include "pingpong/record.h"
#include "pingpong/rounds.h"

#define ARENA_MAX_BYTES (256 << 20) /* memory limit for slots beyond those of one round */
#define ROUND_NS 1000000            /* time for waking threads, flushing lines, printing */
#define STEPS 256                   /* lines per batch of a walk: 10 to 50 us */
#define LEAST_AT_ADDRESS 16         /* least number of batches for a meaningful quartile */
#define LEAST_OF_CHAIN 64
#define SLICE_TURNS 5000            /* a slice of token or cas takes up to a millisecond */
#define LEAST_SHARE 8               /* measure for at least 1/8 of the time cap, because a brief moment is not representative */

static struct options {
    int64_t node, turns, batches, addresses, chain_bytes, parallel, check_pairs, time_cap_ms, patience_ms, seed;
    int64_t list_batches, list_schedule;
    const char *pages;
    struct opt_list cpus, groups;
    struct opt_words methods;
} options;

static struct opt table[] = {
    {"cpus", "", "", "comma-separated CPUs to pair; empty: all usable CPUs",
     OPT_INTEGERS, 0, AFFINITY_CPUS - 1, NULL, &options.cpus, false},
    {"groups", "", "", "core number of each CPU; empty: read from the system",
     OPT_INTEGERS, 0, INT64_MAX, NULL, &options.groups, false},
    {"node", "", "-1", "NUMA node to bind the memory to; -1: not bound",
     OPT_INTEGER, -1, NODE_MAX - 1, NULL, &options.node, false},
    {"methods", "", "token,cas,chain", "methods to measure", OPT_CHOICES, 0, 0, "token cas chain", &options.methods, false},
    {"turns", "", "100", "round trips per batch", OPT_INTEGER, 1, 1000000, NULL, &options.turns, false},
    {"batches", "", "4096", "maximum number of batches stored per method", OPT_INTEGER, 8, 65536, NULL, &options.batches, false},
    {"addresses", "", "16", "memory addresses that token and cas use in turn",
     OPT_INTEGER, 1, SLOT_ADDRESSES_MAX, NULL, &options.addresses, false},
    {"chain-bytes", "bytes", "65536", "total size of the chain's lines, rounded down to a power of two",
     OPT_INTEGER, 4096, 1 << 24, NULL, &options.chain_bytes, false},
    {"parallel", "", "1", "1: measure pairs without a common core at the same time; 0: one pair at a time",
     OPT_INTEGER, 0, 1, NULL, &options.parallel, false},
    {"check-pairs", "", "4", "number of pairs to measure again on their own",
     OPT_INTEGER, 0, 65536, NULL, &options.check_pairs, false},
    {"pages", "", "auto", "page size; auto: 2m, otherwise thp, otherwise 4k", OPT_CHOICE, 0, 0, ARENA_KINDS, &options.pages, false},
    {"time-cap-ms", "ms", "40", "time limit for one method of a pair", OPT_INTEGER, 1, 60000, NULL, &options.time_cap_ms, false},
    {"patience-ms", "ms", "10000", "time after which the program ends if a pair does not respond",
     OPT_INTEGER, 100, 3600000, NULL, &options.patience_ms, false},
    {"seed", "", "1", "seed for addresses, orders and checks", OPT_INTEGER, 0, INT64_MAX, NULL, &options.seed, false},
    {"list-batches", "", "1", "0: omit the individual batches from samples, for thousands of pairs",
     OPT_INTEGER, 0, 1, NULL, &options.list_batches, false},
    {"list-schedule", "", "0", "1: print the rounds and measure nothing", OPT_INTEGER, 0, 1, NULL, &options.list_schedule, false},
};

static const struct opts opts = {"pingpong", "1.1", "measures the latency of a cache line from one CPU to another", table,
                                 sizeof table / sizeof *table};

/* The methods in their order, each once. */
static void settle_methods(struct rules *rules)
{
    if (options.methods.count == 0)
        fail(EXIT_USAGE, "--methods: select at least one of: token cas chain");
    for (size_t i = 0; i < options.methods.count; i++) {
        enum method method = METHOD_TOKEN;
        while (!opts_word_is(options.methods.values[i], record_method_name(method)))
            method++;
        for (size_t k = 0; k < rules->method_count; k++)
            if (rules->methods[k] == method)
                fail(EXIT_USAGE, "--methods: %s is listed twice", record_method_name(method));
        rules->methods[rules->method_count++] = method;
    }
}

static uint64_t least(int64_t wanted)
{
    return (uint64_t)(wanted < options.batches ? wanted : options.batches);
}

static struct rules make_rules(const struct timer *timer)
{
    uint64_t line = cpu_line_bytes(), lines = 1;
    struct rules rules = {.timer = timer, .turns = (uint64_t)options.turns, .listing = options.list_batches == 1};
    settle_methods(&rules);
    while (2 * lines * line <= (uint64_t)options.chain_bytes)
        lines *= 2;
    rules.steps = lines < STEPS ? lines : STEPS;
    rules.slice = SLICE_TURNS / rules.turns < (uint64_t)options.addresses ? SLICE_TURNS / rules.turns : (uint64_t)options.addresses;
    rules.slice += rules.slice == 0;
    rules.effort = (struct effort){
        .cap_ns = (uint64_t)options.time_cap_ms * 1000000,
        .least_ns = (uint64_t)options.time_cap_ms * 1000000 / LEAST_SHARE,
        .least = least(LEAST_AT_ADDRESS * options.addresses),
    };
    rules.chain_effort = rules.effort;
    rules.chain_effort.least = least(LEAST_OF_CHAIN);
    rules.ring = ring_make(lines, line, (uint64_t)options.seed);
    return rules;
}

/* The duration of all rounds and checks if each of them takes the maximum time. */
static int64_t planned_ns(const struct schedule *schedule, size_t checks)
{
    int64_t round_ns = (int64_t)options.methods.count * options.time_cap_ms * 1000000 + ROUND_NS;
    return (int64_t)(schedule->rounds + checks) * round_ns;
}

/* The members of the meta line that do not depend on the machine. */
static struct out begin_meta(const struct schedule *schedule, size_t checks)
{
    struct out out = opts_begin_meta(&opts, CPU_ARCH);
    out_integers(&out, "cpus", options.cpus.values, options.cpus.count);
    out_integers(&out, "groups", options.groups.values, options.groups.count);
    out_integer(&out, "node", options.node);
    out_integer(&out, "seed", options.seed);
    out_integer(&out, "rounds", (int64_t)schedule->rounds);
    out_integer(&out, "pairs", (int64_t)schedule->pairs);
    out_integer(&out, "check_pairs", (int64_t)checks);
    out_integer(&out, "planned_ns", planned_ns(schedule, checks));
    return out;
}

static void list_schedule(const struct schedule *schedule, size_t checks)
{
    struct duo *pairs = calloc(options.cpus.count / 2, sizeof *pairs);
    int64_t *named = calloc(options.cpus.count, sizeof *named);
    if (!pairs || !named)
        fail(EXIT_ENVIRONMENT, "not enough memory for the pairs of a round");
    struct out meta = begin_meta(schedule, checks);
    opts_echo(&opts, &meta);
    out_end();
    for (size_t round = 0; round < schedule->rounds; round++) {
        size_t count = schedule_round(schedule, round, pairs);
        for (size_t i = 0; i < count; i++) {
            named[2 * i] = options.cpus.values[pairs[i].a];
            named[2 * i + 1] = options.cpus.values[pairs[i].b];
        }
        struct out out = out_begin("round");
        out_integer(&out, "round", (int64_t)round);
        out_integers(&out, "pairs", named, 2 * count);
        out_end();
    }
    struct out end = out_begin("end");
    out_bool(&end, "ok", true);
    out_integer(&end, "rounds", (int64_t)schedule->rounds);
    out_integer(&end, "pairs", (int64_t)schedule->pairs);
    out_integer(&end, "planned_ns", planned_ns(schedule, checks));
    out_end();
    free(pairs);
    free(named);
}

static void report_meta(const struct schedule *schedule, size_t checks, const struct rules *rules, const struct arena *arena,
                        const struct rounds *rounds)
{
    const struct timer *timer = rules->timer;
    int64_t clusters[OPTS_LIST_MAX];
    struct out out = begin_meta(schedule, checks);
    cpus_clusters(&options.cpus, clusters);
    out_integers(&out, "clusters", clusters, options.cpus.count);
    out_integer(&out, "line_bytes", (int64_t)cpu_line_bytes());
    out_text(&out, "swap", line_swap_name());
    out_integer(&out, "chain_lines", (int64_t)rules->ring.lines);
    out_integer(&out, "slot_bytes", (int64_t)rules->layout.bytes);
    out_integer(&out, "slots", (int64_t)rounds->slots.count);
    arena_report(arena, options.pages, &out);
    out_integer(&out, "tick_hz", (int64_t)(1e9 / timer->ns_per_tick + 0.5));
    out_integer(&out, "timer_overhead_ns", timer_ns(timer, timer->overhead_ticks));
    opts_echo(&opts, &out);
    out_end();
}

static void report_end(const struct rounds *rounds, const struct timer *timer, struct checked checked, bool restored)
{
    int64_t drift = timer_drift_ppm(timer);
    struct out out = out_begin("end");
    out_bool(&out, "ok", true);
    out_integer(&out, "samples", (int64_t)rounds->samples);
    out_integer(&out, "rounds", (int64_t)rounds->schedule->rounds);
    out_integer(&out, "pairs", (int64_t)rounds->schedule->pairs);
    out_integer(&out, "reused_slots",
                rounds->slots.taken > rounds->slots.count ? (int64_t)(rounds->slots.taken - rounds->slots.count) : 0);
    out_integer(&out, "elapsed_ns", (int64_t)(timer_monotonic_ns() - timer->ns_0));
    out_integer(&out, "tick_drift_ppm", drift);
    out_integer(&out, "verified_messages", (int64_t)checked.messages);
    out_integer(&out, "verified_lines", (int64_t)checked.lines);
    out_bool(&out, "pool_restored", restored);
    noise_report(rounds->noise, &out);
    out_end();
}

/* One slot per pair if there is room, at least one per pair of a round. */
static size_t slots_wanted(const struct schedule *schedule, size_t checks, const struct layout *layout)
{
    size_t all = schedule->pairs + checks, round = schedule->cpus / 2, most = ARENA_MAX_BYTES / layout->bytes;
    most = most > round ? most : round;
    return all < most ? all : most;
}

static void measure(const struct schedule *schedule, size_t checks)
{
    static struct timer timer;
    struct noise noise;
    struct crew crew;
    timer_start(&timer);
    struct rules rules = make_rules(&timer);
    rules.layout = layout_make((size_t)options.addresses, &rules.ring, (uint64_t)options.seed);
    size_t slots = slots_wanted(schedule, checks, &rules.layout);
    struct arena arena = arena_map(options.pages, slots * rules.layout.bytes, options.node);
    uint64_t patience_ns = SERIES_PATIENCE * rules.effort.cap_ns * rules.method_count + (uint64_t)options.patience_ms * 1000000;
    timer_calibrate(&timer);
    struct rounds rounds = {.schedule = schedule, .rules = &rules, .crew = &crew, .slots = {arena.start, slots, 0},
                            .cpus = options.cpus.values, .node = options.node, .seed = (uint64_t)options.seed, .noise = &noise};
    report_meta(schedule, checks, &rules, &arena, &rounds);
    crew_start(&crew, &rules, options.cpus.values, options.cpus.count, (size_t)options.batches, patience_ns);
    noise_begin(&noise, options.cpus.values, options.cpus.count);
    out_ready();
    rounds_play(&rounds);
    rounds_check(&rounds, checks);
    struct checked checked = crew_end(&crew);
    report_end(&rounds, &timer, checked, arena_release(&arena));
    ring_free(&rules.ring);
}

int main(int argc, char **argv)
{
    out_open();
    opts_parse(&opts, argc, argv);
    cpus_settle(&options.cpus, &options.groups, options.list_schedule == 0);
    struct schedule schedule = schedule_make(options.groups.values, options.cpus.count, options.parallel == 1);
    size_t checks = rounds_checkable(&schedule, (size_t)options.check_pairs);
    if (options.list_schedule)
        list_schedule(&schedule, checks);
    else
        measure(&schedule, checks);
    schedule_free(&schedule);
    return 0;
}
