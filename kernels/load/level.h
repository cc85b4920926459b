/* One level: a delay that is applied until the latency is known or time runs out, and the output line with the results. */
#ifndef LOAD_LEVEL_H
#define LOAD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/noise.h"
#include "kit/stats.h"
#include "load/windows.h"
#include "load/workload.h"

#define LEVEL_WINDOWS_MIN 21
#define LEVEL_LISTED_MAX 64

/* How levels are measured. */
struct levels {
    struct sampler sampler;
    struct workload *workload;   /* NULL: none */
    struct noise *noise;
    uint64_t windows; /* of each level */
    uint64_t cap_ns;
    const char *traffic, *width; /* as reported */
    uint64_t samples;
};

struct level {
    const char *phase;
    int64_t delay;      /* -1: load threads idle */
    int64_t target_bps; /* -1: none */
    bool reached;       /* of a target */
    uint64_t elapsed_ns;
    int64_t workload_ns; /* -1: none */
    bool capped;
    bool disturbed;      /* all windows were disturbed, so that all count */
    struct windows windows;
    struct stats latency_ns, bandwidth, chain_bps; /* latency and chain only with a chain */
    double cycle_ns;
};

/* Sets the delay and measures the level. Ends the program with 4 if the walk left the chain. */
void level_measure(struct levels *levels, struct level *level);

/* Returns the median bandwidth of a few windows with this delay. */
double level_estimate(struct levels *levels, uint64_t delay);

/* Prints the sample; README.md describes its members. */
void level_print(struct levels *levels, const struct level *level);

#endif
