/* The vector registers that the processor and the system support, and the operations of a loop on a unit of memory: aarch64.
 * arch/x86_64/vector.h defines the same names and describes them. The instruction sets are NEON and SVE.
 *
 * A unit of NEON is a line of 64 bytes. A unit of SVE is one register, so that the same code works with every vector length.
 * SVE_BEGIN makes p0 cover the whole register; a loop that accesses only part of each unit sets p0 after SVE_BEGIN. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdint.h>
#include <sys/auxv.h>

#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif
#define VECTOR_UNIT_BYTES(isa) ((isa) == VECTOR_SVE ? vector_bytes(VECTOR_SVE) : 64u)
#define VECTOR_UNITS 8
#define VECTOR_AHEAD 4096
#define VECTOR_EACH(X) X(NEON) X(SVE)
#define VECTOR_CLOBBERS                                                                                                     \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",    \
        "v18", "v19", "x16", "cc", "memory"

enum vector_isa { VECTOR_NEON, VECTOR_SVE, VECTOR_ISAS };

static inline const char *vector_name(enum vector_isa isa)
{
    return isa == VECTOR_SVE ? "sve" : "neon";
}

/* The value of --width that selects the instruction set. */
static inline const char *vector_word(enum vector_isa isa)
{
    return isa == VECTOR_SVE ? "sve" : "16";
}

/* The size of a register in bytes, or 0 if the processor or the system does not support it (Linux, elf_hwcaps; Arm ARM, RDVL). */
static inline unsigned vector_bytes(enum vector_isa isa)
{
    uint64_t bytes;
    if (isa == VECTOR_NEON)
        return 16;
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
        return 0;
    __asm__(".arch_extension sve\n\trdvl %0, #1\n\t.arch_extension nosve" : "=r"(bytes));
    return (unsigned)bytes;
}

/* Waits until all earlier stores have completed, including those that bypass the caches. */
static inline void vector_fence(void)
{
    __asm__ volatile("dsb st" : : : "memory");
}

#define VECTOR_MOVE(p) "add %[" p "], %[" p "], %[step]\n\t"
#define VECTOR_AGAIN "subs %[n], %[n], #1\n\tb.ne 1b\n\t"
/* After all iterations of a pass, returns to the start and repeats until all passes are complete. */
#define VECTOR_BACK(p) "sub %[" p "], %[" p "], %[bytes]\n\t"
#define VECTOR_PASS "mov %[n], %[turns]\n\tsubs %[passes], %[passes], #1\n\tb.ne 1b\n\t"

#define NEON_PAIR(mnemonic, p, k, offset, r, s) mnemonic " q" r ", q" s ", [%[" p "], #(" k "*64+" offset ")]\n\t"
#define NEON_PAIRS(mnemonic, p, k) NEON_PAIR(mnemonic, p, k, "0", "0", "1") NEON_PAIR(mnemonic, p, k, "32", "2", "3")
#define NEON_SAME(mnemonic, p, k) NEON_PAIR(mnemonic, p, k, "0", "19", "19") NEON_PAIR(mnemonic, p, k, "32", "19", "19")
#define NEON_SECOND(p, k) NEON_PAIR("ldp", p, k, "0", "4", "5") NEON_PAIR("ldp", p, k, "32", "6", "7")

#define NEON_BEGIN "ld1r {v19.2d}, [%[constant]]\n\t"
#define NEON_END ""
#define NEON_PART ""
#define NEON_LOAD(p, k) NEON_PAIRS("ldp", p, k)
#define NEON_STORE(p, k) NEON_PAIRS("stp", p, k)
#define NEON_STREAM(p, k) NEON_PAIRS("stnp", p, k)
#define NEON_SET(p, k) NEON_SAME("stp", p, k)
#define NEON_STREAM_SET(p, k) NEON_SAME("stnp", p, k)
#define NEON_ADD(p, k)                                                                                   \
    NEON_SECOND(p, k) "fadd v0.2d, v0.2d, v4.2d\n\tfadd v1.2d, v1.2d, v5.2d\n\tfadd v2.2d, v2.2d, v6.2d\n\t" \
                      "fadd v3.2d, v3.2d, v7.2d\n\t"
#define NEON_FMA(p, k)                                                                                            \
    NEON_SECOND(p, k) "fmla v0.2d, v4.2d, v19.2d\n\tfmla v1.2d, v5.2d, v19.2d\n\tfmla v2.2d, v6.2d, v19.2d\n\t" \
                      "fmla v3.2d, v7.2d, v19.2d\n\t"
#define NEON_MULTIPLY                                                                                      \
    "fmul v0.2d, v0.2d, v19.2d\n\tfmul v1.2d, v1.2d, v19.2d\n\tfmul v2.2d, v2.2d, v19.2d\n\t"           \
    "fmul v3.2d, v3.2d, v19.2d\n\t"
#define NEON_ACCUMULATE(k, r) "eor v1" k ".16b, v1" k ".16b, v" r ".16b\n\t" /* accumulators are v10 .. v17 */
#define NEON_XOR(p, k)                                                                              \
    NEON_LOAD(p, k) NEON_ACCUMULATE(k, "0") NEON_ACCUMULATE(k, "1") NEON_ACCUMULATE(k, "2") NEON_ACCUMULATE(k, "3")
#define NEON_CLEAR(k) "movi v1" k ".2d, #0\n\t"
#define NEON_KEEP(p, k) "str q1" k ", [%[" p "], #(" k "*64)]\n\t"
#define NEON_PREFETCH(p, k) "prfm pldl1keep, [%[" p "], #(4096+" k "*64)]\n\t"

#define SVE_AT(p, k) "[%[" p "], #" k ", mul vl]\n\t"
#define SVE_BEGIN ".arch_extension sve\n\tptrue p0.d\n\tld1rd {z19.d}, p0/z, [%[constant]]\n\t"
#define SVE_PART "whilelo p0.d, xzr, %[doubles]\n\t"
#define SVE_END ".arch_extension nosve\n\t"
#define SVE_LOAD(p, k) "ld1d {z0.d}, p0/z, " SVE_AT(p, k)
#define SVE_STORE(p, k) "st1d {z0.d}, p0, " SVE_AT(p, k)
#define SVE_STREAM(p, k) "stnt1d {z0.d}, p0, " SVE_AT(p, k)
#define SVE_SET(p, k) "st1d {z19.d}, p0, " SVE_AT(p, k)
#define SVE_STREAM_SET(p, k) "stnt1d {z19.d}, p0, " SVE_AT(p, k)
#define SVE_SECOND(p, k) "ld1d {z1.d}, p0/z, " SVE_AT(p, k)
#define SVE_ADD(p, k) SVE_SECOND(p, k) "fadd z0.d, z0.d, z1.d\n\t"
#define SVE_FMA(p, k) SVE_SECOND(p, k) "fmla z0.d, p0/m, z1.d, z19.d\n\t"
#define SVE_MULTIPLY "fmul z0.d, z0.d, z19.d\n\t"
#define SVE_XOR(p, k) SVE_LOAD(p, k) "eor z1" k ".d, z1" k ".d, z0.d\n\t"
#define SVE_CLEAR(k) "dup z1" k ".d, #0\n\t"
#define SVE_KEEP(p, k) "st1d {z1" k ".d}, p0, " SVE_AT(p, k)
#define SVE_PREFETCH(p, k) "add x16, %[" p "], #1, lsl #12\n\tprfd pldl1keep, p0, [x16, #" k ", mul vl]\n\t"

#endif
