/* All rounds of the schedule, and the check whether pairs of a round disturb one another. */
#ifndef PINGPONG_ROUNDS_H
#define PINGPONG_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "kit/noise.h"
#include "pingpong/crew.h"
#include "pingpong/schedule.h"

/* Memory for pairs, one slot after the other. Each pair takes the next one, so that lines come back to another pair as late as
 * they can, and then flushed from all caches. */
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
    struct noise *noise; /* is told the core clocks */
    size_t samples;
};

/* How many pairs can be measured alone, of those asked for: one of each round that has others beside it. */
size_t rounds_checkable(const struct schedule *schedule, size_t asked);

/* Plays all rounds and prints their samples. */
void rounds_play(struct rounds *rounds);

/* Plays `count` pairs, spread over the rounds, again and alone; no more than are checkable. */
void rounds_check(struct rounds *rounds, size_t count);

#endif
