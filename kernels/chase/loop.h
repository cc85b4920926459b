/* The timed loops. Kept apart from all else so that what the compiler made of them can be looked at by name. */
#ifndef CHASE_LOOP_H
#define CHASE_LOOP_H

#include <stdint.h>

/* One line of the working set. `mark` is used by the self-check only and zero otherwise. */
struct node {
    struct node *next;
    uint64_t mark;
};

#define LOOP_LOADS_PER_TURN 64
#define LOOP_ADDS 16384 /* 4 to 8 us; always a multiple of this many */

/* `turns` times 64 loads, each from the address that the one before fetched. Returns where the walk stands. */
struct node *loop_loads(struct node *node, uint64_t turns);

/* `adds` dependent adds, a multiple of LOOP_ADDS: as many core cycles. The sum is returned so that it is needed. */
uint64_t loop_adds(uint64_t adds);

#endif
