/* What differs between processors: aarch64. The same names stand in arch/x86_64/cpu.h. */
#ifndef CPU_H
#define CPU_H

#include <stdint.h>

#define CPU_ARCH "aarch64"

/* The generic timer. Without the barriers it may be read out of order (Arm ARM, CNTVCT_EL0). */
static inline uint64_t cpu_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}

/* The same counter without the barriers: for a loop that must not wait for its loads, and where some hundred cycles do not matter. */
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

/* Nothing after it starts before all before it is done. */
static inline void cpu_serialise(void)
{
    __asm__ volatile("dsb sy\n\tisb" : : : "memory");
}

#define CPU_ADDS_PER_TURN 64

/* `turns` times 64 adds, each waiting for the one before: 64 * turns core cycles. Registers on both sides, since an add of an
 * immediate may be folded. The count of turns is another chain and runs beside this one. */
static inline uint64_t cpu_dependent_adds(uint64_t turns)
{
    uint64_t sum = turns, one = 1;
    for (; turns > 0; turns--)
        __asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one));
    return sum;
}

/* Bytes of the smallest data cache line (CTR_EL0.DminLine is log2 of words). */
static inline uint64_t cpu_line_bytes(void)
{
    uint64_t type;
    __asm__("mrs %0, ctr_el0" : "=r"(type));
    return (uint64_t)4 << (type >> 16 & 0xf);
}

#endif
