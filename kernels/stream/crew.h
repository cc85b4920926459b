/* The threads, their memory and their common work. Member 0 leads; the others wait for its command. */
#ifndef STREAM_CREW_H
#define STREAM_CREW_H

#include "kit/arena.h"
#include "kit/noise.h"
#include "kit/opts.h"
#include "kit/team.h"
#include "stream/walker.h"

enum order { ORDER_FILL, ORDER_MAPPED, ORDER_BEGIN, ORDER_WARM, ORDER_WINDOW, ORDER_CHECK, ORDER_END };

struct crew {
    struct team team;
    struct timer timer;
    const struct opt_list *cpus;
    const int64_t *nodes;          /* one for each CPU; -1 for its node */
    const char *pages;
    struct helpers helpers;        /* of a single thread */
    uint64_t thread_bytes, seed;
    void (*lead)(struct crew *);   /* run by member 0 when all memory is ready */
    struct walker *walkers;
    int64_t *homes;                /* nodes of the CPUs; -1 if there is only one */
    struct arena least;            /* the arena with the smallest pages */
    size_t arenas;
    uint64_t arena_bytes, started_ns, map_ns, start_ticks;
    size_t mapper;                 /* the thread that maps an arena */
    enum order order;
    struct work work;
};

/* Starts the threads on their CPUs, maps their memory, and runs the leader. When it has finished, ends the threads and releases the
 * memory. False if pages that were added to a pool could not be removed again. */
bool crew_run(struct crew *crew);

/* Called by the leader: all threads execute it and have finished when it returns. */
void crew_do(struct crew *crew, enum order order);

#endif
