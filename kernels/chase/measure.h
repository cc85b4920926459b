/* Times one working set in short batches. */
#ifndef CHASE_MEASURE_H
#define CHASE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/chain.h"
#include "kit/stats.h"
#include "kit/timer.h"

#define MEASURE_BATCHES_MIN 21
#define MEASURE_BATCHES_MAX 1024

/* Number of batches, and time limit. The number of batches does not depend on the values, because stopping at a narrow interval
 * would select a quiet moment. */
struct effort {
    uint64_t batches;
    uint64_t cap_ns;  /* time limit for a size that has the minimum number of batches */
};

struct batch {
    uint64_t load_ticks, add_ticks; /* without the time for reading the counter */
};

struct measured {
    struct batch batches[MEASURE_BATCHES_MAX];
    uint64_t count, loads;
    uint64_t dropped;  /* number of interrupted batches */
    bool capped;            /* whether the time was over before the last batch */
    double fastest_ns;      /* per load, of all batches including dropped ones */
    struct stats load_ns;   /* per load */
    struct stats cycles;    /* core cycles per load, computed for each batch */
    double cycle_ns;        /* median */
    double least_cycle_ns;
};

/* Measures the current chain: adds `effort->batches` batches to `measured`, which must be zeroed before the first call, and
 * computes the values from all batches in it. Ends the program with 3 if all batches were interrupted, and with 4 if the walk left
 * the chain. */
void measure_more(const struct chain *chain, const struct timer *timer, const struct effort *effort, struct measured *measured);

#endif
