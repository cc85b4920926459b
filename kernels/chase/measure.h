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

/* How exactly, and for how long at most. */
struct effort {
    double target;    /* width of the 95 % interval over the median at which to stop */
    uint64_t cap_ns;  /* time for a size once it has its least number of batches */
};

struct batch {
    uint64_t load_ticks, add_ticks; /* net of reading the counter */
};

struct measured {
    struct batch batches[MEASURE_BATCHES_MAX];
    uint64_t count, loads;
    uint64_t dropped;  /* interrupted ones */
    uint64_t outside;  /* good ones before the quiet stretch that ended the size */
    bool capped;
    double fastest_ns;      /* per load, of all batches, those left out as well */
    struct stats load_ns;   /* per load */
    struct stats cycles;    /* core cycles per load, formed batch by batch */
    double cycle_ns;        /* median */
    double least_cycle_ns;
};

/* Measures the chain as it stands and leaves the result in `measured`. A size ends when the interval over all batches is narrow
 * enough, or over the last MEASURE_BATCHES_MIN alone: a neighbour that pauses is waited for, within the cap. Ends the program
 * with 3 if the machine is so busy that no batch was left alone, and with 4 if the walk left the chain. */
void measure(const struct chain *chain, const struct timer *timer, const struct effort *effort, struct measured *measured);

#endif
