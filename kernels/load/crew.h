/* The load threads, one per CPU. Each has its own memory, and a single shared word controls all of them.
 *
 * A thread walks through its arrays linearly and repeatedly, in chunks of about a microsecond. For each chunk, it reads the word,
 * and afterward reports how many steps it has made and how often it was descheduled. */
#ifndef LOAD_CREW_H
#define LOAD_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/arena.h"
#include "kit/team.h"
#include "kit/timer.h"
#include "kit/traffic.h"
#include "load/loops.h"

#define CREW_DELAY_MAX 100000 /* NOPs; with more, the shortest windows contain no step at all on a slow core */

/* The configuration of the load threads. */
struct crew_plan {
    const struct traffic *traffic;
    enum vector_isa isa;
    uint64_t touch;          /* bytes of each array per step */
    uint64_t bytes;          /* bytes of memory per thread */
    const char *pages;
    size_t count;
    const int64_t *cpus;
    const int64_t *nodes;    /* nodes of the memory, `count` of them; -1 for the node of the CPU */
};

struct walker; /* one thread's state; crew.c */

struct crew {
    struct crew_plan plan;
    struct team team;
    struct walker *walkers;
    struct loops loops;
    uint64_t array_bytes;    /* of each array of a thread */
    uint64_t gap_ticks;      /* a thread was descheduled if a chunk took this much longer than expected */
    size_t word;             /* the word that was sent last */
    atomic_size_t command __attribute__((aligned(TEAM_LINE)));
    char apart[TEAM_LINE - sizeof(atomic_size_t)];
};

/* The progress of all threads together. */
struct crew_count {
    uint64_t steps, lost;
    bool stalled; /* whether a thread made no step since the previous count */
};

/* Starts the threads, which stay idle. Ends the program with 3 if a CPU is not available. */
void crew_start(struct crew *crew, const struct crew_plan *plan, const struct timer *timer);

/* Lets the threads map and fill their memory, and returns at once; crew_park waits until they are done. */
void crew_fill(struct crew *crew);

/* Sets the number of NOPs after each step, or makes the threads idle. Returns when all threads have confirmed it. */
void crew_run(struct crew *crew, uint64_t delay);
void crew_park(struct crew *crew);

/* The time at which the last thread had filled its memory; valid after crew_park. */
uint64_t crew_filled_ns(const struct crew *crew);

/* Counts the progress of all threads. Call this function from one thread only. */
struct crew_count crew_read(struct crew *crew);

/* Useful bytes per step. */
uint64_t crew_step_bytes(const struct crew *crew);

/* The arena that the `index`-th thread mapped, shared by `threads` threads; NULL if it mapped none. */
const struct arena *crew_arena(const struct crew *crew, size_t index, size_t *threads);

/* Makes the threads verify their memory and end; crew_check waits for them. */
void crew_end(struct crew *crew);

/* Returns the number of bytes verified; ends the program with 4 if the memory of a thread differs from the result of its
 * traffic. */
uint64_t crew_check(struct crew *crew);

/* Releases the memory; false if pages that were added to a pool could not be removed again. */
bool crew_release(struct crew *crew);

#endif
