#include "pingpong/record.h"

#include "kit/out.h"
#include "kit/stats.h"

/* Prints the ticks of a batch in picoseconds per message; null if there are none. */
static void print_ticks(struct out *out, const char *key, double ticks, const struct figures *figures)
{
    if (ticks < 0)
        out_null(out, key);
    else
        out_integer(out, key, stats_rounded(ticks * figures->ps_per_tick));
}

static void print_statistics(struct out *out, const struct figures *figures)
{
    static const char *const without_batches[] = {"median_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps"};
    int64_t address_p25[SLOT_ADDRESSES_MAX];
    for (size_t i = 0; i < figures->addresses; i++) {
        double ticks = figures->address_p25[i];
        address_p25[i] = ticks < 0 ? -1 : stats_rounded(ticks * figures->ps_per_tick);
    }
    out_integers(out, "address_p25_ps", address_p25, figures->addresses);
    print_ticks(out, "p25_ps", figures->p25, figures);
    if (figures->stats.count > 0) {
        stats_print(out, "ps", &figures->stats, figures->ps_per_tick);
        return;
    }
    for (size_t i = 0; i < sizeof without_batches / sizeof *without_batches; i++)
        out_null(out, without_batches[i]);
    out_integer(out, "effective", 0);
}

/* Adds the members that tell which pair was measured when. */
static void print_occasion(struct out *out, const struct occasion *occasion, bool reversed)
{
    out_text(out, "phase", occasion->alone ? "alone" : "round");
    out_integer(out, "round", (int64_t)occasion->round);
    out_integer(out, "cpu_a", reversed ? occasion->follower : occasion->leader);
    out_integer(out, "cpu_b", reversed ? occasion->leader : occasion->follower);
    out_integer(out, "node", occasion->node);
}

static void print_result(const struct result *result, const struct occasion *occasion, bool listing)
{
    const struct figures *figures = &result->figures;
    struct out out = out_begin("sample");
    print_occasion(&out, occasion, result->reversed);
    out_text(&out, "method", record_method_name(result->method));
    out_integer(&out, "addresses", (int64_t)figures->addresses);
    out_integer(&out, "turns", (int64_t)result->turns);
    out_integer(&out, "messages", (int64_t)result->messages);
    out_integer(&out, "batches", (int64_t)figures->stats.count);
    out_integer(&out, "dropped", (int64_t)figures->dropped);
    out_bool(&out, "capped", figures->capped);
    out_text(&out, "order", figures->ordered ? "sorted" : "time");
    out_integers(&out, "ns", figures->ns, listing ? figures->listed : 0);
    print_statistics(&out, figures);
    out_integer(&out, "cycle_fs", result->cycle_fs);
    out_integer(&out, "elapsed_ns", figures->elapsed_ns);
    out_end();
}

const char *record_method_name(enum method method)
{
    static const char *const names[] = {"token", "cas", "chain"};
    return names[method];
}

static void print_probe(const struct probe *probe, const char *when, const struct occasion *occasion)
{
    struct out out = out_begin("probe");
    print_occasion(&out, occasion, false);
    out_text(&out, "when", when);
    out_integer(&out, "messages", 2 * PROBE_TURNS);
    out_integer(&out, "dropped", (int64_t)probe->dropped);
    out_integers(&out, "ns", probe->ns, probe->count);
    out_end();
}

size_t record_print(const struct game *game, const struct occasion *occasion)
{
    size_t count = 0;
    print_probe(&game->probes[PROBE_BEFORE], "before", occasion);
    print_probe(&game->probes[PROBE_AFTER], "after", occasion);
    for (size_t i = 0; i < game->rules->method_count; i++)
        count += play_results(game->rules->methods[i]);
    for (size_t i = 0; i < count; i++)
        print_result(&game->results[i], occasion, game->rules->listing);
    return count;
}
