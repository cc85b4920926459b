/* The loops with which a load thread accesses its memory. For each traffic pattern and instruction set, one loop makes steps, each
 * followed by NOPs, and another makes long iterations without NOPs. They are in a separate file so that their machine code can be
 * inspected. */
#ifndef LOAD_LOOPS_H
#define LOAD_LOOPS_H

#include <stdint.h>

#include "kit/traffic.h"
#include "vector.h"

/* A step accesses `units` units of each array, `part` bytes of each unit, and then executes `rounds` times NOPS_ROUND NOPs and
 * `rest` more. Only instruction sets with vectors of variable length can access less than a whole unit. */
struct step {
    uint64_t units, part, rounds, rest;
};

/* Makes `steps` steps (at least one) from a, b and c, which point into the arrays of the traffic pattern: the loaded arrays first,
 * then the stored one. Pointers that the pattern does not use are ignored. */
typedef void loop_steps(char *a, char *b, char *c, uint64_t steps, const struct step *step);

/* Makes `turns` (at least one) iterations of VECTOR_UNITS units of `bytes` each. */
typedef void loop_turns(char *a, char *b, char *c, uint64_t turns, uint64_t bytes);

struct loops {
    loop_steps *steps;
    loop_turns *turns;
};

struct loops loops_of(const struct traffic *traffic, enum vector_isa isa);

#endif
