#include "stream/pattern.h"

#include "kit/numbers.h"
#include "stream/loops.h"

#define LANES 2
#define STEP 16 /* bytes of a register of every processor: gcc keeps longer vectors on the stack */
#define EXPONENT 0x4290000000000000u /* of 2^42 */
#define MANTISSA 0x000fffffffffffffu
#define STRIDE (0x9e3779b97f4a7c15u << 10) /* an odd number times 2^10: the lower bits of such a double are its fraction */

typedef uint64_t lanes __attribute__((vector_size(STEP), may_alias));
typedef double reals __attribute__((vector_size(STEP), may_alias));

/* The counters of the step at `at` bytes; value() makes doubles of them. */
#define COUNTERS(seed, at) (base_of(seed) + (at) / 8 * STRIDE + (lanes){0, 1} * STRIDE)
#define VALUE(counters) (((counters) & MANTISSA) | EXPONENT)
#define ADVANCE (LANES * STRIDE)

static uint64_t base_of(uint64_t seed)
{
    return random_at(seed, 0) << 10;
}

static bool any(const lanes *bits)
{
    uint64_t sum = 0;
    for (int i = 0; i < LANES; i++)
        sum |= (*bits)[i];
    return sum != 0;
}

void pattern_fill(char *start, uint64_t seed, uint64_t at, uint64_t bytes)
{
    lanes counters = COUNTERS(seed, at);
    for (uint64_t end = at + bytes; at < end; at += STEP, counters += ADVANCE)
        *(lanes *)(start + at) = VALUE(counters);
}

bool pattern_holds(const char *start, uint64_t seed, uint64_t at, uint64_t bytes)
{
    lanes counters = COUNTERS(seed, at), wrong = {0};
    for (uint64_t end = at + bytes; at < end; at += STEP, counters += ADVANCE)
        wrong |= *(const lanes *)(start + at) ^ VALUE(counters);
    return !any(&wrong);
}

uint64_t pattern_fold(uint64_t seed, uint64_t at, uint64_t bytes)
{
    lanes counters = COUNTERS(seed, at), sum = {0};
    uint64_t folded = 0;
    for (uint64_t end = at + bytes; at < end; at += STEP, counters += ADVANCE)
        sum ^= VALUE(counters);
    for (int i = 0; i < LANES; i++)
        folded ^= sum[i];
    return folded;
}

/* Compares one block with the expected values and restores the pattern. `value` is a constant in each call, so that the compiler
 * generates one loop for each. */
__attribute__((always_inline)) static inline bool settle_block(char *start, uint64_t seed, enum traffic_value value,
                                                               struct range range)
{
    const reals constant = (reals){0} + TRAFFIC_FACTOR;
    lanes first = COUNTERS(seed, range.first), second = COUNTERS(seed, range.second), stored = COUNTERS(seed, range.stored);
    lanes wrong = {0};
    for (uint64_t at = 0; at < range.bytes; at += STEP) {
        reals a = (reals)VALUE(first), b = (reals)VALUE(second);
        reals must = constant;
        if (value == TRAFFIC_COPY)
            must = a;
        else if (value == TRAFFIC_SCALE)
            must = constant * a;
        else if (value == TRAFFIC_ADD)
            must = a + b;
        else if (value == TRAFFIC_TRIAD)
            must = a + constant * b;
        wrong |= *(lanes *)(start + range.stored + at) ^ (lanes)must;
        *(lanes *)(start + range.stored + at) = VALUE(stored);
        first += ADVANCE;
        second += ADVANCE;
        stored += ADVANCE;
    }
    return !any(&wrong);
}

static bool settle_stored(char *start, uint64_t seed, enum traffic_value value, struct range range)
{
    switch (value) {
    case TRAFFIC_NOTHING:
        return true;
    case TRAFFIC_CONSTANT:
        return settle_block(start, seed, TRAFFIC_CONSTANT, range);
    case TRAFFIC_COPY:
        return settle_block(start, seed, TRAFFIC_COPY, range);
    case TRAFFIC_SCALE:
        return settle_block(start, seed, TRAFFIC_SCALE, range);
    case TRAFFIC_ADD:
        return settle_block(start, seed, TRAFFIC_ADD, range);
    case TRAFFIC_TRIAD:
        return settle_block(start, seed, TRAFFIC_TRIAD, range);
    }
    return false;
}

int64_t pattern_settle(char *start, uint64_t seed, const struct traffic *traffic, struct range range)
{
    for (uint64_t at = 0; at < range.bytes; at += PATTERN_BLOCK) {
        uint64_t bytes = range.bytes - at < PATTERN_BLOCK ? range.bytes - at : PATTERN_BLOCK;
        struct range block = {range.first + at, range.second + at, range.stored + at, bytes};
        bool right = settle_stored(start, seed, traffic->value, block);
        right = right && (traffic->loads < 1 || pattern_holds(start, seed, block.first, bytes));
        right = right && (traffic->loads < 2 || pattern_holds(start, seed, block.second, bytes));
        if (!right)
            return (int64_t)at;
    }
    return -1;
}
