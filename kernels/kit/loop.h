/* The timed loops: dependent loads, dependent adds. Each is a separate function, so that its machine code can be inspected by
 * name; `weak` prevents compilers from specializing it for constant arguments, and allows several files to include it. */
#ifndef KIT_LOOP_H
#define KIT_LOOP_H

#include <stdint.h>

#include "cpu.h"
#include "kit/timer.h"

/* One line of the working set. `mark` is used by the self-check only and zero otherwise. */
struct node {
    struct node *next;
    uint64_t mark;
};

#define LOOP_LOADS_PER_TURN 64
#define LOOP_ADDS 16384 /* 4 to 8 us; the number of adds is always a multiple of this */

#define LOOP_PROBE_TICKS 800         /* minimum duration of the adds: the fastest of a few is up to one tick (1/8 %) short */
#define LOOP_PROBE_SHORTEST_NS 4000  /* duration of LOOP_ADDS at 4 GHz */
#define LOOP_PROBE_TIMES_MAX 8       /* as many as a counter of 25 MHz requires; a slower counter remains coarse */

#define LOOP_LOAD node = node->next;
#define LOOP_LOAD_8 LOOP_LOAD LOOP_LOAD LOOP_LOAD LOOP_LOAD LOOP_LOAD LOOP_LOAD LOOP_LOAD LOOP_LOAD

_Static_assert(LOOP_ADDS % CPU_ADDS_PER_TURN == 0, "whole turns of adds");

/* Makes `turns` times 64 loads, each from the address that the previous one loaded. Returns the current line. Counting turns
 * takes no additional time beside a chain of 64 loads of 4 cycles or more. */
__attribute__((noinline, weak)) struct node *loop_loads(struct node *node, uint64_t turns)
{
    do {
        LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8 LOOP_LOAD_8
    } while (--turns > 0);
    return node;
}

/* Makes `adds` dependent adds, a multiple of LOOP_ADDS, which take as many core cycles. Returns the sum so that the compiler
 * keeps them. */
__attribute__((noinline, weak)) uint64_t loop_adds(uint64_t adds)
{
    return cpu_dependent_adds(adds / CPU_ADDS_PER_TURN);
}

/* The number of dependent adds that the counter can time precisely enough. A coarse counter requires more adds. */
static inline uint64_t loop_probe_adds(const struct timer *timer)
{
    uint64_t times = (uint64_t)(timer->ns_per_tick * LOOP_PROBE_TICKS / LOOP_PROBE_SHORTEST_NS) + 1;
    return LOOP_ADDS * (times < LOOP_PROBE_TIMES_MAX ? times : LOOP_PROBE_TIMES_MAX);
}

#endif
