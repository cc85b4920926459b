#include "chase/record.h"

#include <stdlib.h>

#include "kit/loop.h"
#include "kit/out.h"
#include "kit/stats.h"

static int by_load_ticks(const void *a, const void *b)
{
    uint64_t x = ((const struct batch *)a)->load_ticks, y = ((const struct batch *)b)->load_ticks;
    return (x > y) - (x < y);
}

/* Prints all batches, or a subset with the first and the last. */
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

static void print_statistics(struct out *out, const struct record *record)
{
    const struct stats *cycles = &record->cycles;
    stats_print(out, "ps", &record->per_load_ns, 1e3);
    out_integer(out, "cycle_fs", stats_rounded(record->cycle_ns * 1e6));
    out_integer(out, "mcycles", stats_rounded(cycles->median * 1e3));
    stats_print_one(out, "mcycles", "low", cycles->low * 1e3, cycles->interval);
    stats_print_one(out, "mcycles", "high", cycles->high * 1e3, cycles->interval);
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
