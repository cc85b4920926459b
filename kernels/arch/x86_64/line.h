/* Single cache lines: x86-64. The same names stand in arch/aarch64/line.h. */
#ifndef LINE_H
#define LINE_H

/* Writes a line back and takes it out of every cache of every CPU (Intel SDM vol. 2, CLFLUSH). */
static inline void line_flush(void *address)
{
    __asm__ volatile("clflush %0" : "+m"(*(volatile char *)address));
}

/* All flushes before it are done. */
static inline void line_flush_wait(void)
{
    __asm__ volatile("mfence" : : : "memory");
}

/* What a compare-and-swap is made of. */
static inline const char *line_swap_name(void)
{
    return "cmpxchg";
}

#endif
