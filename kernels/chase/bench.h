/* Measures one size completely: builds the chain, checks it, and times it. */
#ifndef CHASE_BENCH_H
#define CHASE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "chase/measure.h"
#include "chase/record.h"
#include "kit/chain.h"
#include "kit/noise.h"
#include "kit/timer.h"

struct bench {
    struct chain *chain;
    const struct timer *timer;
    struct noise *noise;
    struct effort effort;
    uint64_t flush_bytes;    /* size of the last-level cache, which is filled before a sparse chain is timed */
    uint64_t verified_lines; /* lines verified so far */
};

/* Measures a working set of `bytes`. Ends the program with 4 if the chain is not a single cycle. */
void bench_size(struct bench *bench, uint64_t bytes, bool refined, struct record *record);

/* Measures the same size again and adds the batches to the record. */
void bench_again(struct bench *bench, struct record *record);

/* Removes the chain line by line to verify that nothing changed it; ends the program with 4 otherwise. */
void bench_finish(struct bench *bench);

#endif
