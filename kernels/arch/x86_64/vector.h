/* The vector registers that the processor and the system support, and the operations of a loop on a line of memory: x86-64.
 * arch/aarch64/vector.h defines the same names.
 *
 * Each instruction set X (SSE2, AVX2, AVX512) defines the asm text X_BEGIN, X_LOAD(p, k) ..., X_END. The text is part of one asm
 * statement with VECTOR_CLOBBERS, the operand [constant] (a register that contains the address of a double) and the operands named
 * by `p`. `p` is a string: the name of an operand that contains an address, a multiple of 64. `k` is also a string: the number of a
 * unit (a line of 64 bytes) after that address, such as "3". Registers 0 to 4 are scratch registers, and register 15 contains the
 * constant. The accumulators are registers 0 to 7, so XOR cannot be combined with other operations.
 *
 *   LOAD       the line to registers                  STORE      from those registers
 *   ADD        the line is added to the registers     STREAM     from those registers, non-temporally
 *   MULTIPLY   the registers times the constant       SET        of the constant to the line
 *   FMA        the constant times the line is added   STREAM_SET the same, non-temporally
 *   XOR        the line to accumulator k (0 .. 7)     CLEAR, KEEP  accumulator k to zero; to line k behind p
 *   PREFETCH   of line k, VECTOR_AHEAD bytes farther
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <cpuid.h>
#include <stdint.h>

#define VECTOR_UNIT_BYTES(isa) ((void)(isa), 64u) /* of one unit, regardless of the register size */
#define VECTOR_UNITS 8             /* number of accumulators, and of the units that a loop usually processes per iteration */
#define VECTOR_AHEAD 2048
#define VECTOR_EACH(X) X(SSE2) X(AVX2) X(AVX512)
#define VECTOR_CLOBBERS                                                                                                          \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", \
        "xmm15", "cc", "memory"

enum vector_isa { VECTOR_SSE2, VECTOR_AVX2, VECTOR_AVX512, VECTOR_ISAS };

static inline const char *vector_name(enum vector_isa isa)
{
    static const char *const names[] = {"sse2", "avx2", "avx512"};
    return names[isa];
}

/* The value of --width that selects the instruction set. */
static inline const char *vector_word(enum vector_isa isa)
{
    static const char *const words[] = {"16", "32", "64"};
    return words[isa];
}

