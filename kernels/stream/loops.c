#include "stream/loops.h"

#define FAR_BYTES (1 << 16)

static const double constant = LOOPS_CONSTANT;

/* A unit of each array, as text: `X` is the set of instructions, `k` the unit. */
#define READ(X, k) X##_LOAD("first", k)
#define FOLD(X, k) X##_XOR("first", k)
#define READ_2_SET_1(X, k) X##_LOAD("first", k) X##_LOAD("second", k) X##_SET("stored", k)
#define READ_1_SET_1(X, k) X##_LOAD("first", k) X##_SET("stored", k)
#define READ_2_STREAM_1(X, k) X##_LOAD("first", k) X##_LOAD("second", k) X##_STREAM_SET("stored", k)
#define SET(X, k) X##_SET("stored", k)
#define COPY(X, k) X##_LOAD("first", k) X##_STORE("stored", k)
#define SCALE(X, k) X##_LOAD("first", k) X##_MULTIPLY X##_STORE("stored", k)
#define ADD(X, k) X##_LOAD("first", k) X##_ADD("second", k) X##_STORE("stored", k)
#define TRIAD(X, k) X##_LOAD("first", k) X##_FMA("second", k) X##_STORE("stored", k)
#define NT_SET(X, k) X##_STREAM_SET("stored", k)
#define NT_COPY(X, k) X##_LOAD("first", k) X##_STREAM("stored", k)
#define NT_TRIAD(X, k) X##_LOAD("first", k) X##_FMA("second", k) X##_STREAM("stored", k)

/* F(X, body, ahead): every body and what is prefetched for it. */
#define AHEAD_0(X, k) ""
#define AHEAD_1(X, k) X##_PREFETCH("first", k)
#define AHEAD_2(X, k) X##_PREFETCH("first", k) X##_PREFETCH("second", k)
#define EACH_BODY(F, X)                                                                                                        \
    F(X, READ, AHEAD_1) F(X, READ_2_SET_1, AHEAD_2) F(X, READ_1_SET_1, AHEAD_1) F(X, READ_2_STREAM_1, AHEAD_2)                 \
    F(X, SET, AHEAD_0) F(X, COPY, AHEAD_1) F(X, SCALE, AHEAD_1) F(X, ADD, AHEAD_2) F(X, TRIAD, AHEAD_2) F(X, NT_SET, AHEAD_0) \
    F(X, NT_COPY, AHEAD_1) F(X, NT_TRIAD, AHEAD_2)

/* The arrays that a body has move on. What moves for nothing costs up to 3 % of the loads in the first level. */
#define MOVE_1 VECTOR_MOVE("first")
#define MOVE_1_1 VECTOR_MOVE("first") VECTOR_MOVE("stored")
#define MOVE_2_1 VECTOR_MOVE("first") VECTOR_MOVE("second") VECTOR_MOVE("stored")
#define MOVE_0_1 VECTOR_MOVE("stored")
#define MOVES_READ MOVE_1
#define MOVES_FOLD MOVE_1
#define MOVES_READ_2_SET_1 MOVE_2_1
#define MOVES_READ_1_SET_1 MOVE_1_1
#define MOVES_READ_2_STREAM_1 MOVE_2_1
#define MOVES_SET MOVE_0_1
#define MOVES_COPY MOVE_1_1
#define MOVES_SCALE MOVE_1_1
#define MOVES_ADD MOVE_2_1
#define MOVES_TRIAD MOVE_2_1
#define MOVES_NT_SET MOVE_0_1
#define MOVES_NT_COPY MOVE_1_1
#define MOVES_NT_TRIAD MOVE_2_1
#define OPERANDS                                                                                                            \
    : [first] "+&r"(first), [second] "+&r"(second), [stored] "+&r"(stored), [n] "+&r"(n)                                    \
    : [step] "r"(step), [constant] "r"(&constant), [kept] "r"(s->kept)                                                      \
    : VECTOR_CLOBBERS

