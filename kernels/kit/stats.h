/* Order statistics of a sorted array. */
#ifndef KIT_STATS_H
#define KIT_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "kit/numbers.h"

#define STATS_INTERVAL_MIN 6 /* fewer give no 95 % interval: 2 / 2^5 > 5 % */

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

/* Index of the lower end of the distribution-free 95 % interval of the median; the upper one is count - 1 - it. The rank is
 * floor((n - 1.96 sqrt n) / 2), at least 1 (David and Nagaraja, Order Statistics, 7.1). */
static inline size_t stats_interval_index(size_t count)
{
    uint64_t reach = square_root((uint64_t)count * 38416) / 100 + 1;
    return count > reach + 2 ? (count - reach) / 2 - 1 : 0;
}

#endif
