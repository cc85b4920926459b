/* The memory of the load threads: where it comes from, what it holds before, and what it must hold after. */
#ifndef LOAD_MEMORY_H
#define LOAD_MEMORY_H

#include <stdint.h>

#include "kit/team.h"
#include "load/walker.h"

/* Bytes of each array of a thread, when `bytes` are for all of them: whole pages. */
uint64_t memory_array_bytes(const struct crew_plan *plan);

/* To be called by every thread. The first of the threads that use a node maps memory for all of them, from its own CPU; then
 * each fills its own: a pattern of small whole numbers where the traffic loads, -1 where it stores. */
void memory_take(struct crew *crew, struct member *member);

/* How many doubles are not what the traffic must have left there: the loaded arrays as they were filled, the stored one computed
 * anew as far as the thread came, and untouched behind that. */
uint64_t memory_wrong(const struct walker *walker);

#endif
