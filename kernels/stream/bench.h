/* One size and traffic pattern: the best loop and its bandwidth. */
#ifndef STREAM_BENCH_H
#define STREAM_BENCH_H

#include "kit/stats.h"
#include "stream/crew.h"
#include "stream/sets.h"

#define BENCH_WINDOWS_MAX 4096

enum effort { EFFORT_BEST, EFFORT_ALL, EFFORT_PLAIN }; /* variants that are measured completely */

struct window {
    double ns;
    uint64_t bytes; /* useful bytes of all threads */
};

struct bench {
    struct crew *crew;
    struct noise *noise;
    enum effort effort;
    uint64_t windows; /* of each loop that is measured in full */
    uint64_t cap_ns;
    uint64_t samples, checks;
    uint64_t last_size;
};

/* The measurement of one loop. */
struct sample {
    struct value value;
    struct loop loop;
    uint64_t array_bytes;
    struct window windows[BENCH_WINDOWS_MAX];
    double cycle_ns[BENCH_WINDOWS_MAX]; /* median over the threads, before each window */
    size_t count, dropped;
    size_t trial; /* windows of an earlier short trial of the same loop, both kept and dropped; not counted elsewhere */
    bool capped; /* whether there are fewer windows than requested */
    bool best;
    struct stats bps;
    double core_ns; /* the shortest core cycle, because disturbances only make it longer */
    uint64_t elapsed_ns;
};

/* Measures and prints one value; ends the program with 4 if a result is wrong. */
void bench_point(struct bench *bench, const struct value *value);

#endif
