#include "chase/record.h"

#include <stdlib.h>
#include <string.h>

#include "kit/loop.h"
#include "kit/out.h"
#include "kit/stats.h"

static int by_load_ticks(const void *a, const void *b)
{
    uint64_t x = ((const struct batch *)a)->load_ticks, y = ((const struct batch *)b)->load_ticks;
    return (x > y) - (x < y);
}

/* Prints all batches, or a subset with the first and the last. */
static void list_batches(struct out *out, const struct measured *measured, const struct timer *timer)
{
    static struct batch batches[MEASURE_BATCHES_MAX];
    int64_t load_ns[RECORD_LISTED_MAX], add_ns[RECORD_LISTED_MAX];
    uint64_t count = measured->count;
    bool sorted = count > RECORD_LISTED_MAX;
    uint64_t listed = sorted ? RECORD_LISTED_MAX : count;
    memcpy(batches, measured->batches, count * sizeof *batches);
    if (sorted)
        qsort(batches, count, sizeof *batches, by_load_ticks);
    for (uint64_t i = 0; i < listed; i++) {
        uint64_t at = sorted ? i * (count - 1) / (RECORD_LISTED_MAX - 1) : i;
        load_ns[i] = timer_ns(timer, batches[at].load_ticks);
        add_ns[i] = timer_ns(timer, batches[at].add_ticks);
    }
    out_text(out, "order", sorted ? "sorted" : "time");
    out_integers(out, "ns", load_ns, listed);
    out_integers(out, "probe_ns", add_ns, listed);
}

static void print_statistics(struct out *out, const struct measured *measured)
{
    const struct stats *cycles = &measured->cycles;
    stats_print(out, "ps", &measured->load_ns, 1e3);
    out_integer(out, "cycle_fs", stats_rounded(measured->cycle_ns * 1e6));
    out_integer(out, "mcycles", stats_rounded(cycles->median * 1e3));
    stats_print_one(out, "mcycles", "low", cycles->low * 1e3, cycles->interval);
    stats_print_one(out, "mcycles", "high", cycles->high * 1e3, cycles->interval);
}

void record_print(const struct record *record, const struct timer *timer)
{
    const struct measured *measured = &record->measured;
    struct out out = out_begin("sample");
    out_text(&out, "phase", record->refined ? "refine" : "coarse");
    out_integer(&out, "size", (int64_t)record->size_bytes);
    out_integer(&out, "lines", (int64_t)record->lines);
    out_integer(&out, "span", (int64_t)record->span_bytes);
    out_integer(&out, "looks", (int64_t)record->looks);
    out_integer(&out, "loads", (int64_t)measured->loads);
    out_integer(&out, "batches", (int64_t)measured->count);
    out_integer(&out, "dropped", (int64_t)measured->dropped);
    out_bool(&out, "capped", measured->capped);
    list_batches(&out, measured, timer);
    out_integer(&out, "probe_adds", (int64_t)loop_probe_adds(timer));
    print_statistics(&out, measured);
    out_integer(&out, "elapsed_ns", (int64_t)record->elapsed_ns);
    out_integer(&out, "setup_ns", (int64_t)record->setup_ns);
    out_end();
}
