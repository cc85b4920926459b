/* The content of the memory, by which every loop is verified. Between loops, each thread's memory contains a pattern of distinct
 * doubles, integers in 2^42 .. 2^43, so that sums and products are exact and differ from the pattern where they are stored.
 * After a loop, everything that it walked is verified, including loaded arrays, and the pattern is restored. */
#ifndef STREAM_PATTERN_H
#define STREAM_PATTERN_H

#include <stdint.h>

#include "kit/traffic.h"

/* A range of each array of a traffic pattern: offsets from the start of the pattern. Multiples of 64, like `bytes`. */
struct range {
    uint64_t first, second, stored, bytes;
};

#define PATTERN_BLOCK 4096

/* Writes the pattern to `bytes` at `at`, a multiple of 64. */
void pattern_fill(char *start, uint64_t seed, uint64_t at, uint64_t bytes);

/* Verifies the result of `traffic` in the range and restores the pattern. Returns -1, or the offset in the range of the first
 * PATTERN_BLOCK bytes with a wrong value. */
int64_t pattern_settle(char *start, uint64_t seed, const struct traffic *traffic, struct range range);

/* Whether `bytes` at `at` still contain the pattern. */
bool pattern_holds(const char *start, uint64_t seed, uint64_t at, uint64_t bytes);

/* Exclusive or of the doubles of a range, as bits. */
uint64_t pattern_fold(uint64_t seed, uint64_t at, uint64_t bytes);

#endif
