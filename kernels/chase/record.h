/* The result of one size, and its line of the output. */
#ifndef CHASE_RECORD_H
#define CHASE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "chase/measure.h"
#include "kit/timer.h"

#define RECORD_LISTED_MAX 64

struct record {
    bool refined, capped, sorted;
    uint64_t span_bytes, size_bytes, lines, setup_ns, elapsed_ns;
    uint64_t loads, adds, batches, dropped, outside;
    uint64_t listed; /* batches: all in order of time, or an evenly spaced, sorted subset */
    int64_t load_ns[RECORD_LISTED_MAX], add_ns[RECORD_LISTED_MAX];
    struct stats per_load_ns, cycles;
    double cycle_ns, fastest_ns;
};

/* Copies the measurement; sorts its batches if there are too many to list. */
void record_take(struct record *record, struct measured *measured, const struct timer *timer);

/* Prints the sample; README.md describes its members. */
void record_print(const struct record *record);

#endif
