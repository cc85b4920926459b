/* The result for one size, and its output line. */
#ifndef CHASE_RECORD_H
#define CHASE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "chase/measure.h"
#include "kit/timer.h"

#define RECORD_LISTED_MAX 64 /* batches in the sample: all of them in chronological order, or an evenly spaced subset, sorted */

struct record {
    bool refined;
    uint64_t span_bytes, size_bytes, lines, setup_ns, elapsed_ns;
    uint64_t looks; /* how often the size was measured; `measured` contains the batches of all these measurements */
    struct measured measured;
};

/* Prints the sample; README.md describes its members. */
void record_print(const struct record *record, const struct timer *timer);

#endif
