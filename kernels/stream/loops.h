/* The loops that move memory. Kept apart from all else so that what the assembler made of them can be looked at by name. */
#ifndef STREAM_LOOPS_H
#define STREAM_LOOPS_H

#include <stdint.h>

#include "kit/traffic.h"
#include "vector.h"

#define LOOPS_KEPT_BYTES (8 * 256) /* accumulators of the longest registers there are */
#define LOOPS_VARIANTS_MAX 4

/* Where a loop works: `bytes` of each array, a whole number of grains. Arrays that a traffic has not are never touched. */
struct stretch {
    char *first, *second; /* loaded */
    char *stored;
    uint64_t bytes;
    char *kept; /* LOOPS_KEPT_BYTES, for the accumulators of a loop that folds what it reads; aligned to 256 */
};

struct loop {
    const char *variant;
    void (*run)(const struct stretch *, uint64_t passes);
    bool folds;     /* leaves the exclusive or of all that a pass read in `kept` */
    bool ownership; /* whether a normal store is taken to read its line first; rep movs and rep stos may not */
};

struct loops {
    unsigned count;
    struct loop variants[LOOPS_VARIANTS_MAX]; /* the plain one first */
};

/* All ways to do a traffic with a set of instructions on arrays of `array_bytes`. */
struct loops loops_of(const struct traffic *traffic, enum vector_isa isa, uint64_t array_bytes);

/* Bytes of an array that a loop handles in a turn. */
uint64_t loops_grain(enum vector_isa isa);

#endif
