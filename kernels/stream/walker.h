/* The walk of a thread over its memory. */
#ifndef STREAM_WALKER_H
#define STREAM_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/arena.h"
#include "kit/timer.h"
#include "stream/loops.h"

#define WALKER_ADDS 16384

/* The arrays of a traffic pattern in a thread's memory: one after another, each at the start of a page. A load is then 4096
 * bytes, the largest possible distance, from the last store with the same low address bits. */
struct layout {
    uint64_t array_bytes; /* whole grains */
    uint64_t pitch;
};

struct layout layout_of(uint64_t size, const struct traffic *traffic, uint64_t grain);

/* The next command of all threads. */
struct work {
    const struct traffic *traffic;
    struct loop loop;
    struct layout layout;
    uint64_t grain, window_ticks;
    bool alone; /* there is only one thread */
    bool whole; /* start with a warm-up pass over everything */
};

struct walker {
    char *start; /* start of its memory, page-aligned */
    uint64_t bytes, seed;
    int node;                 /* node of the memory; -1 if unknown */
    uint64_t at;              /* the next byte of each array */
    uint64_t began, covered;  /* since the pattern was last restored: start of the walk, bytes walked per array */
    uint64_t chunk;           /* bytes of each array between two reads of the clock */
    double place;             /* part of the array that was walked, kept from one layout to the next */
    uint64_t moved, end_ticks; /* bytes of each array in the last window */
    uint64_t add_ticks;        /* duration of WALKER_ADDS dependent adds before it, which take as many core cycles */
    long switches;
    bool disturbed;            /* whether it was descheduled */
    char *kept;
    int fill_error;            /* errno if populating its part failed, otherwise 0 */
    struct arena arena;        /* set if this thread mapped it */
} __attribute__((aligned(256))); /* so that no line is written by two threads */

/* Populates the thread's part of the arena and fills it with the pattern. */
void walker_fill(struct walker *walker, const struct arena *arena);

/* Starts new work where the last one ended, so that the most recently used lines are reached last. */
void walker_begin(struct walker *walker, const struct work *work);

/* Loads a set that fits into a cache, and measures how much is processed in a moment. */
void walker_warm(struct walker *walker, const struct work *work);

/* One window from `start_ticks` to the common deadline. */
void walker_window(struct walker *walker, const struct work *work, const struct timer *timer, uint64_t start_ticks);

/* Called right before a window: counts context switches and times dependent adds. */
void walker_ready(struct walker *walker);

/* Verifies and restores everything that was walked; ends the program with 4 if a value is wrong. */
void walker_check(struct walker *walker, const struct work *work);

#endif
