/* From set-up to the end: memory, threads, chain, levels. */
#ifndef LOAD_RUN_H
#define LOAD_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/arena.h"
#include "kit/chain.h"
#include "load/asked.h"
#include "load/crew.h"
#include "load/level.h"

struct run {
    enum probe probe;
    const struct timer *timer;
    struct crew crew;
    struct arena arena; /* of the chain */
    struct chain chain;
    uint64_t chain_lines;
    struct workload workload;
    struct levels levels;
};

/* Starts the load threads, maps the memory, and builds the chain while the threads fill theirs. */
void run_prepare(struct run *run, const struct cpus *cpus, const struct llc *llc, char *const *command);

/* Measures and prints all that is asked for: idle, each delay, each target. */
void run_levels(struct run *run, struct noise *noise);

/* Ends the threads; the program ends with 4 if memory or chain are not as they must be. Returns the bytes checked. */
uint64_t run_finish(struct run *run);

/* Gives the memory back. False if pages that were added to a pool could not be taken out again. */
bool run_release(struct run *run);

#endif
