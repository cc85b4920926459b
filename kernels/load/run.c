#include "load/run.h"

#include "kit/affinity.h"
#include "kit/chaincheck.h"
#include "load/search.h"

/* Other CPUs that are measured. */
static struct helpers helpers_among(const struct cpus *cpus)
{
    struct helpers helpers = {.count = 0};
    for (size_t i = 0; i < cpus->count && helpers.count < POPULATE_HELPERS_MAX; i++)
        if (cpus->load[i] != cpus->latency)
            helpers.cpus[helpers.count++] = cpus->load[i];
    return helpers;
}

/* Maps the chain's memory on its CPU, before the load threads map theirs. */
static void map_chain(struct run *run, const struct cpus *cpus)
{
    run->arena = (struct arena){.helpers = helpers_among(cpus)};
    arena_map_into(&run->arena, options.pages, (uint64_t)options.size, options.latency_node);
    run->chain = (struct chain){
        .start = run->arena.start,
        .bytes = run->arena.bytes,
        .stride = cpu_line_bytes(),
        .max_lines = LLC_DENSE_LINES,
        .seed = (uint64_t)options.seed,
    };
}

static void build_chain(struct run *run, const struct llc *llc)
{
    struct chain *chain = &run->chain;
    struct extent extent = chain_extent(chain, (uint64_t)options.size);
    chain_init(chain);
    if (!chain_resize(chain, extent) || !chain_check(chain))
        fail(EXIT_SELF_CHECK, "the chain of %llu lines is not a single cycle through all of them",
             (unsigned long long)extent.lines);
    run->chain_lines = extent.lines;
    if (extent.cell > 1)
        chain_flush(chain, (uint64_t)options.size, (uint64_t)llc->bytes);
}

static struct levels levels_of(struct run *run)
{
    return (struct levels){
        .sampler = {
            .timer = run->timer,
            .crew = &run->crew,
            .chain = run->probe == PROBE_CHAIN ? &run->chain : NULL,
            .at = run->probe == PROBE_CHAIN ? chain_line(&run->chain, 0) : NULL,
        },
        .workload = run->probe == PROBE_WORKLOAD ? &run->workload : NULL,
        .windows = (uint64_t)options.windows,
        .cap_ns = (uint64_t)options.level_ms * 1000000,
        .traffic = options.traffic,
        .width = options.width,
    };
}

void run_prepare(struct run *run, const struct cpus *cpus, const struct llc *llc, char *const *command)
{
    struct crew_plan plan = options_crew_plan(cpus);
    run->workload = (struct workload){.command = command, .cpu = cpus->latency};
    uint64_t started = timer_monotonic_ns();
    crew_start(&run->crew, &plan, run->timer); /* before this thread is bound, because threads inherit the affinity mask */
    if (run->probe == PROBE_CHAIN) {
        affinity_bind(cpus->latency);
        map_chain(run, cpus);
    } else {
        cpus_stand_aside(cpus);
    }
    crew_fill(&run->crew);
    if (run->probe == PROBE_CHAIN)
        build_chain(run, llc);
    crew_park(&run->crew);
    run->map_ns = crew_filled_ns(&run->crew) - started;
    run->levels = levels_of(run);
    if (run->probe == PROBE_CHAIN)
        windows_warm(&run->levels.sampler);
}

void run_levels(struct run *run, struct noise *noise)
{
    static struct level level;
    run->levels.noise = noise;
    if (run->probe != PROBE_NONE) {
        level = (struct level){.phase = "idle", .delay = -1, .target_bps = -1};
        level_measure(&run->levels, &level);
        level_print(&run->levels, &level);
    }
    for (size_t i = 0; i < options.delays.count; i++) {
        level = (struct level){.phase = "level", .delay = options.delays.values[i], .target_bps = -1};
        level_measure(&run->levels, &level);
        level_print(&run->levels, &level);
    }
    for (size_t i = 0; i < options.targets.count; i++) {
        search_measure(&run->levels, options.targets.values[i], &level);
        level_print(&run->levels, &level);
    }
}

uint64_t run_finish(struct run *run)
{
    crew_end(&run->crew);
    if (run->probe == PROBE_CHAIN && !chain_resize(&run->chain, (struct extent){1, run->chain.cell}))
        fail(EXIT_SELF_CHECK, "the chain was modified while it was measured");
    return crew_check(&run->crew);
}

bool run_release(struct run *run)
{
    bool restored = run->probe != PROBE_CHAIN || arena_release(&run->arena);
    return crew_release(&run->crew) && restored;
}
