/* Which sizes, in which order: a coarse grid, then the stretches in which the latency changes. */
#ifndef CHASE_SWEEP_H
#define CHASE_SWEEP_H

#include <stdint.h>

#include "chase/chain.h"
#include "chase/measure.h"
#include "kit/opts.h"
#include "kit/timer.h"

struct sweep {
    uint64_t min_bytes, max_bytes;
    unsigned points_per_octave;
    const struct opt_list *sizes; /* if it has any, they are measured instead of the grid and nothing is refined */
    double refine_ratio;          /* neighbours closer than this are left; 1 or less switches refining off */
    double refine_jump;           /* neighbours whose latencies differ by less than this factor are left */
    uint64_t refine_max, refine_cap_ns;
    uint64_t flush_bytes;         /* of the last-level cache: read before a sparse chain is timed */
    struct chain *chain;
    const struct timer *timer;
    struct effort effort;
};

struct sweep_result {
    uint64_t samples, refined, verified_lines;
    const char *refine_stopped; /* done, points, time, off */
};

/* Measures and reports all sizes. Ends the program with 4 if a chain is not the single cycle it must be. */
struct sweep_result sweep_run(struct sweep *sweep);

#endif
