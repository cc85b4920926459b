/* The loops that load and store memory, in a separate file so that their machine code can be inspected by name. */
#ifndef STREAM_LOOPS_H
#define STREAM_LOOPS_H

#include <stdint.h>

#include "kit/traffic.h"
#include "vector.h"

#define LOOPS_KEPT_BYTES (8 * 256) /* accumulators of the longest possible registers */
#define LOOPS_VARIANTS_MAX 4

/* The range of a loop: `bytes` of each array, a multiple of the grain. Arrays that a traffic pattern does not have are not
 * accessed. */
struct stretch {
    char *first, *second; /* loaded */
    char *stored;
    uint64_t bytes;
    char *kept; /* LOOPS_KEPT_BYTES for the accumulators of a loop that combines the loaded values; aligned to 256 */
};

struct loop {
    const char *variant;
    void (*run)(const struct stretch *, uint64_t passes);
    bool folds;     /* stores the exclusive or of all values of a pass in `kept` */
    bool ownership; /* whether a normal store is assumed to read its line first; rep movs and rep stos may not */
};

struct loops {
    unsigned count;
    struct loop variants[LOOPS_VARIANTS_MAX]; /* the plain one first */
};

/* All loops for a traffic pattern with an instruction set on arrays of `array_bytes`. */
struct loops loops_of(const struct traffic *traffic, enum vector_isa isa, uint64_t array_bytes);

/* Bytes of an array that a loop processes in one iteration. */
uint64_t loops_grain(enum vector_isa isa);

#endif
