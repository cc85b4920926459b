/* Single cache lines: aarch64. The same names stand in arch/x86_64/line.h. */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>

/* Writes a line back and takes it out of every cache of every CPU (Arm ARM, DC CIVAC; Linux lets programs use it). */
static inline void line_flush(void *address)
{
    __asm__ volatile("dc civac, %0" : : "r"(address) : "memory");
}

/* All flushes before it are done. */
static inline void line_flush_wait(void)
{
    __asm__ volatile("dsb sy" : : : "memory");
}

/* Set by the functions that GCC 10, Clang 12 and later call for an atomic operation, which choose at run time; not there if the
 * compiler puts the instructions in line. */
extern bool __aarch64_have_lse_atomics __attribute__((weak));

/* What a compare-and-swap is made of: one instruction, or a pair of exclusive load and store. */
static inline const char *line_swap_name(void)
{
#ifdef __ARM_FEATURE_ATOMICS
    return "lse";
#else
    return &__aarch64_have_lse_atomics && __aarch64_have_lse_atomics ? "lse" : "exclusive";
#endif
}

#endif