/* The parts of the processor's state that the system saves (XCR0), or 0 if it saves none. */
static inline uint64_t vector_saved_state(void)
{
    uint32_t a, b, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

/* The size of a register in bytes, or 0 if the processor or the system does not support it (Intel SDM vol. 1, 14.3 and 15.2: CPUID
 * and XCR0). */
static inline unsigned vector_bytes(enum vector_isa isa)
{
    uint32_t a, b = 0, c = 0, d, fma;
    uint64_t state = vector_saved_state(), ymm = 0x6, zmm = 0xe6;
    if (isa == VECTOR_SSE2)
        return 16;
    if (!__get_cpuid(1, &a, &b, &fma, &d) || !(fma & bit_FMA) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if (isa == VECTOR_AVX2)
        return (b & bit_AVX2) && (state & ymm) == ymm ? 32 : 0;
    return (b & bit_AVX512F) && (state & zmm) == zmm ? 64 : 0;
}

/* Waits until all earlier stores, including those that bypass the caches, have been sent to memory or to a cache. */
static inline void vector_fence(void)
{
    __asm__ volatile("sfence" : : : "memory");
}

/* A single register can address four lines that are a page apart, because displacements are large enough. */
#define VECTOR_PAGES

/* Stores and copies that a single instruction performs in steps chosen by the processor (Intel Optimization Reference Manual,
 * 3.7.6). */
#define VECTOR_STRING

static inline void vector_string_set(char *to, uint64_t bytes, double value)
{
    uint64_t count = bytes / sizeof value, bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(bits) : "memory");
}

static inline void vector_string_copy(char *to, const char *from, uint64_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

/* The text of a loop with [n] iterations, each of which advances the pointers by [step] bytes at its end. */
#define VECTOR_MOVE(p) "add %[step], %[" p "]\n\t"
#define VECTOR_AGAIN "dec %[n]\n\tjnz 1b\n\t"
/* After all iterations of a pass, returns to the start and repeats until all passes are complete. */
#define VECTOR_BACK(p) "sub %[bytes], %[" p "]\n\t"
#define VECTOR_PASS "mov %[turns], %[n]\n\tdec %[passes]\n\tjnz 1b\n\t"

#define VECTOR_AT(p, k, offset) k "*64+" offset "(%[" p "])"
#define VECTOR_4(F, p, k) F(p, k, "0", "xmm0") F(p, k, "16", "xmm1") F(p, k, "32", "xmm2") F(p, k, "48", "xmm3")
#define VECTOR_2(F, p, k) F(p, k, "0", "ymm0") F(p, k, "32", "ymm1")
#define VECTOR_1(F, p, k) F(p, k, "0", "zmm0")
#define VECTOR_PREFETCH(p, k) "prefetcht0 2048+" VECTOR_AT(p, k, "0") "\n\t"

#define SSE2_LOAD_1(p, k, o, r) "movdqa " VECTOR_AT(p, k, o) ", %%" r "\n\t"
#define SSE2_STORE_1(p, k, o, r) "movdqa %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define SSE2_STREAM_1(p, k, o, r) "movntdq %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define SSE2_SET_1(p, k, o, r) "movdqa %%xmm15, " VECTOR_AT(p, k, o) "\n\t"
#define SSE2_STREAM_SET_1(p, k, o, r) "movntdq %%xmm15, " VECTOR_AT(p, k, o) "\n\t"
#define SSE2_ADD_1(p, k, o, r) "addpd " VECTOR_AT(p, k, o) ", %%" r "\n\t"
#define SSE2_FMA_1(p, k, o, r) "movapd " VECTOR_AT(p, k, o) ", %%xmm4\n\tmulpd %%xmm15, %%xmm4\n\taddpd %%xmm4, %%" r "\n\t"
#define SSE2_XOR_1(p, k, o, r) "pxor " VECTOR_AT(p, k, o) ", %%xmm" k "\n\t"
#define SSE2_MULTIPLY_1(p, k, o, r) "mulpd %%xmm15, %%" r "\n\t"

#define SSE2_PART ""
#define SSE2_BEGIN "movsd (%[constant]), %%xmm15\n\tunpcklpd %%xmm15, %%xmm15\n\t"
#define SSE2_END ""
#define SSE2_LOAD(p, k) VECTOR_4(SSE2_LOAD_1, p, k)
#define SSE2_STORE(p, k) VECTOR_4(SSE2_STORE_1, p, k)
#define SSE2_STREAM(p, k) VECTOR_4(SSE2_STREAM_1, p, k)
#define SSE2_SET(p, k) VECTOR_4(SSE2_SET_1, p, k)
#define SSE2_STREAM_SET(p, k) VECTOR_4(SSE2_STREAM_SET_1, p, k)
#define SSE2_ADD(p, k) VECTOR_4(SSE2_ADD_1, p, k)
#define SSE2_FMA(p, k) VECTOR_4(SSE2_FMA_1, p, k)
#define SSE2_XOR(p, k) VECTOR_4(SSE2_XOR_1, p, k)
#define SSE2_MULTIPLY VECTOR_4(SSE2_MULTIPLY_1, "", "")
#define SSE2_CLEAR(k) "pxor %%xmm" k ", %%xmm" k "\n\t"
#define SSE2_KEEP(p, k) "movdqa %%xmm" k ", " VECTOR_AT(p, k, "0") "\n\t"
#define SSE2_PREFETCH(p, k) VECTOR_PREFETCH(p, k)

#define AVX2_LOAD_1(p, k, o, r) "vmovdqa " VECTOR_AT(p, k, o) ", %%" r "\n\t"
#define AVX2_STORE_1(p, k, o, r) "vmovdqa %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define AVX2_STREAM_1(p, k, o, r) "vmovntdq %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define AVX2_SET_1(p, k, o, r) "vmovdqa %%ymm15, " VECTOR_AT(p, k, o) "\n\t"
#define AVX2_STREAM_SET_1(p, k, o, r) "vmovntdq %%ymm15, " VECTOR_AT(p, k, o) "\n\t"
#define AVX2_ADD_1(p, k, o, r) "vaddpd " VECTOR_AT(p, k, o) ", %%" r ", %%" r "\n\t"
#define AVX2_FMA_1(p, k, o, r) "vfmadd231pd " VECTOR_AT(p, k, o) ", %%ymm15, %%" r "\n\t"
#define AVX2_XOR_1(p, k, o, r) "vpxor " VECTOR_AT(p, k, o) ", %%ymm" k ", %%ymm" k "\n\t"
#define AVX2_MULTIPLY_1(p, k, o, r) "vmulpd %%ymm15, %%" r ", %%" r "\n\t"

#define AVX2_PART ""
#define AVX2_BEGIN "vbroadcastsd (%[constant]), %%ymm15\n\t"
#define AVX2_END "vzeroupper\n\t"
#define AVX2_LOAD(p, k) VECTOR_2(AVX2_LOAD_1, p, k)
#define AVX2_STORE(p, k) VECTOR_2(AVX2_STORE_1, p, k)
#define AVX2_STREAM(p, k) VECTOR_2(AVX2_STREAM_1, p, k)
#define AVX2_SET(p, k) VECTOR_2(AVX2_SET_1, p, k)
#define AVX2_STREAM_SET(p, k) VECTOR_2(AVX2_STREAM_SET_1, p, k)
#define AVX2_ADD(p, k) VECTOR_2(AVX2_ADD_1, p, k)
#define AVX2_FMA(p, k) VECTOR_2(AVX2_FMA_1, p, k)
#define AVX2_XOR(p, k) VECTOR_2(AVX2_XOR_1, p, k)
#define AVX2_MULTIPLY VECTOR_2(AVX2_MULTIPLY_1, "", "")
#define AVX2_CLEAR(k) "vpxor %%ymm" k ", %%ymm" k ", %%ymm" k "\n\t"
#define AVX2_KEEP(p, k) "vmovdqa %%ymm" k ", " VECTOR_AT(p, k, "0") "\n\t"
#define AVX2_PREFETCH(p, k) VECTOR_PREFETCH(p, k)

#define AVX512_LOAD_1(p, k, o, r) "vmovdqa64 " VECTOR_AT(p, k, o) ", %%" r "\n\t"
#define AVX512_STORE_1(p, k, o, r) "vmovdqa64 %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define AVX512_STREAM_1(p, k, o, r) "vmovntdq %%" r ", " VECTOR_AT(p, k, o) "\n\t"
#define AVX512_SET_1(p, k, o, r) "vmovdqa64 %%zmm15, " VECTOR_AT(p, k, o) "\n\t"
#define AVX512_STREAM_SET_1(p, k, o, r) "vmovntdq %%zmm15, " VECTOR_AT(p, k, o) "\n\t"
#define AVX512_ADD_1(p, k, o, r) "vaddpd " VECTOR_AT(p, k, o) ", %%" r ", %%" r "\n\t"
#define AVX512_FMA_1(p, k, o, r) "vfmadd231pd " VECTOR_AT(p, k, o) ", %%zmm15, %%" r "\n\t"
#define AVX512_XOR_1(p, k, o, r) "vpxorq " VECTOR_AT(p, k, o) ", %%zmm" k ", %%zmm" k "\n\t"
#define AVX512_MULTIPLY_1(p, k, o, r) "vmulpd %%zmm15, %%" r ", %%" r "\n\t"

#define AVX512_PART ""
#define AVX512_BEGIN "vbroadcastsd (%[constant]), %%zmm15\n\t"
#define AVX512_END "vzeroupper\n\t"
#define AVX512_LOAD(p, k) VECTOR_1(AVX512_LOAD_1, p, k)
#define AVX512_STORE(p, k) VECTOR_1(AVX512_STORE_1, p, k)
#define AVX512_STREAM(p, k) VECTOR_1(AVX512_STREAM_1, p, k)
#define AVX512_SET(p, k) VECTOR_1(AVX512_SET_1, p, k)
#define AVX512_STREAM_SET(p, k) VECTOR_1(AVX512_STREAM_SET_1, p, k)
#define AVX512_ADD(p, k) VECTOR_1(AVX512_ADD_1, p, k)
#define AVX512_FMA(p, k) VECTOR_1(AVX512_FMA_1, p, k)
#define AVX512_XOR(p, k) VECTOR_1(AVX512_XOR_1, p, k)
#define AVX512_MULTIPLY VECTOR_1(AVX512_MULTIPLY_1, "", "")
#define AVX512_CLEAR(k) "vpxorq %%zmm" k ", %%zmm" k ", %%zmm" k "\n\t"
#define AVX512_KEEP(p, k) "vmovdqa64 %%zmm" k ", " VECTOR_AT(p, k, "0") "\n\t"
#define AVX512_PREFETCH(p, k) VECTOR_PREFETCH(p, k)

#endif
