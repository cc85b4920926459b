/* Determines from batch means whether a rate has settled: its interval is narrow, and there is no trend. */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTLE_BATCHES 64 /* maximum number of batches; once it is reached, neighbors are merged */

struct settle {
    double share;            /* limit of the interval on each side, relative to the mean; 0: never settled */
    int64_t least_ns, least_count;
    int64_t begin_ns, batch_ns; /* time at which the first request was completed; current length of a batch */
    int64_t from_ns;         /* start of the current batch */
    int64_t first, from, last; /* requests completed at that time */
    size_t count;
    double rates[SETTLE_BATCHES];
    int held;                /* consecutive checks at which the rate had settled */
};

void settle_begin(struct settle *settle, int64_t ppm, int64_t least_ms, int64_t least_count);

/* Adds the number of requests completed until a time; true once the rate has settled. */
bool settle_add(struct settle *settle, int64_t ns, int64_t done);

/* The rule for rates in order of time (exposed for tests): the 95 % interval of their mean is within `share` of it, and they
 * show no trend. */
bool settle_holds(const double *rates, size_t count, double share);

#endif
