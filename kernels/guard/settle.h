/* Determines from batch means whether a rate has settled: its interval is narrow, and there is no trend. The rate is checked only at
 * a few times that are fixed in advance. If it were checked all the time, the check would succeed in a quiet moment, and the interval
 * would then be too narrow for the next run. */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTLE_BATCHES 64 /* maximum number of batches; once it is reached, neighbors are merged */

struct settle {
    double share;            /* limit of the interval on each side, relative to the mean; 0: never settled */
    int64_t least_count;
    int64_t begin_ns, batch_ns; /* time at which the first request was completed; current length of a batch */
    int64_t from_ns;         /* start of the current batch */
    int64_t first, from;     /* requests completed at that time */
    int64_t after_ns;        /* time from the beginning to the next check */
    size_t count;
    double rates[SETTLE_BATCHES];
};

void settle_begin(struct settle *settle, int64_t ppm, int64_t least_ms, int64_t least_count);

/* Adds the number of requests completed until a time; true if the rate is checked at this time and has settled. */
bool settle_add(struct settle *settle, int64_t ns, int64_t done);

#endif
