#include "chase/record.h"

#include <stdlib.h>

#include "kit/loop.h"
#include "kit/out.h"
#include "kit/stats.h"

static int64_t rounded(double value)
{
    return (int64_t)(value + 0.5);
}

static int by_load_ticks(const void *a, const void *b)
{
    uint64_t x = ((const struct batch *)a)->load_ticks, y = ((const struct batch *)b)->load_ticks;
    return (x > y) - (x < y);
}

/* All batches, or a subset with the first and the last. */
static void list_batches(struct record *record, struct measured *measured, const struct timer *timer)
{
    uint64_t count = measured->count;
    record->sorted = count > RECORD_LISTED_MAX;
    record->listed = record->sorted ? RECORD_LISTED_MAX : count;
    if (record->sorted)
        qsort(measured->batches, count, sizeof *measured->batches, by_load_ticks);
    for (uint64_t i = 0; i < record->listed; i++) {
        uint64_t at = record->sorted ? i * (count - 1) / (RECORD_LISTED_MAX - 1) : i;
        record->load_ns[i] = timer_ns(timer, measured->batches[at].load_ticks);
        record->add_ns[i] = timer_ns(timer, measured->batches[at].add_ticks);
    }
}

void record_take(struct record *record, struct measured *measured, const struct timer *timer)
{
    record->loads = measured->loads;
    record->adds = loop_probe_adds(timer);
    record->batches = measured->count;
    record->dropped = measured->dropped;
    record->outside = measured->outside;
    record->capped = measured->capped;
    record->per_load_ns = measured->load_ns;
    record->cycles = measured->cycles;
    record->cycle_ns = measured->cycle_ns;
    record->fastest_ns = measured->fastest_ns;
    list_batches(record, measured, timer);
}

static void bound(struct out *out, const char *key, double value, uint64_t batches)
{
    if (batches < STATS_INTERVAL_MIN)
        out_null(out, key);
    else
        out_integer(out, key, rounded(value));
}

static void print_statistics(struct out *out, const struct record *record)
{
    const struct summary *load = &record->per_load_ns, *cycles = &record->cycles;
    out_integer(out, "median_ps", rounded(load->median * 1e3));
    bound(out, "ci_low_ps", load->low * 1e3, record->batches);
    bound(out, "ci_high_ps", load->high * 1e3, record->batches);
    out_integer(out, "min_ps", rounded(load->min * 1e3));
    out_integer(out, "max_ps", rounded(load->max * 1e3));
    out_integer(out, "cycle_fs", rounded(record->cycle_ns * 1e6));
    out_integer(out, "mcycles", rounded(cycles->median * 1e3));
    bound(out, "mcycles_low", cycles->low * 1e3, record->batches);
    bound(out, "mcycles_high", cycles->high * 1e3, record->batches);
}

void record_print(const struct record *record)
{
    struct out out = out_begin("sample");
    out_text(&out, "phase", record->refined ? "refine" : "coarse");
    out_integer(&out, "size", (int64_t)record->size_bytes);
    out_integer(&out, "lines", (int64_t)record->lines);
    out_integer(&out, "span", (int64_t)record->span_bytes);
    out_integer(&out, "loads", (int64_t)record->loads);
    out_integer(&out, "batches", (int64_t)record->batches);
    out_integer(&out, "dropped", (int64_t)record->dropped);
    out_integer(&out, "outside", (int64_t)record->outside);
    out_bool(&out, "capped", record->capped);
    out_text(&out, "order", record->sorted ? "sorted" : "time");
    out_integers(&out, "ns", record->load_ns, record->listed);
    out_integers(&out, "probe_ns", record->add_ns, record->listed);
    out_integer(&out, "probe_adds", (int64_t)record->adds);
    print_statistics(&out, record);
    out_integer(&out, "elapsed_ns", (int64_t)record->elapsed_ns);
    out_integer(&out, "setup_ns", (int64_t)record->setup_ns);
    out_end();
}
