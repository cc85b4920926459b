/* What a load thread does to its memory: for each traffic and each set of instructions a loop of steps with NOPs behind each, and
 * one of long turns without. Kept apart from all else so that what the compiler made of them can be looked at. */
#ifndef LOAD_LOOPS_H
#define LOAD_LOOPS_H

#include <stdint.h>

#include "kit/traffic.h"
#include "vector.h"

/* A step: `units` of `part` bytes of each array, then `rounds` times NOPS_ROUND NOPs and `rest` more. Only sets of instructions with
 * vectors of variable length take a part of other than the whole unit. */
struct step {
    uint64_t units, part, rounds, rest;
};

/* Makes `steps` (at least one) steps from a, b and c, which point into the arrays of the traffic: loaded ones first, the stored
 * one last; others are not accessed. */
typedef void loop_steps(char *a, char *b, char *c, uint64_t steps, const struct step *step);

/* Makes `turns` (at least one) iterations of VECTOR_UNITS units of `bytes` each. */
typedef void loop_turns(char *a, char *b, char *c, uint64_t turns, uint64_t bytes);

struct loops {
    loop_steps *steps;
    loop_turns *turns;
};

struct loops loops_of(const struct traffic *traffic, enum vector_isa isa);

#endif
