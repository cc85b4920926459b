/* Operations on single cache lines: aarch64. arch/x86_64/line.h defines the same names. */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>

/* Writes a line back and removes it from all caches of all CPUs (Arm ARM, DC CIVAC; Linux allows programs to use it). */
static inline void line_flush(void *address)
{
    __asm__ volatile("dc civac, %0" : : "r"(address) : "memory");
}

/* Waits until all earlier flushes have completed. */
static inline void line_flush_wait(void)
{
    __asm__ volatile("dsb sy" : : : "memory");
}

/* With GCC 10, Clang 12 and later, atomic operations are function calls that use this variable to choose the instructions at run
 * time. It does not exist if the compiler inlines the instructions. */
extern bool __aarch64_have_lse_atomics __attribute__((weak));

/* The instructions that perform a compare-and-swap: a single one, or an exclusive load and an exclusive store. */
static inline const char *line_swap_name(void)
{
#ifdef __ARM_FEATURE_ATOMICS
    return "lse";
#else
    return &__aarch64_have_lse_atomics && __aarch64_have_lse_atomics ? "lse" : "exclusive";
#endif
}

#endif
