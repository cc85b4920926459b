#include "chase/loop.h"

#include "cpu.h"

#define LOAD node = node->next;
#define LOAD_8 LOAD LOAD LOAD LOAD LOAD LOAD LOAD LOAD

_Static_assert(LOOP_ADDS % CPU_ADDS_PER_TURN == 0, "whole turns of adds");

/* The count of turns runs in the shadow of the loads: it adds nothing to a chain of 64 loads of 4 cycles or more. */
__attribute__((noinline)) struct node *loop_loads(struct node *node, uint64_t turns)
{
    do {
        LOAD_8 LOAD_8 LOAD_8 LOAD_8 LOAD_8 LOAD_8 LOAD_8 LOAD_8
    } while (--turns > 0);
    return node;
}

__attribute__((noinline)) uint64_t loop_adds(uint64_t adds)
{
    return cpu_dependent_adds(adds / CPU_ADDS_PER_TURN);
}
