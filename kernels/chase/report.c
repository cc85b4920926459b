#include "chase/report.h"

#include <stdlib.h>

#include "chase/loop.h"
#include "kit/out.h"
#include "kit/stats.h"

#define LISTED_MAX 64

static int64_t rounded(double value)
{
    return (int64_t)(value + 0.5);
}

static int by_load_ticks(const void *a, const void *b)
{
    uint64_t x = ((const struct batch *)a)->load_ticks, y = ((const struct batch *)b)->load_ticks;
    return (x > y) - (x < y);
}

/* The batches themselves: all of them as they came, or an evenly spaced subset of the sorted ones, first and last included. */
static void list_batches(struct out *out, const struct measured *measured, const struct timer *timer)
{
    static struct batch sorted[MEASURE_BATCHES_MAX];
    int64_t loads[LISTED_MAX], adds[LISTED_MAX];
    uint64_t count = measured->count, listed = count;
    memcpy(sorted, measured->batches, count * sizeof *sorted);
    if (count > LISTED_MAX) {
        qsort(sorted, count, sizeof *sorted, by_load_ticks);
        listed = LISTED_MAX;
    }
    for (uint64_t i = 0; i < listed; i++) {
        const struct batch *batch = &sorted[listed < count ? i * (count - 1) / (LISTED_MAX - 1) : i];
        loads[i] = timer_ns(timer, batch->load_ticks);
        adds[i] = timer_ns(timer, batch->add_ticks);
    }
    out_text(out, "order", listed < count ? "sorted" : "time");
    out_integers(out, "ns", loads, listed);
    out_integers(out, "probe_ns", adds, listed);
    out_integer(out, "probe_adds", LOOP_ADDS);
}

static void bound(struct out *out, const char *key, double value, uint64_t batches)
{
    if (batches < STATS_INTERVAL_MIN)
        out_null(out, key);
    else
        out_integer(out, key, rounded(value));
}

static void order_statistics(struct out *out, const struct measured *measured)
{
    const struct summary *load = &measured->load_ns, *cycles = &measured->cycles;
    out_integer(out, "median_ps", rounded(load->median * 1e3));
    bound(out, "ci_low_ps", load->low * 1e3, measured->count);
    bound(out, "ci_high_ps", load->high * 1e3, measured->count);
    out_integer(out, "min_ps", rounded(load->min * 1e3));
    out_integer(out, "max_ps", rounded(load->max * 1e3));
    out_integer(out, "cycle_fs", rounded(measured->cycle_ns * 1e6));
    out_integer(out, "mcycles", rounded(cycles->median * 1e3));
    bound(out, "mcycles_low", cycles->low * 1e3, measured->count);
    bound(out, "mcycles_high", cycles->high * 1e3, measured->count);
}

void report_sample(const struct sample *sample, const struct timer *timer)
{
    const struct measured *measured = sample->measured;
    struct out out = out_begin("sample");
    out_text(&out, "phase", sample->refined ? "refine" : "coarse");
    out_integer(&out, "size", (int64_t)(sample->span_bytes / sample->chain->stride * sample->chain->stride));
    out_integer(&out, "lines", (int64_t)sample->chain->lines);
    out_integer(&out, "span", (int64_t)sample->span_bytes);
    out_integer(&out, "loads", (int64_t)measured->loads);
    out_integer(&out, "batches", (int64_t)measured->count);
    out_integer(&out, "dropped", (int64_t)measured->dropped);
    out_bool(&out, "capped", measured->capped);
    list_batches(&out, measured, timer);
    order_statistics(&out, measured);
    out_integer(&out, "elapsed_ns", (int64_t)sample->elapsed_ns);
    out_integer(&out, "setup_ns", (int64_t)sample->setup_ns);
    out_end();
}