/* A whole loop is one asm statement: the compiler can neither drop nor split it. */
#define LOOP(name, X, body, before, units, after)                                                                            \
    __attribute__((noinline)) static void name(const struct stretch *s, uint64_t passes)                                    \
    {                                                                                                                        \
        for (uint64_t step = loops_grain(VECTOR_##X); passes > 0; passes--) {                                                \
            char *first = s->first, *second = s->second, *stored = s->stored;                                                \
            uint64_t n = s->bytes / step;                                                                                    \
            __asm__ volatile(X##_BEGIN before ".p2align 6\n1:\n\t" units MOVES_##body VECTOR_AGAIN after X##_END OPERANDS);  \
        }                                                                                                                    \
    }

#define UNITS(X, body) body(X, "0") body(X, "1") body(X, "2") body(X, "3") body(X, "4") body(X, "5") body(X, "6") body(X, "7")
#define PREFETCHED(X, body, ahead, k) ahead(X, k) body(X, k)
#define UNITS_PREFETCHED(X, body, ahead)                                                                                  \
    PREFETCHED(X, body, ahead, "0") PREFETCHED(X, body, ahead, "1") PREFETCHED(X, body, ahead, "2")                         \
    PREFETCHED(X, body, ahead, "3") PREFETCHED(X, body, ahead, "4") PREFETCHED(X, body, ahead, "5")                         \
    PREFETCHED(X, body, ahead, "6") PREFETCHED(X, body, ahead, "7")
#define CLEAR_OF(X, k) X##_CLEAR(k)
#define KEEP_OF(X, k) X##_KEEP("kept", k)

#define LOOPS_OF_BODY(X, body, ahead)                                      \
    LOOP(stream_##X##_##body, X, body, "", UNITS(X, body), "")             \
    LOOP(stream_##X##_##body##_prefetch, X, body, "", UNITS_PREFETCHED(X, body, ahead), "")
#define LOOPS_OF_ISA(X)          \
    EACH_BODY(LOOPS_OF_BODY, X)  \
    LOOP(stream_##X##_FOLD, X, FOLD, UNITS(X, CLEAR_OF), UNITS(X, FOLD), UNITS(X, KEEP_OF))

_Static_assert(VECTOR_UNITS == 8, "the units of a turn are written out");

VECTOR_EACH(LOOPS_OF_ISA)

#ifdef VECTOR_PAGES
/* Four pages side by side, a prefetcher's stream for each: lines 64 apart in a turn of 2 x 4 lines. What is left goes the plain way. */
#define PAGES_BYTES 16384
#define PAGES_TURNS 32
#define PAGES_UNITS(X, body) \
    body(X, "0") body(X, "64") body(X, "128") body(X, "192") body(X, "1") body(X, "65") body(X, "129") body(X, "193")
#define LOOP_OF_PAGES(X, body, ahead)                                                                                          \
    __attribute__((noinline)) static void stream_##X##_##body##_pages(const struct stretch *s, uint64_t passes)               \
    {                                                                                                                          \
        uint64_t whole = s->bytes / PAGES_BYTES * PAGES_BYTES, step = 4096 / PAGES_TURNS;                                      \
        struct stretch rest = {s->first + whole, s->second + whole, s->stored + whole, s->bytes - whole, s->kept};             \
        for (; passes > 0; passes--) {                                                                                         \
            for (uint64_t at = 0; at < whole; at += PAGES_BYTES) {                                                             \
                char *first = s->first + at, *second = s->second + at, *stored = s->stored + at;                               \
                uint64_t n = PAGES_TURNS;                                                                                      \
                __asm__ volatile(X##_BEGIN ".p2align 6\n1:\n\t" PAGES_UNITS(X, body) MOVES_##body VECTOR_AGAIN X##_END             \
                                 OPERANDS);                                                                                    \
            }                                                                                                                  \
            if (rest.bytes > 0)                                                                                                \
                stream_##X##_##body(&rest, 1);                                                                                 \
        }                                                                                                                      \
    }
#define PAGES_OF_ISA(X) EACH_BODY(LOOP_OF_PAGES, X)
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

#define RUNS(X, body, ahead) [BODY_##body] = {stream_##X##_##body, stream_##X##_##body##_prefetch, RUN_PAGES(X, body)},
#define RUNS_OF_ISA(X) {EACH_BODY(RUNS, X)},
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

/* A ratio names the traffic of the bus, which the processor is free to choose here. */
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

/* Ways that look ahead or far apart need arrays in which there is something ahead. */
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
