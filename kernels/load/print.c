#include "load/level.h"

#include "kit/out.h"

/* Prints all windows in order of time, or an evenly spaced subset. */
static void print_list(struct out *out, const struct levels *levels, const struct level *level)
{
    int64_t latency[LEVEL_LISTED_MAX], bandwidth[LEVEL_LISTED_MAX];
    const struct sampler *sampler = &levels->sampler;
    uint64_t count = level->windows.count, listed = count < LEVEL_LISTED_MAX ? count : LEVEL_LISTED_MAX;
    for (uint64_t i = 0; i < listed; i++) {
        const struct window *window = &level->windows.list[listed < count ? i * (count - 1) / (listed - 1) : i];
        latency[i] = sampler->chain ? stats_rounded(windows_latency_ns(sampler, window) * 1e3) : 0;
        bandwidth[i] = stats_rounded(windows_bandwidth(sampler, window));
    }
    out_text(out, "order", "time");
    out_integers(out, "latency_ps", latency, sampler->chain ? listed : 0);
    out_integers(out, "bandwidth_bps", bandwidth, listed);
}

static void print_stats(struct out *out, const char *unit, const struct stats *stats, double scale, bool known)
{
    stats_print_one(out, "median", unit, stats->median * scale, known);
    stats_print_one(out, "ci_low", unit, stats->low * scale, known && stats->interval);
    stats_print_one(out, "ci_high", unit, stats->high * scale, known && stats->interval);
    stats_print_one(out, "min", unit, stats->min * scale, known);
    stats_print_one(out, "max", unit, stats->max * scale, known);
}

static void known(struct out *out, const char *key, int64_t value)
{
    if (value < 0)
        out_null(out, key);
    else
        out_integer(out, key, value);
}

static void print_asked(struct out *out, const struct levels *levels, const struct level *level)
{
    const struct crew *crew = levels->sampler.crew;
    out_text(out, "phase", level->phase);
    known(out, "delay", level->delay);
    known(out, "target_bps", level->target_bps);
    if (level->target_bps < 0)
        out_null(out, "reached");
    else
        out_bool(out, "reached", level->reached);
    out_text(out, "traffic", levels->traffic);
    out_text(out, "width", levels->width);
    out_integer(out, "vector_bytes", vector_bytes(crew->plan.isa));
    out_integer(out, "touch", (int64_t)crew->plan.touch);
    out_integer(out, "threads", level->delay < 0 ? 0 : (int64_t)crew->plan.count);
}

void level_print(struct levels *levels, const struct level *level)
{
    bool chain = levels->sampler.chain != NULL;
    const struct stats *leading = chain ? &level->latency_ns : &level->bandwidth;
    struct out out = out_begin("sample");
    print_asked(&out, levels, level);
    out_integer(&out, "windows", (int64_t)level->windows.count);
    out_integer(&out, "dropped", (int64_t)level->windows.dropped);
    out_bool(&out, "capped", level->capped);
    out_bool(&out, "disturbed", level->disturbed);
    out_integer(&out, "loads", (int64_t)windows_loads(&levels->sampler));
    print_list(&out, levels, level);
    print_stats(&out, "ps", &level->latency_ns, 1e3, chain);
    print_stats(&out, "bps", &level->bandwidth, 1, true);
    out_integer(&out, "effective", (int64_t)leading->effective);
    known(&out, "chain_bps", chain ? stats_rounded(level->chain_bps.median) : -1);
    out_integer(&out, "bus_permille", traffic_bus_permille(levels->sampler.crew->plan.traffic));
    known(&out, "cycle_fs", chain ? stats_rounded(level->cycle_ns * 1e6) : -1);
    known(&out, "workload_ns", level->workload_ns);
    out_integer(&out, "elapsed_ns", (int64_t)level->elapsed_ns);
    out_end();
    levels->samples++;
}
