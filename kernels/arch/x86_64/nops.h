/* A number of NOP instructions: x86-64. The same names stand in arch/aarch64/nops.h.
 *
 * Texts for an asm statement with the registers [entry], [rounds] and [left]. NOPS_PREPARE makes of a rest in [entry] (0 to 63) the
 * place where the sled is entered for it; NOPS_RUN then runs that rest and [rounds] times 64 NOPs, as often as it is come by. What
 * runs around them, a few instructions and two a round, does not depend on the rest. */
#ifndef NOPS_H
#define NOPS_H

#include <stdint.h>

#define NOPS_ROUND 64

#define NOPS_PREPARE "negq %[entry]\n\tleaq 82f(%%rip), %[left]\n\taddq %[left], %[entry]\n\t"
#define NOPS_RUN                              \
    "movq %[rounds], %[left]\n\t"             \
    "jmp *%[entry]\n\t"                       \
    ".p2align 6\n"                            \
    "81:\t.rept 64\n\tnop\n\t.endr\n"         \
    "82:\tsubq $1, %[left]\n\t"              \
    "jns 81b\n\t"

/* A loop of [steps] steps around a loop of [n] turns, [units] in each step. */
#define NOPS_STEP "2:\tmovq %[units], %[n]\n"
#define NOPS_STEP_AGAIN "decq %[steps]\n\tjnz 2b\n\t"

#endif
