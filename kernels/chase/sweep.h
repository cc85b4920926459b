/* The sizes and their order: a coarse grid or a list, then the intervals in which the latency changes. */
#ifndef CHASE_SWEEP_H
#define CHASE_SWEEP_H

#include <stdint.h>

#include "chase/bench.h"
#include "kit/opts.h"

struct sweep {
    uint64_t min_bytes, max_bytes;
    unsigned points_per_octave;
    const struct opt_list *sizes; /* if not empty, measured instead of the grid, without refinement */
    uint64_t order;               /* seed for a random order of the coarse grid or of `sizes`; 0: ascending */
    double refine_ratio;          /* neighbors closer than this are not refined; 1 or less disables refinement */
    double refine_jump;           /* neighbors whose latencies differ by less than this factor are not refined */
    uint64_t refine_max, refine_cap_ns;
    uint64_t patience_ns;         /* time left for repeating sizes */
    struct bench bench;
};

struct sweep_result {
    uint64_t samples, refined;
    const char *refine_stopped; /* done, points, time, off */
};

/* Measures and prints all sizes. */
struct sweep_result sweep_run(struct sweep *sweep);

#endif
