/* Which sizes, in which order: a coarse grid, then the stretches in which the latency changes. */
#ifndef CHASE_SWEEP_H
#define CHASE_SWEEP_H

#include <stdint.h>

#include "chase/bench.h"
#include "kit/opts.h"

struct sweep {
    uint64_t min_bytes, max_bytes;
    unsigned points_per_octave;
    const struct opt_list *sizes; /* if it has any, they are measured instead of the grid and nothing is refined */
    double refine_ratio;          /* neighbours closer than this are left; 1 or less switches refining off */
    double refine_jump;           /* neighbours whose latencies differ by less than this factor are left */
    uint64_t refine_max, refine_cap_ns;
    uint64_t patience_ns;         /* for second looks; what is left of it */
    struct bench bench;
};

struct sweep_result {
    uint64_t samples, refined;
    const char *refine_stopped; /* done, points, time, off */
};

/* Measures and prints all sizes. */
struct sweep_result sweep_run(struct sweep *sweep);

#endif
