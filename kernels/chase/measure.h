/* Timing one working set in short batches. */
#ifndef CHASE_MEASURE_H
#define CHASE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/chain.h"
#include "kit/stats.h"
#include "kit/timer.h"

#define MEASURE_BATCHES_MIN 21
#define MEASURE_BATCHES_MAX 8192

/* Precision and time limits. */
struct effort {
    double target;    /* width of the 95 % interval over the median at which to stop */
    uint64_t cap_ns;  /* time limit for a size that has the least number of batches */
};

struct batch {
    uint64_t load_ticks, add_ticks; /* without the time for reading the counter */
};

struct measured {
    struct batch batches[MEASURE_BATCHES_MAX];
    uint64_t count, loads;
    uint64_t dropped;  /* number of interrupted batches */
    uint64_t outside;  /* undisturbed batches before the quiet period that ended the size */
    bool capped;
    double fastest_ns;      /* per load, of all batches including dropped ones */
    struct stats load_ns;   /* per load */
    struct stats cycles;    /* core cycles per load, computed for each batch */
    double cycle_ns;        /* median */
    double least_cycle_ns;
};

/* Measures the current chain and stores the result in `measured`. A size ends when the interval over all batches is narrow
 * enough, or over the last MEASURE_BATCHES_MIN alone, so that it waits for a pause of other programs within the cap. Ends the
 * program with 3 if all batches were interrupted, and with 4 if the walk left the chain. */
void measure(const struct chain *chain, const struct timer *timer, const struct effort *effort, struct measured *measured);

#endif
