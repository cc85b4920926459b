/* One size from start to end: chain, self-check, timing. */
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
    uint64_t flush_bytes;    /* of the last-level cache: read before a sparse chain is timed */
    uint64_t verified_lines; /* walked by self-checks so far */
};

/* Measures `bytes`. Ends the program with 4 if the chain is not the single cycle it must be. */
void bench_size(struct bench *bench, uint64_t bytes, bool refined, struct record *record);

/* Takes the chain apart line by line, which shows that nothing changed it; ends the program with 4 otherwise. */
void bench_finish(struct bench *bench);

#endif
