/* Runs of NOP instructions: x86-64. arch/aarch64/nops.h defines the same names.
 *
 * Text for an asm statement with the registers [entry], [rounds] and [left]. NOPS_PREPARE replaces the remainder in [entry] (0 to
 * 63) with the address at which that number of NOPs is left to run. Each NOPS_RUN then executes the remainder and [rounds] times 64
 * NOPs. The overhead, a few instructions and two per round, does not depend on the remainder. */
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

/* A loop of [steps] steps around a loop with the counter [n], which runs [units] iterations in each step. */
#define NOPS_STEP "2:\tmovq %[units], %[n]\n"
#define NOPS_STEP_AGAIN "decq %[steps]\n\tjnz 2b\n\t"

#endif
