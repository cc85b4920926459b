#include "load/loops.h"

#include "nops.h"

static const double constant = LOOPS_CONSTANT;

/* A unit of each array, as text. `X` is the set of instructions. */
#define READ(X) X##_LOAD("a", "\\k")
#define READ_2_SET_1(X) X##_LOAD("a", "\\k") X##_LOAD("b", "\\k") X##_SET("c", "\\k")
#define READ_1_SET_1(X) X##_LOAD("a", "\\k") X##_SET("b", "\\k")
#define READ_2_STREAM_1(X) X##_LOAD("a", "\\k") X##_LOAD("b", "\\k") X##_STREAM_SET("c", "\\k")
#define SET(X) X##_SET("a", "\\k")
#define COPY(X) X##_LOAD("a", "\\k") X##_STORE("b", "\\k")
#define SCALE(X) X##_LOAD("a", "\\k") X##_MULTIPLY X##_STORE("b", "\\k")
#define ADD(X) X##_LOAD("a", "\\k") X##_ADD("b", "\\k") X##_STORE("c", "\\k")
#define TRIAD(X) X##_LOAD("a", "\\k") X##_FMA("b", "\\k") X##_STORE("c", "\\k")
#define NT_SET(X) X##_STREAM_SET("a", "\\k")
#define NT_COPY(X) X##_LOAD("a", "\\k") X##_STREAM("b", "\\k")
#define NT_TRIAD(X) X##_LOAD("a", "\\k") X##_FMA("b", "\\k") X##_STREAM("c", "\\k")

#define EACH_BODY(F, X)                                                                                               \
    F(X, READ) F(X, READ_2_SET_1) F(X, READ_1_SET_1) F(X, READ_2_STREAM_1) F(X, SET) F(X, COPY) F(X, SCALE)      \
    F(X, ADD) F(X, TRIAD) F(X, NT_SET) F(X, NT_COPY) F(X, NT_TRIAD)

#define MOVES VECTOR_MOVE("a") VECTOR_MOVE("b") VECTOR_MOVE("c")

#define STEPS(X, body)                                                                                                        \
    static void steps_##X##_##body(char *a, char *b, char *c, uint64_t steps, const struct step *step)                        \
    {                                                                                                                         \
        uint64_t n, left, entry = step->rest;                                                                                 \
        __asm__ volatile(X##_BEGIN X##_PART NOPS_PREPARE NOPS_STEP                                                          \
                         "1:\t.irp k,0\n\t" body(X) "\n\t.endr\n\t" MOVES VECTOR_AGAIN NOPS_RUN             \
                         NOPS_STEP_AGAIN X##_END                                                                              \
                         : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [steps] "+&r"(steps),                                    \
                           [entry] "+&r"(entry), [n] "=&r"(n), [left] "=&r"(left)                                             \
                         : [units] "r"(step->units), [step] "r"(step->part), [rounds] "r"(step->rounds),                      \
                           [constant] "r"(&constant), [doubles] "r"(step->part / sizeof(double))                              \
                         : VECTOR_CLOBBERS);                                                                                  \
    }
#define TURNS(X, body)                                                                                                        \
    static void turns_##X##_##body(char *a, char *b, char *c, uint64_t turns, uint64_t bytes)                                 \
    {                                                                                                                         \
        __asm__ volatile(X##_BEGIN "1:\t.irp k,0,1,2,3,4,5,6,7\n\t" body(X) "\n\t.endr\n\t" MOVES VECTOR_AGAIN X##_END          \
                         : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [n] "+&r"(turns)                                         \
                         : [step] "r"(bytes), [constant] "r"(&constant)                                                       \
                         : VECTOR_CLOBBERS);                                                                                  \
    }
#define BOTH(X, body) STEPS(X, body) TURNS(X, body)
#define ALL_BODIES(X) EACH_BODY(BOTH, X)

_Static_assert(VECTOR_UNITS == 8, "the units of a turn are written out");

VECTOR_EACH(ALL_BODIES)

#define PAIR(X, body) [BODY_##body] = {steps_##X##_##body, turns_##X##_##body},
#define ROW(X) {EACH_BODY(PAIR, X)},

static const struct loops LOOPS[VECTOR_ISAS][BODIES] = {VECTOR_EACH(ROW)};

struct loops loops_of(const struct traffic *traffic, enum vector_isa isa)
{
    return LOOPS[isa][traffic_body(traffic)];
}
