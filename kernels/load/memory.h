/* The memory of the load threads: its allocation, initial content and verification. */
#ifndef LOAD_MEMORY_H
#define LOAD_MEMORY_H

#include <stdint.h>

#include "kit/team.h"
#include "load/walker.h"

/* Returns the size of each of a thread's arrays in bytes, a multiple of the page size. `bytes` is the total of all arrays. */
uint64_t memory_array_bytes(const struct crew_plan *plan);

/* Called by every thread. The first thread of a node maps memory for all threads of the node on its CPU; each thread populates and
 * fills its part: small integers in loaded arrays, -1 in the stored one. */
void memory_take(struct crew *crew, struct member *member);

/* Returns the number of doubles that differ from the expected result: the loaded arrays are unchanged, and the stored array
 * contains computed values up to the thread's position and is unchanged after it. */
uint64_t memory_wrong(const struct walker *walker);

#endif
