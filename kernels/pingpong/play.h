/* All methods between two CPUs, executed by both threads. */
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
#define PLAY_WARM_NS 3000000            /* idle cores raise their clock in the first milliseconds */

/* The configuration of all pairs. */
struct rules {
    const struct timer *timer;
    enum method methods[PLAY_METHODS];
    size_t method_count;
    bool listing;   /* number of single batches in the output */
    uint64_t turns; /* round trips per batch */
    uint64_t steps; /* lines per batch of a walk */
    struct effort effort, chain_effort;
    struct ring ring;
    struct layout layout;
};

struct result {
    enum method method;
    bool reversed; /* set if the second CPU measured */
    uint64_t turns, messages; /* per batch; its duration is divided by this */
    int64_t cycle_fs;         /* core cycle of the measuring CPU */
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
    long switches;              /* context switches of the thread so far */
    uint64_t messages, lines;   /* verified so far */
    const char *fault;          /* the error in the other thread's data, which ends the program */
};

/* The number of results of a method: the chain has one per direction, by the leader and by the follower. */
size_t play_results(enum method method);

/* Runs all methods, or until `fault` is set. */
void play(struct player *player);

#endif
