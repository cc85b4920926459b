/* All rounds of the schedule, and the check whether pairs of a round disturb one another. */
#ifndef PINGPONG_ROUNDS_H
#define PINGPONG_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "kit/noise.h"
#include "pingpong/crew.h"
#include "pingpong/schedule.h"

/* Memory for pairs. Each pair takes the next slot, so that another pair reuses lines as late as possible, flushed from all
 * caches. */
struct slots {
    char *start;
    size_t count;
    uint64_t taken;
};

struct rounds {
    const struct schedule *schedule;
    const struct rules *rules;
    struct crew *crew;
    struct slots slots;
    const int64_t *cpus;
    int64_t node;
    uint64_t seed;
    struct noise *noise; /* receives the core clocks */
    size_t samples;
};

/* The number of requested pairs that can be measured alone: one of each round with several pairs. */
size_t rounds_checkable(const struct schedule *schedule, size_t requested);

/* Measures all rounds and prints their samples. */
void rounds_play(struct rounds *rounds);

/* Measures `count` pairs, spread over the rounds, again, each pair alone. `count` must not exceed the result of
 * rounds_checkable. */
void rounds_check(struct rounds *rounds, size_t count);

#endif
