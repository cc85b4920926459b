/* Further looks at the near caches.
 *
 * More lines are not faster, and in a first- or second-level cache all batches of a size take the same time. A size that is slower
 * than a larger one, or than its own fastest batch, was disturbed, mostly by the other thread of the core, even if half of its
 * batches agree. Its batches are joined by those of further looks, so that a disturbance that ends is outweighed; none is thrown
 * away. Farther out latency depends on others by nature, and stays as it is. */
#ifndef CHASE_QUIET_H
#define CHASE_QUIET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chase/bench.h"
#include "chase/record.h"

/* Whether any batch had the latency of a near cache. */
bool quiet_is_near(const struct record *record);

/* Whether the size is slower than `ceiling_ns`, the latency of a larger one, or than its fastest batch. */
bool quiet_is_disturbed(const struct record *record, double ceiling_ns);

/* Measures again and adds the batches; subtracts the time from `patience_ns`. */
void quiet_look_again(struct bench *bench, struct record *record, uint64_t *patience_ns);

/* Repeats the disturbed ones of `count` near sizes, in ascending order, until none is left or the patience is used up. */
void quiet_settle(struct bench *bench, struct record *records, size_t count, uint64_t *patience_ns);

#endif
