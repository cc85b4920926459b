#include "stream/loops.h"

#define FAR_BYTES (1 << 16)

static const double constant = TRAFFIC_FACTOR;

#define UNIT(X, body, k) TRAFFIC_##body(X, "first", "second", "stored", k)
/* READ that combines the loaded values instead of discarding them. */
#define TRAFFIC_FOLD(X, a, b, s, k) X##_XOR(a, k)

/* The prefetches, by the number of arrays that a body loads. */
#define AHEAD_0(X, k) ""
#define AHEAD_1(X, k) X##_PREFETCH("first", k)
#define AHEAD_2(X, k) X##_PREFETCH("first", k) X##_PREFETCH("second", k)

/* The pointers that advance, by the numbers of arrays that a body loads and stores. Advancing unused pointers would cost up to 3
 * % of the bandwidth of the first-level cache. */
#define MOVES_0_1 VECTOR_MOVE("stored")
#define MOVES_1_0 VECTOR_MOVE("first")
#define MOVES_1_1 VECTOR_MOVE("first") VECTOR_MOVE("stored")
#define MOVES_2_1 VECTOR_MOVE("first") VECTOR_MOVE("second") VECTOR_MOVE("stored")
#define BACKS_0_1 VECTOR_BACK("stored")
#define BACKS_1_0 VECTOR_BACK("first")
#define BACKS_1_1 VECTOR_BACK("first") VECTOR_BACK("stored")
#define BACKS_2_1 VECTOR_BACK("first") VECTOR_BACK("second") VECTOR_BACK("stored")
#define POINTERS [first] "+&r"(first), [second] "+&r"(second), [stored] "+&r"(stored), [n] "+&r"(n)
#define INPUTS [step] "r"(step), [constant] "r"(&constant), [kept] "r"(s->kept)

/* All passes are one asm statement: the compiler can neither remove nor split it, and a pass over a small set does not wait for
 * the preparation of registers, which cost 4 % of the bandwidth of the first-level cache. */
