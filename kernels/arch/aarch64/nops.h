/* Runs of NOP instructions: aarch64. arch/x86_64/nops.h defines the same names and describes them.
 *
 * The NOPs are entered through a landing pad: if the system checks branches, a computed branch to any other instruction causes a
 * fault (Arm ARM, Branch Target Identification). `hint #36` is `bti j`, which has no effect on cores without this feature. */
#ifndef NOPS_H
#define NOPS_H

#include <stdint.h>

#define NOPS_ROUND 64

#define NOPS_PREPARE "adr %[left], 83f\n\tadd %[entry], %[left], %[entry], lsl #3\n\t"
#define NOPS_RUN                                                                                               \
    "mov %[left], %[rounds]\n\t"                                                                               \
    "br %[entry]\n"                                                                                            \
    "83:\t.irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"      \
    "32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63\n\t"     \
    "hint #36\n\tb 82f - 4 * \\k\n\t.endr\n"                                                                 \
    "81:\t.rept 64\n\tnop\n\t.endr\n"                                                                        \
    "82:\tsubs %[left], %[left], #1\n\t"                                                                      \
    "b.pl 81b\n\t"

#define NOPS_STEP "2:\tmov %[n], %[units]\n"
#define NOPS_STEP_AGAIN "subs %[steps], %[steps], #1\n\tb.ne 2b\n\t"

#endif
