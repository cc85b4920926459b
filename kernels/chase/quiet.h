/* Repeats disturbed measurements of the near caches.
 *
 * A larger working set is never faster, and in a first- or second-level cache, all batches of a size take the same time. If a size
 * is slower than a larger one or than its own fastest batch, it was disturbed, usually by the other thread of the core, even if
 * half of its batches agree. The size is then measured again, and the new batches are added to the earlier ones, so that a
 * disturbance that ends is outweighed. No batch is discarded. Farther from the core, latency naturally depends on other programs,
 * so these sizes are not repeated. */
#ifndef CHASE_QUIET_H
#define CHASE_QUIET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chase/bench.h"
#include "chase/record.h"

/* Returns whether any batch had the latency of a near cache. */
bool quiet_is_near(const struct record *record);

/* Returns whether the size is slower than `ceiling_ns`, the latency of a larger size, or than its own fastest batch. */
bool quiet_is_disturbed(const struct record *record, double ceiling_ns);

/* Measures the size again and adds the batches to the record. Subtracts the time taken from `patience_ns`. */
void quiet_look_again(struct bench *bench, struct record *record, uint64_t *patience_ns);

/* Measures the disturbed sizes among `count` near sizes, which are in ascending order, again until none is left or `patience_ns`
 * is used up. */
void quiet_settle(struct bench *bench, struct record *const *records, size_t count, uint64_t *patience_ns);

#endif
