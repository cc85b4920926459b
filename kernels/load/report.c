#include "load/report.h"

#include "cpu.h"
#include "kit/loop.h"

static void report_command(struct out *out, char *const *command)
{
    out_key(out, "command");
    putchar('[');
    for (size_t i = 0; command && command[i]; i++) {
        fputs(i ? "," : "", stdout);
        out_quoted(command[i]);
    }
    putchar(']');
}

/* Prints the memory of the load threads, one object per arena. */
static void report_arenas(struct out *out, const struct crew *crew)
{
    bool first = true;
    out_key(out, "load_arenas");
    putchar('[');
    for (size_t i = 0; i < crew->plan.count; i++) {
        size_t threads;
        const struct arena *arena = crew_arena(crew, i, &threads);
        struct out inner = {false};
        if (!arena)
            continue;
        fputs(first ? "{" : ",{", stdout);
        out_integer(&inner, "node", crew->plan.nodes[i]);
        out_integer(&inner, "threads", (int64_t)threads);
        arena_report(arena, options.pages, &inner);
        putchar('}');
        first = false;
    }
    putchar(']');
}

static void report_chain(struct out *out, const struct chain *chain, const struct arena *arena)
{
    out_integer(out, "lines", chain ? (int64_t)chain->lines : 0);
    out_key(out, "chain_arena");
    if (!chain) {
        fputs("null", stdout);
        return;
    }
    struct out inner = {false};
    putchar('{');
    arena_report(arena, options.pages, &inner);
    putchar('}');
}

void report_meta(const struct run *run, const struct cpus *cpus, const struct llc *llc, char *const *command)
{
    const struct crew *crew = &run->crew;
    const struct timer *timer = run->timer;
    struct out out = opts_begin_meta(&load_opts, CPU_ARCH);
    out_integer(&out, "latency_cpu", cpus->latency);
    out_integer(&out, "latency_node", options.latency_node);
    out_integers(&out, "cpus", cpus->load, cpus->count);
    out_integers(&out, "nodes", cpus->nodes, cpus->count);
    out_integer(&out, "seed", options.seed);
    out_integer(&out, "line_bytes", (int64_t)cpu_line_bytes());
    out_text(&out, "width", vector_word(crew->plan.isa));
    out_integer(&out, "vector_bytes", vector_bytes(crew->plan.isa));
    out_integer(&out, "step_bytes", (int64_t)crew_step_bytes(crew));
    out_integer(&out, "array_bytes", (int64_t)crew->array_bytes);
    report_chain(&out, run->probe == PROBE_CHAIN ? &run->chain : NULL, &run->arena);
    report_arenas(&out, crew);
    out_integer(&out, "llc_bytes", llc->bytes);
    out_text(&out, "llc_from", llc->from);
    out_integer(&out, "tick_hz", (int64_t)(1e9 / timer->ns_per_tick + 0.5));
    out_integer(&out, "timer_overhead_ns", timer_ns(timer, timer->overhead_ticks));
    out_integer(&out, "probe_adds", (int64_t)loop_probe_adds(timer));
    out_integer(&out, "map_ns", (int64_t)run->map_ns);
    out_integer(&out, "setup_ns", (int64_t)(timer_monotonic_ns() - timer->ns_0));
    report_command(&out, command);
    opts_echo(&load_opts, &out);
    out_end();
}

void report_end(const struct run *run, const struct noise *noise, uint64_t verified, bool restored)
{
    int64_t drift = timer_drift_ppm(run->timer);
    struct out out = out_begin("end");
    out_bool(&out, "ok", true);
    out_integer(&out, "samples", (int64_t)run->levels.samples);
    out_integer(&out, "elapsed_ns", (int64_t)(timer_monotonic_ns() - run->timer->ns_0));
    out_integer(&out, "tick_drift_ppm", drift);
    out_integer(&out, "verified_bytes", (int64_t)verified);
    out_integer(&out, "verified_lines", run->probe == PROBE_CHAIN ? (int64_t)run->chain_lines : 0);
    out_bool(&out, "pool_restored", restored);
    noise_report(noise, &out);
    out_end();
}
