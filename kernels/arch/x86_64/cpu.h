/* What differs between processors: x86-64. The same names stand in arch/aarch64/cpu.h. */
#ifndef CPU_H
#define CPU_H

#include <cpuid.h>
#include <stdint.h>

#define CPU_ARCH "x86_64"

/* The time stamp counter. The fences keep loads and adds before it and after it on their side (Intel SDM vol. 2, RDTSC). */
static inline uint64_t cpu_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* The same counter without the fences: for a loop that must not wait for its loads, and where some hundred cycles do not matter. */
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

/* Nothing after it starts before all before it is done. */
static inline void cpu_serialise(void)
{
    __asm__ volatile("lfence" : : : "memory");
}

#define CPU_ADDS_PER_TURN 64

/* `turns` times 64 adds, each waiting for the one before: 64 * turns core cycles. Registers on both sides: Golden Cove and
 * later execute `add r, imm` at rename, five in one cycle. The count of turns is another chain and runs beside this one. */
static inline uint64_t cpu_dependent_adds(uint64_t turns)
{
    uint64_t sum = turns, one = 1;
    for (; turns > 0; turns--)
        __asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one) : "cc");
    return sum;
}

/* Bytes of a cache line (the unit of clflush, CPUID leaf 1). */
static inline uint64_t cpu_line_bytes(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (b >> 8 & 0xff) != 0)
        return (uint64_t)(b >> 8 & 0xff) * 8;
    return 64;
}

#endif
