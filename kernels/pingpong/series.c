#include "pingpong/series.h"

#include "kit/fail.h"

#define KEPT_MIN 21       /* batches that end a series at its cap */
#define JUMP_FACTOR 4     /* a batch this many times the median ... */
#define JUMP_NS 50000     /* ... and this much longer was interrupted by something that getrusage does not report */

void series_open(struct series *series, size_t most)
{
    series->most = most;
    series->batches = malloc(most * sizeof *series->batches);
    series->sorted = malloc(most * sizeof *series->sorted);
    series->residuals = malloc(most * sizeof *series->residuals);
    if (!series->batches || !series->sorted || !series->residuals)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu batches", most);
}

void series_close(struct series *series)
{
    free(series->batches);
    free(series->sorted);
    free(series->residuals);
}

void series_begin(struct series *series, size_t addresses)
{
    series->addresses = addresses;
    series->count = series->dropped = 0;
    series->spent_ns = 0;
}

void series_add(struct series *series, uint64_t ticks, size_t address)
{
    if (series->count < series->most)
        series->batches[series->count++] = (struct batch){ticks, address};
}

void series_drop(struct series *series, size_t from)
{
    series->dropped += series->count - from;
    series->count = from;
}

/* Sorts the ticks of the batches at one address and returns their number. */
static size_t sort_address(struct series *series, size_t address)
{
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        if (series->batches[i].address == address)
            series->sorted[count++] = (double)series->batches[i].ticks;
    stats_sort(series->sorted, count);
    return count;
}

static void sort_all(struct series *series)
{
    for (size_t i = 0; i < series->count; i++)
        series->sorted[i] = (double)series->batches[i].ticks;
    stats_sort(series->sorted, series->count);
}

/* The number of independent batches with the same information. Addresses differ permanently and alternate, so the correlation of
 * neighbors in time is computed from the differences to the median of the same address. */
static double effective(struct series *series)
{
    for (size_t address = 0; address < series->addresses; address++) {
        size_t count = sort_address(series, address);
        double median = count > 0 ? stats_median(series->sorted, count) : 0;
        for (size_t i = 0; i < series->count; i++)
            if (series->batches[i].address == address)
                series->residuals[i] = (double)series->batches[i].ticks - median;
    }
    return stats_effective(series->residuals, series->count, 0);
}

/* Statistics of at least one batch; sorts all of them. */
static struct stats summarise(struct series *series)
{
    size_t count = series->count;
    struct stats stats = {.count = count, .effective = effective(series)};
    sort_all(series);
    size_t low = stats_interval_index(count, stats.effective);
    stats.median = stats_median(series->sorted, count);
    stats.min = series->sorted[0];
    stats.max = series->sorted[count - 1];
    stats.low = series->sorted[low];
    stats.high = series->sorted[count - 1 - low];
    stats.interval = stats.effective >= STATS_INTERVAL_MIN;
    return stats;
}

bool series_enough(const struct series *series, const struct effort *effort)
{
    return series->count == series->most || (series->count >= effort->least && series->spent_ns >= effort->least_ns);
}

bool series_spent(const struct series *series, const struct effort *effort)
{
    uint64_t cap_ns = series->count < KEPT_MIN ? SERIES_PATIENCE * effort->cap_ns : effort->cap_ns;
    return series->spent_ns > cap_ns;
}

static void drop_jumps(struct series *series, const struct timer *timer)
{
    size_t kept = 0;
    sort_all(series);
    double limit = stats_median(series->sorted, series->count) * JUMP_FACTOR + JUMP_NS / timer->ns_per_tick;
    for (size_t i = 0; i < series->count; i++)
        if ((double)series->batches[i].ticks <= limit)
            series->batches[kept++] = series->batches[i];
    series_drop(series, kept);
}

/* Stores all batches in order of time, or an evenly spaced, sorted subset. */
static void list(const struct series *series, const struct timer *timer, struct figures *figures)
{
    size_t count = series->count;
    figures->ordered = count > SERIES_LISTED_MAX;
    figures->listed = figures->ordered ? SERIES_LISTED_MAX : count;
    for (size_t i = 0; i < figures->listed; i++) {
        size_t at = i * (count - 1) / (SERIES_LISTED_MAX - 1);
        uint64_t ticks = figures->ordered ? (uint64_t)series->sorted[at] : series->batches[i].ticks;
        figures->ns[i] = timer_ns(timer, ticks);
    }
}

void series_finish(struct series *series, const struct timer *timer, const struct effort *effort, uint64_t messages,
                   struct figures *figures)
{
    *figures = (struct figures){.capped = true, .addresses = series->addresses, .p25 = -1};
    figures->elapsed_ns = (int64_t)series->spent_ns;
    figures->ps_per_tick = timer->ns_per_tick * 1e3 / (double)messages;
    if (series->count > 0)
        drop_jumps(series, timer);
    figures->dropped = series->dropped;
    for (size_t address = 0; address < series->addresses; address++) {
        size_t count = sort_address(series, address);
        figures->address_p25[address] = count > 0 ? series->sorted[count / 4] : -1;
    }
    if (series->count == 0)
        return;
    figures->stats = summarise(series);
    figures->p25 = series->sorted[series->count / 4];
    figures->capped = series->count < effort->least;
    list(series, timer, figures);
}
