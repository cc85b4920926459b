/* Code that depends on the processor: x86-64. arch/aarch64/cpu.h defines the same names. */
#ifndef CPU_H
#define CPU_H

#include <cpuid.h>
#include <stdint.h>

#define CPU_ARCH "x86_64"

/* Reads the time stamp counter. The fences prevent loads and adds from moving across it (Intel SDM vol. 2, RDTSC). */
static inline uint64_t cpu_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* Reads the same counter without the fences, for loops that must not wait for their loads and where a few hundred cycles do not
 * matter. */
static inline uint64_t cpu_ticks_loose(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* For the body of a polling loop. */
static inline void cpu_relax(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* Ensures that no later instruction starts before all earlier ones have completed. */
static inline void cpu_serialise(void)
{
    __asm__ volatile("lfence" : : : "memory");
}

#define CPU_ADDS_PER_TURN 64

/* Executes `turns` times 64 adds. Each waits for the previous one, so they take 64 * turns core cycles. Both operands are
 * registers, because Golden Cove and later cores execute `add r, imm` at rename, five per cycle. The loop counter is a separate
 * chain that runs in parallel. */
static inline uint64_t cpu_dependent_adds(uint64_t turns)
{
    uint64_t sum = turns, one = 1;
    for (; turns > 0; turns--)
        __asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one) : "cc");
    return sum;
}

/* The size of a cache line in bytes (the unit of clflush, CPUID leaf 1). */
static inline uint64_t cpu_line_bytes(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (b >> 8 & 0xff) != 0)
        return (uint64_t)(b >> 8 & 0xff) * 8;
    return 64;
}

#endif
