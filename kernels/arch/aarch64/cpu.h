/* Code that depends on the processor: aarch64. arch/x86_64/cpu.h defines the same names. */
#ifndef CPU_H
#define CPU_H

#include <stdint.h>

#define CPU_ARCH "aarch64"

/* Reads the generic timer. Without the barriers, the processor may read it out of order (Arm ARM, CNTVCT_EL0). */
static inline uint64_t cpu_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}

/* Reads the same counter without the barriers, for loops that must not wait for their loads and where a few hundred cycles do not
 * matter. */
static inline uint64_t cpu_ticks_loose(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* For the body of a polling loop. */
static inline void cpu_relax(void)
{
    __asm__ volatile("yield" : : : "memory");
}

/* Ensures that no later instruction starts before all earlier ones have completed. */
static inline void cpu_serialise(void)
{
    __asm__ volatile("dsb sy\n\tisb" : : : "memory");
}

#define CPU_ADDS_PER_TURN 64

/* Executes `turns` times 64 adds. Each waits for the previous one, so they take 64 * turns core cycles. Both operands are
 * registers, because the processor may fold adds of an immediate. The loop counter is a separate chain that runs in parallel. */
static inline uint64_t cpu_dependent_adds(uint64_t turns)
{
    uint64_t sum = turns, one = 1;
    for (; turns > 0; turns--)
        __asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one));
    return sum;
}

/* The size of the smallest data cache line in bytes (CTR_EL0.DminLine is the log2 of its number of words). */
static inline uint64_t cpu_line_bytes(void)
{
    uint64_t type;
    __asm__("mrs %0, ctr_el0" : "=r"(type));
    return (uint64_t)4 << (type >> 16 & 0xf);
}

#endif
