/* A set of lines that one CPU writes and the other then walks, where each load waits for the previous one. For each walk, all lines
 * are written again and linked in a different order, so that no prefetcher can learn the order. Out of each sixteen neighboring
 * lines, only one is used, chosen at random. Therefore, fetching lines in pairs or streams has no benefit, and all sets of a cache
 * are used. */
#ifndef PINGPONG_RING_H
#define PINGPONG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link {
    struct link *next;
    uint64_t stamp; /* different for each line and walk */
};

/* The ring of all pairs; each call gets the location of the lines. */
struct ring {
    uint64_t lines;  /* a power of two */
    uint64_t stride; /* bytes of a cache line */
    uint64_t seed;
    uint32_t *places; /* offsets of all lines in random order */
};

/* A part of a walk. */
struct walk {
    const struct link *at;
    uint64_t sum; /* sum of the stamps */
};

/* Ends the program with 3 if there is no memory. */
struct ring ring_make(uint64_t lines, uint64_t stride, uint64_t seed);
void ring_free(struct ring *ring);

/* Bytes that the lines span. */
uint64_t ring_span(const struct ring *ring);

/* Flushes all lines from all caches. */
void ring_flush(const struct ring *ring, char *start);

/* Writes all lines for the `turn`-th walk. */
void ring_write(const struct ring *ring, char *start, uint64_t turn);

/* The start of the `turn`-th walk. */
struct walk ring_begin(const struct ring *ring, char *start, uint64_t turn);

/* The timed loop: `steps` dependent loads. */
struct walk ring_walk(struct walk walk, uint64_t steps);

/* Whether a walk over all lines found each of them as written for it. */
bool ring_is_whole(const struct ring *ring, char *start, uint64_t turn, struct walk walk);

#endif
