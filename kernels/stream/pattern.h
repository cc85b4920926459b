/* What memory holds, so that every loop can be held to account.
 *
 * At rest each thread's memory holds a pattern: doubles that are whole numbers in 2^42 .. 2^43, all different, so that sums and
 * products of a traffic are exact and none of them is the pattern of the place where it is stored. After a loop, what it passed
 * over is checked in full, loaded arrays too, and put back to the pattern. */
#ifndef STREAM_PATTERN_H
#define STREAM_PATTERN_H

#include <stdint.h>

#include "kit/traffic.h"

/* A range of each array that a traffic has: bytes from the start of the pattern. Multiples of 64, like `bytes`. */
struct range {
    uint64_t first, second, stored, bytes;
};

#define PATTERN_BLOCK 4096

void pattern_fill(char *start, uint64_t bytes, uint64_t seed);

/* Checks what `traffic` must have left in the range and puts the pattern back. -1 if all is right, otherwise a place within the
 * range: the first PATTERN_BLOCK bytes that hold something else begin there. */
int64_t pattern_settle(char *start, uint64_t seed, const struct traffic *traffic, struct range range);

/* Whether `bytes` at `at` hold the pattern still. */
bool pattern_holds(const char *start, uint64_t seed, uint64_t at, uint64_t bytes);

/* Exclusive or of the doubles of a range, as bits. */
uint64_t pattern_fold(uint64_t seed, uint64_t at, uint64_t bytes);

#endif
