/* Measures two CPUs with all methods; both threads execute this code. Each round contains a slice of each method, so that a virtual
 * CPU that moves affects all methods equally. The distance is probed before and after the rounds, which reveals such a move. */
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

/* Compare-and-swap at one address, about a millisecond. */
#define PROBE_BATCHES 32
#define PROBE_TURNS 100
enum { PROBE_BEFORE, PROBE_AFTER, PROBES };

/* The configuration of all pairs. */
struct rules {
    const struct timer *timer;
    enum method methods[PLAY_METHODS];
    size_t method_count;
    bool listing;   /* whether the output lists individual batches */
    uint64_t turns; /* round trips per batch */
    uint64_t slice; /* batches of token and cas per round */
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

/* The batches in which no thread was descheduled, in order of time. */
struct probe {
    size_t count, dropped;
    int64_t ns[PROBE_BATCHES];
};

struct game {
    const struct rules *rules;
    struct slot slot;
    struct probe probes[PROBES];
    struct result results[PLAY_RESULTS];
};

/* One of the two threads. */
struct player {
    struct game *game;
    bool leads;
    struct series series[PLAY_METHODS];
    uint64_t slices[PLAY_METHODS]; /* finished batches of token and cas, slices of the chain */
    uint64_t probed, rounds;       /* finished batches of probes, rounds of the methods */
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
