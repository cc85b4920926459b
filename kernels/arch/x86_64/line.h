/* Operations on single cache lines: x86-64. arch/aarch64/line.h defines the same names. */
#ifndef LINE_H
#define LINE_H

/* Writes a line back and removes it from all caches of all CPUs (Intel SDM vol. 2, CLFLUSH). */
static inline void line_flush(void *address)
{
    __asm__ volatile("clflush %0" : "+m"(*(volatile char *)address));
}

/* Waits until all earlier flushes have completed. */
static inline void line_flush_wait(void)
{
    __asm__ volatile("mfence" : : : "memory");
}

/* The instructions that perform a compare-and-swap. */
static inline const char *line_swap_name(void)
{
    return "cmpxchg";
}

#endif
