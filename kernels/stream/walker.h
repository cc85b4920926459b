/* One thread's walk over its own memory. */
#ifndef STREAM_WALKER_H
#define STREAM_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/arena.h"
#include "kit/timer.h"
#include "stream/loops.h"

#define WALKER_ADDS 16384

/* Where the arrays of a traffic lie in a thread's memory: one behind the other, each at the start of a page. At equal places of
 * a page a load is 4096 bytes from the last store with the same low bits of the address: as far as can be. */
struct layout {
    uint64_t array_bytes; /* whole grains */
    uint64_t pitch;
};

struct layout layout_of(uint64_t size, const struct traffic *traffic, uint64_t grain);

/* What all threads do next. */
struct work {
    const struct traffic *traffic;
    struct loop loop;
    struct layout layout;
    uint64_t grain, window_ticks;
    bool whole; /* warm up with a pass over everything */
};

struct walker {
    char *start; /* of its memory, at a page */
    uint64_t bytes, seed;
    int node;                 /* on which the memory lies; -1 if the system does not tell */
    uint64_t at;              /* the next byte of each array */
    uint64_t began, covered;  /* since the memory was last put in order: where the walk began, bytes of each array it passed over */
    uint64_t chunk;           /* bytes of each array between two reads of the clock */
    double place;             /* part of the array that was walked, kept from one layout to the next */
    uint64_t moved, end_ticks; /* of the last window: bytes of each array */
    uint64_t add_ticks;        /* that WALKER_ADDS dependent adds took before it: as many core cycles */
    long switches;
    bool disturbed;            /* whether it was descheduled */
    char *kept;
    struct arena arena;        /* set if this thread mapped it */
} __attribute__((aligned(256))); /* no line is written by two threads */

/* Starts new work where the last one ended, so that the most recently used lines are reached last. */
void walker_begin(struct walker *walker, const struct work *work);

/* Loads a set that fits into a cache, and measures how much is processed in a moment. */
void walker_warm(struct walker *walker, const struct work *work);

/* One window from `start_ticks` to a common moment. */
void walker_window(struct walker *walker, const struct work *work, const struct timer *timer, uint64_t start_ticks);

/* Right before a window: counts context switches, and times dependent adds. */
void walker_ready(struct walker *walker);

/* Verifies and restores everything that was walked; ends the program with 4 if a value is wrong. */
void walker_check(struct walker *walker, const struct work *work);

#endif
