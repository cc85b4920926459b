/* The median and interval of values that were measured one after another: batches, windows, turns.
 *
 *     struct stats stats = stats_of(values, count);        in the order in which they were measured, not sorted
 *     stats_print(&out, "ps", &stats, 1e3);                 median_ps, ci_low_ps, ci_high_ps, min_ps, max_ps, effective
 *
 * The interval is computed from order statistics, so no distribution is assumed. If something changes slowly (the clock, or bursts
 * of another program), neighbors in time are similar, and n values contain less information than n independent ones. They count as
 * n (1 - r) / (1 + r) values, where r is the correlation of neighbors (Bayley and Hammersley, Journal of the Royal Statistical
 * Society Supplement 8, 1946, for a series whose correlation decays geometrically). r is the quadrant correlation, which is robust
 * to outliers: it is computed from how often neighbors are on the same side of the median (Blomqvist, Annals of Mathematical
 * Statistics 21, 1950). */
#ifndef KIT_STATS_H
#define KIT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kit/fail.h"
#include "kit/numbers.h"
#include "kit/out.h"

#define STATS_INTERVAL_MIN 6 /* fewer give no 95 % interval: 2 / 2^5 > 5 % */
#define STATS_CORRELATION_MAX 0.99

struct stats {
    size_t count;
    double effective;       /* number of independent values with the same information; 0 without values */
    double median, min, max;
    double low, high;       /* the 95 % interval of the median; valid only if `interval` is set */
    bool interval;          /* whether there are enough effective values for an interval */
};

static inline int stats_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void stats_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, stats_ascending);
}

static inline double stats_median(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The number of independent values (1 to count) that contain as much information about the median as these values in order of
 * time. A negative correlation of neighbors counts as independence. */
static inline double stats_effective(const double *in_time, size_t count, double median)
{
    int64_t together = 0, apart = 0;
    for (size_t i = 0, before = 0; i < count; i++) {
        int side = (in_time[i] > median) - (in_time[i] < median);
        int side_before = (in_time[before] > median) - (in_time[before] < median);
        together += i > 0 ? side * side_before : 0;
        apart += side * side;
        before = i;
    }
    double r = together > 0 ? sine_of_share((double)together / (double)apart) : 0;
    r = r < STATS_CORRELATION_MAX ? r : STATS_CORRELATION_MAX;
    double effective = (double)count * (1 - r) / (1 + r);
    return effective > 1 ? effective : 1;
}

/* Index of the lower end of the distribution-free 95 % interval of the median; the index of the upper end is count - 1 minus this
 * index. The rank is floor((n - 1.96 sqrt n) / 2), at least 1 (David and Nagaraja, Order Statistics, 7.1), with n / sqrt(effective)
 * for the root. */
static inline size_t stats_interval_index(size_t count, double effective)
{
    double squared = (double)count * (double)count / effective;
    uint64_t reach = square_root((uint64_t)(squared * 38416)) / 100 + 1;
    return count > reach + 2 ? (count - reach) / 2 - 1 : 0;
}

/* Statistics of at least one value, in order of time. */
static inline struct stats stats_of(const double *in_time, size_t count)
{
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu values", count);
    memcpy(sorted, in_time, count * sizeof *sorted);
    stats_sort(sorted, count);
    double median = stats_median(sorted, count), effective = stats_effective(in_time, count, median);
    size_t low = stats_interval_index(count, effective);
    struct stats stats = {count, effective, median, sorted[0], sorted[count - 1], sorted[low], sorted[count - 1 - low],
                          effective >= STATS_INTERVAL_MIN};
    free(sorted);
    return stats;
}

static inline int64_t stats_rounded(double value)
{
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static inline void stats_print_one(struct out *out, const char *name, const char *unit, double value, bool known)
{
    char key[48];
    snprintf(key, sizeof key, "%s_%s", name, unit);
    if (known)
        out_integer(out, key, stats_rounded(value));
    else
        out_null(out, key);
}

/* Adds the members of a sample for `stats`, multiplied by `scale`, in `unit`; the bounds are null without an interval. */
static inline void stats_print(struct out *out, const char *unit, const struct stats *stats, double scale)
{
    stats_print_one(out, "median", unit, stats->median * scale, true);
    stats_print_one(out, "ci_low", unit, stats->low * scale, stats->interval);
    stats_print_one(out, "ci_high", unit, stats->high * scale, stats->interval);
    stats_print_one(out, "min", unit, stats->min * scale, true);
    stats_print_one(out, "max", unit, stats->max * scale, true);
    out_integer(out, "effective", (int64_t)stats->effective);
}

#endif