#define LOOP(name, X, moves, backs, before, units, after)                                                                   \
    __attribute__((noinline)) static void name(const struct stretch *s, uint64_t passes)                             \
    {                                                                                                                \
        char *first = s->first, *second = s->second, *stored = s->stored;                                            \
        uint64_t step = loops_grain(VECTOR_##X);                                                                     \
        uint64_t n = s->bytes / step;                                                                                \
        uint64_t turns = n, bytes = n * step;                                                                        \
        __asm__ volatile(X##_BEGIN before ".p2align 6\n1:\n\t" units moves VECTOR_AGAIN backs VECTOR_PASS after X##_END \
                         : POINTERS, [passes] "+&r"(passes)                                                          \
                         : INPUTS, [turns] "r"(turns), [bytes] "r"(bytes)                                            \
                         : VECTOR_CLOBBERS);                                                                         \
    }

/* F(X, argument, k) for each of the units 0 to 7. */
#define EACH_UNIT(F, X, argument)                                                                                           \
    F(X, argument, "0") F(X, argument, "1") F(X, argument, "2") F(X, argument, "3") F(X, argument, "4") F(X, argument, "5") \
    F(X, argument, "6") F(X, argument, "7")
#define PREFETCHED_0(X, body, k) AHEAD_0(X, k) UNIT(X, body, k)
#define PREFETCHED_1(X, body, k) AHEAD_1(X, k) UNIT(X, body, k)
#define PREFETCHED_2(X, body, k) AHEAD_2(X, k) UNIT(X, body, k)
#define CLEAR_OF(X, unused, k) X##_CLEAR(k)
#define KEEP_OF(X, unused, k) X##_KEEP("kept", k)

#define LOOPS_OF_BODY(X, body, loads, stores)                                                                          \
    LOOP(stream_##X##_##body, X, MOVES_##loads##_##stores, BACKS_##loads##_##stores, "", EACH_UNIT(UNIT, X, body), "") \
    LOOP(stream_##X##_##body##_prefetch, X, MOVES_##loads##_##stores, BACKS_##loads##_##stores, "",                    \
         EACH_UNIT(PREFETCHED_##loads, X, body), "")
#define LOOPS_OF_ISA(X)              \
    TRAFFIC_BODIES(LOOPS_OF_BODY, X) \
    LOOP(stream_##X##_FOLD, X, MOVES_1_0, BACKS_1_0, EACH_UNIT(CLEAR_OF, X, ), EACH_UNIT(UNIT, X, FOLD), EACH_UNIT(KEEP_OF, X, ))

_Static_assert(VECTOR_UNITS == 8, "the units of a turn are written out");

VECTOR_EACH(LOOPS_OF_ISA)

#ifdef VECTOR_PAGES
/* Four pages at once, with one prefetch stream per page: an iteration processes 2 lines of each. The plain loop processes the
 * rest. */
#define PAGES_BYTES 16384
#define PAGES_TURNS 32
#define PAGES_UNITS(X, body)                                                                                                \
    UNIT(X, body, "0") UNIT(X, body, "64") UNIT(X, body, "128") UNIT(X, body, "192") UNIT(X, body, "1") UNIT(X, body, "65") \
    UNIT(X, body, "129") UNIT(X, body, "193")
#define LOOP_OF_PAGES(X, body, loads, stores)                                                                      \
    __attribute__((noinline)) static void stream_##X##_##body##_pages(const struct stretch *s, uint64_t passes)    \
    {                                                                                                              \
        uint64_t whole = s->bytes / PAGES_BYTES * PAGES_BYTES, step = 4096 / PAGES_TURNS;                          \
        struct stretch rest = {s->first + whole, s->second + whole, s->stored + whole, s->bytes - whole, s->kept}; \
        for (; passes > 0; passes--) {                                                                             \
            for (uint64_t at = 0; at < whole; at += PAGES_BYTES) {                                                 \
                char *first = s->first + at, *second = s->second + at, *stored = s->stored + at;                   \
                uint64_t n = PAGES_TURNS;                                                                          \
                __asm__ volatile(X##_BEGIN ".p2align 6\n1:\n\t" PAGES_UNITS(X, body) MOVES_##loads##_##stores      \
                                 VECTOR_AGAIN X##_END                                                              \
                                 : POINTERS : INPUTS : VECTOR_CLOBBERS);                                           \
            }                                                                                                      \
            if (rest.bytes > 0)                                                                                    \
                stream_##X##_##body(&rest, 1);                                                                     \
        }                                                                                                          \
    }
#define PAGES_OF_ISA(X) TRAFFIC_BODIES(LOOP_OF_PAGES, X)
VECTOR_EACH(PAGES_OF_ISA)
#define RUN_PAGES(X, body) stream_##X##_##body##_pages
#else
#define RUN_PAGES(X, body) NULL
#endif

struct runs {
    void (*plain)(const struct stretch *, uint64_t);
    void (*prefetch)(const struct stretch *, uint64_t);
    void (*pages)(const struct stretch *, uint64_t);
};

#define RUNS(X, body, loads, stores) [BODY_##body] = {stream_##X##_##body, stream_##X##_##body##_prefetch, RUN_PAGES(X, body)},
#define RUNS_OF_ISA(X) {TRAFFIC_BODIES(RUNS, X)},
#define FOLD_OF_ISA(X) stream_##X##_FOLD,
static const struct runs RUNS_TABLE[VECTOR_ISAS][BODIES] = {VECTOR_EACH(RUNS_OF_ISA)};
static void (*const FOLD_TABLE[VECTOR_ISAS])(const struct stretch *, uint64_t) = {VECTOR_EACH(FOLD_OF_ISA)};

uint64_t loops_grain(enum vector_isa isa)
{
    return VECTOR_UNITS * (uint64_t)VECTOR_UNIT_BYTES(isa);
}

#ifdef VECTOR_STRING
static void set_string(const struct stretch *s, uint64_t passes)
{
    for (; passes > 0; passes--)
        vector_string_set(s->stored, s->bytes, constant);
}

static void copy_string(const struct stretch *s, uint64_t passes)
{
    for (; passes > 0; passes--)
        vector_string_copy(s->stored, s->first, s->bytes);
}

/* Patterns that are named after a ratio on the bus have no such variant, because the processor decides whether these instructions
 * read a line before they store it. */
static void add_string(struct loops *loops, const struct traffic *traffic)
{
    if (strcmp(traffic->word, "write") == 0)
        loops->variants[loops->count++] = (struct loop){"string", set_string, false, false};
    if (strcmp(traffic->word, "copy") == 0)
        loops->variants[loops->count++] = (struct loop){"string", copy_string, false, false};
}
#else
static void add_string(struct loops *loops, const struct traffic *traffic)
{
    (void)loops, (void)traffic;
}
#endif

/* Loops with prefetches or several pages need arrays that are long enough. */
struct loops loops_of(const struct traffic *traffic, enum vector_isa isa, uint64_t array_bytes)
{
    bool far = array_bytes >= FAR_BYTES;
    const struct runs *runs = &RUNS_TABLE[isa][traffic_body(traffic)];
    struct loops loops = {1, {{"plain", runs->plain, false, true}}};
    if (far && traffic->loads > 0)
        loops.variants[loops.count++] = (struct loop){"prefetch", runs->prefetch, false, true};
    if (far && runs->pages)
        loops.variants[loops.count++] = (struct loop){"pages", runs->pages, false, true};
    if (traffic->value == TRAFFIC_NOTHING)
        loops.variants[loops.count++] = (struct loop){"fold", FOLD_TABLE[isa], true, true};
    add_string(&loops, traffic);
    return loops;
}
