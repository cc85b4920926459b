#include "load/loops.h"

#include "nops.h"

static const double constant = TRAFFIC_FACTOR;

/* The text for one unit, selected by the number of arrays that the body loads; the stored array comes after the loaded ones. */
#define UNIT_0(X, body) TRAFFIC_##body(X, "", "", "a", "\\k")
#define UNIT_1(X, body) TRAFFIC_##body(X, "a", "", "b", "\\k")
#define UNIT_2(X, body) TRAFFIC_##body(X, "a", "b", "c", "\\k")

#define MOVES VECTOR_MOVE("a") VECTOR_MOVE("b") VECTOR_MOVE("c")

#define STEPS(X, body, loads)                                                                                 \
    static void steps_##X##_##body(char *a, char *b, char *c, uint64_t steps, const struct step *step)        \
    {                                                                                                         \
        uint64_t n, left, entry = step->rest;                                                                 \
        __asm__ volatile(X##_BEGIN X##_PART NOPS_PREPARE NOPS_STEP                                            \
                         "1:\t.irp k,0\n\t" UNIT_##loads(X, body) "\n\t.endr\n\t" MOVES VECTOR_AGAIN NOPS_RUN \
                         NOPS_STEP_AGAIN X##_END                                                              \
                         : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [steps] "+&r"(steps),                    \
                           [entry] "+&r"(entry), [n] "=&r"(n), [left] "=&r"(left)                             \
                         : [units] "r"(step->units), [step] "r"(step->part), [rounds] "r"(step->rounds),      \
                           [constant] "r"(&constant), [doubles] "r"(step->part / sizeof(double))              \
                         : VECTOR_CLOBBERS);                                                                  \
    }
#define TURNS(X, body, loads)                                                                                   \
    static void turns_##X##_##body(char *a, char *b, char *c, uint64_t turns, uint64_t bytes)                   \
    {                                                                                                           \
        __asm__ volatile(X##_BEGIN "1:\t.irp k,0,1,2,3,4,5,6,7\n\t" UNIT_##loads(X, body) "\n\t.endr\n\t" MOVES \
                         VECTOR_AGAIN X##_END                                                                   \
                         : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [n] "+&r"(turns)                           \
                         : [step] "r"(bytes), [constant] "r"(&constant)                                         \
                         : VECTOR_CLOBBERS);                                                                    \
    }
#define BOTH(X, body, loads, stores) STEPS(X, body, loads) TURNS(X, body, loads)
#define ALL_BODIES(X) TRAFFIC_BODIES(BOTH, X)

_Static_assert(VECTOR_UNITS == 8, "the units of a turn are written out");

VECTOR_EACH(ALL_BODIES)

#define PAIR(X, body, loads, stores) [BODY_##body] = {steps_##X##_##body, turns_##X##_##body},
#define ROW(X) {TRAFFIC_BODIES(PAIR, X)},

static const struct loops LOOPS[VECTOR_ISAS][BODIES] = {VECTOR_EACH(ROW)};

struct loops loops_of(const struct traffic *traffic, enum vector_isa isa)
{
    return LOOPS[isa][traffic_body(traffic)];
}
