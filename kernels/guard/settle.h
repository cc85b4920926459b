/* Whether a rate has settled: batch means, an interval, no trend. */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTLE_BATCHES 64 /* kept; when there are so many, neighbours are joined */

struct settle {
    double share;            /* the interval may be so wide on each side, as a share of the mean; 0: never settled */
    int64_t least_ns, least_count;
    int64_t begin_ns, batch_ns; /* when the first request was seen done; how long a batch is by now */
    int64_t from_ns;         /* where the batch under way began */
    int64_t first, from, last; /* requests done by then */
    size_t count;
    double rates[SETTLE_BATCHES];
    int held;                /* looks in a row at which it had settled */
};

void settle_begin(struct settle *settle, int64_t ppm, int64_t least_ms, int64_t least_count);

/* How many requests were done by a moment; true once the rate has settled. */
bool settle_add(struct settle *settle, int64_t ns, int64_t done);

/* The rule itself on rates in the order of time (exposed for tests): the 95 % interval of their mean is within `share` of it, and
 * they show no trend. */
bool settle_holds(const double *rates, size_t count, double share);

#endif
