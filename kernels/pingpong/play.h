/* All methods between two CPUs, as each of the two threads plays them. */
#ifndef PINGPONG_PLAY_H
#define PINGPONG_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/timer.h"
#include "pingpong/ring.h"
#include "pingpong/series.h"
#include "pingpong/slot.h"

enum method { METHOD_TOKEN, METHOD_CAS, METHOD_CHAIN };

#define PLAY_METHODS 3
#define PLAY_RESULTS (PLAY_METHODS + 1) /* the chain has one for each direction */
#define PLAY_WARM_NS 3000000            /* clocks of cores that slept go up in the first milliseconds */

/* The same for all pairs. */
struct rules {
    const struct timer *timer;
    enum method methods[PLAY_METHODS];
    size_t method_count;
    bool listing;   /* of single batches in the output */
    uint64_t turns; /* of a batch of exchanges */
    uint64_t steps; /* of a batch of a walk */
    struct effort effort, chain_effort;
    struct ring ring;
    struct layout layout;
};

struct result {
    enum method method;
    bool reversed; /* the second CPU is the one that measured */
    uint64_t turns, messages; /* of a batch; what its time is divided by */
    int64_t cycle_fs;         /* of the measuring CPU */
    struct figures figures;
};

struct game {
    const struct rules *rules;
    struct slot slot;
    struct result results[PLAY_RESULTS];
};

/* One of the two threads. */
struct player {
    struct game *game;
    bool leads;
    struct series series;
    uint64_t warm_until_ns;
    long switches;              /* of the thread so far */
    uint64_t messages, lines;   /* checked so far */
    const char *fault;          /* what was wrong with what the other sent, which ends the program */
};

/* How many results a method has: the chain has one for each direction, of the leader and of the follower. */
size_t play_results(enum method method);

/* Plays the game to its end, or until `fault` is set. */
void play(struct player *player);

#endif
