/* The threads, their memory, and what they do together. Member 0 leads; the others wait for its word. */
#ifndef STREAM_CREW_H
#define STREAM_CREW_H

#include "kit/arena.h"
#include "kit/noise.h"
#include "kit/opts.h"
#include "kit/team.h"
#include "stream/walker.h"

enum order { ORDER_BEGIN, ORDER_WARM, ORDER_WINDOW, ORDER_CHECK, ORDER_END };

struct crew {
    struct team team;
    struct timer timer;
    const struct opt_list *cpus;
    const int64_t *nodes;          /* one for each CPU; -1 for where it runs */
    const char *pages;
    uint64_t thread_bytes, seed;
    void (*lead)(struct crew *);   /* run by member 0 when all memory is ready */
    struct walker *walkers;
    int64_t *homes;                /* nodes of the CPUs; -1 where there is one only */
    struct arena least;            /* of all arenas the one with the smallest pages */
    size_t arenas;
    uint64_t arena_bytes, map_ns, start_ticks;
    enum order order;
    struct work work;
};

/* Starts the threads, each on its CPU, gets their memory, and lets one of them lead. Returns when it is done. */
void crew_run(struct crew *crew);

/* For the leader: all threads do it, and have done it on return. */
void crew_do(struct crew *crew, enum order order);

/* For the leader, when nothing more is to be measured: gives all memory back. False if pages that were added to a pool could not
 * be taken out again. */
bool crew_release(struct crew *crew);

#endif
