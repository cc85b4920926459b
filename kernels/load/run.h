/* A run from set-up to end: memory, threads, chain, levels. */
#ifndef LOAD_RUN_H
#define LOAD_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/arena.h"
#include "kit/chain.h"
#include "load/options.h"
#include "load/crew.h"
#include "load/level.h"

struct run {
    enum probe probe;
    const struct timer *timer;
    struct crew crew;
    struct arena arena; /* of the chain */
    struct chain chain;
    uint64_t chain_lines;
    uint64_t map_ns; /* until all memory was mapped and filled; the chain was built in the meantime */
    struct workload workload;
    struct levels levels;
};

/* Starts the load threads, maps the memory, and builds the chain while the threads fill theirs. */
void run_prepare(struct run *run, const struct cpus *cpus, const struct llc *llc, char *const *command);

/* Measures and prints all levels: idle, each delay, each target. */
void run_levels(struct run *run, struct noise *noise);

/* Ends the threads and returns the number of bytes verified; ends the program with 4 if the memory or the chain is wrong. */
uint64_t run_finish(struct run *run);

/* Releases the memory; false if pages that were added to a pool could not be removed again. */
bool run_release(struct run *run);

#endif
