/* The traffic patterns: the words of --traffic, in one table for all kernels. A step processes one line of each array. A normal
 * store reads its line first, for ownership (RFO), so that the line crosses the bus twice; a non-temporal one only once. The
 * ratios are reads to writes on the bus. */
#ifndef KIT_TRAFFIC_H
#define KIT_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/fail.h"
#include "kit/opts.h"

#define TRAFFIC_WORDS "all-reads 3:1 2:1 1:1 2:1-nt write copy scale add triad nt-write nt-copy nt-triad"
#define TRAFFIC_ARRAYS_MAX 3
#define TRAFFIC_FACTOR 3.0 /* the constant that is stored, and the factor of scale and triad */

/* The stored value: none, a constant, or computed from the loaded lines. */
enum traffic_value { TRAFFIC_NOTHING, TRAFFIC_CONSTANT, TRAFFIC_COPY, TRAFFIC_SCALE, TRAFFIC_ADD, TRAFFIC_TRIAD };

struct traffic {
    const char *word;
    unsigned loads, stores; /* lines per step, each of a different array: the loaded ones first, the stored one last */
    bool streaming;         /* whether stores are non-temporal */
    enum traffic_value value;
};

static const struct traffic TRAFFIC_TABLE[] = {
    {"all-reads", 1, 0, false, TRAFFIC_NOTHING},
    {"3:1", 2, 1, false, TRAFFIC_CONSTANT},
    {"2:1", 1, 1, false, TRAFFIC_CONSTANT},
    {"1:1", 0, 1, false, TRAFFIC_CONSTANT},
    {"2:1-nt", 2, 1, true, TRAFFIC_CONSTANT},
    {"write", 0, 1, false, TRAFFIC_CONSTANT},
    {"copy", 1, 1, false, TRAFFIC_COPY},
    {"scale", 1, 1, false, TRAFFIC_SCALE},
    {"add", 2, 1, false, TRAFFIC_ADD},
    {"triad", 2, 1, false, TRAFFIC_TRIAD},
    {"nt-write", 0, 1, true, TRAFFIC_CONSTANT},
    {"nt-copy", 1, 1, true, TRAFFIC_COPY},
    {"nt-triad", 2, 1, true, TRAFFIC_TRIAD},
};
#define TRAFFIC_COUNT (sizeof TRAFFIC_TABLE / sizeof *TRAFFIC_TABLE)

/* The entry of a word, which may end at a blank; the word must be one of TRAFFIC_WORDS. */
static inline const struct traffic *traffic_find(const char *word)
{
    for (size_t i = 0; i < TRAFFIC_COUNT; i++)
        if (opts_word_is(word, TRAFFIC_TABLE[i].word))
            return &TRAFFIC_TABLE[i];
    fail(EXIT_USAGE, "unknown traffic %.*s", (int)opts_word_length(word), word);
}

/* The loop bodies, one list for all kernels: F(X, body, loads, stores). Traffic patterns with the same loads and stores share a
 * body. `X` is the instruction set; `loads` and `stores` are the numbers of arrays. */
#define TRAFFIC_BODIES(F, X)                                                                                       \
    F(X, READ, 1, 0) F(X, READ_2_SET_1, 2, 1) F(X, READ_1_SET_1, 1, 1) F(X, READ_2_STREAM_1, 2, 1) F(X, SET, 0, 1) \
    F(X, COPY, 1, 1) F(X, SCALE, 1, 1) F(X, ADD, 2, 1) F(X, TRIAD, 2, 1) F(X, NT_SET, 0, 1) F(X, NT_COPY, 1, 1)    \
    F(X, NT_TRIAD, 2, 1)

/* One unit of each array as assembly text, with the macros of vector.h: the operands `a` and `b` point to the loaded arrays, `s` to
 * the stored one; `k` is the number of the unit. */
#define TRAFFIC_READ(X, a, b, s, k) X##_LOAD(a, k)
#define TRAFFIC_READ_2_SET_1(X, a, b, s, k) X##_LOAD(a, k) X##_LOAD(b, k) X##_SET(s, k)
#define TRAFFIC_READ_1_SET_1(X, a, b, s, k) X##_LOAD(a, k) X##_SET(s, k)
#define TRAFFIC_READ_2_STREAM_1(X, a, b, s, k) X##_LOAD(a, k) X##_LOAD(b, k) X##_STREAM_SET(s, k)
#define TRAFFIC_SET(X, a, b, s, k) X##_SET(s, k)
#define TRAFFIC_COPY(X, a, b, s, k) X##_LOAD(a, k) X##_STORE(s, k)
#define TRAFFIC_SCALE(X, a, b, s, k) X##_LOAD(a, k) X##_MULTIPLY X##_STORE(s, k)
#define TRAFFIC_ADD(X, a, b, s, k) X##_LOAD(a, k) X##_ADD(b, k) X##_STORE(s, k)
#define TRAFFIC_TRIAD(X, a, b, s, k) X##_LOAD(a, k) X##_FMA(b, k) X##_STORE(s, k)
#define TRAFFIC_NT_SET(X, a, b, s, k) X##_STREAM_SET(s, k)
#define TRAFFIC_NT_COPY(X, a, b, s, k) X##_LOAD(a, k) X##_STREAM(s, k)
#define TRAFFIC_NT_TRIAD(X, a, b, s, k) X##_LOAD(a, k) X##_FMA(b, k) X##_STREAM(s, k)

#define TRAFFIC_BODY_NAME(X, body, loads, stores) BODY_##body,
enum traffic_body { TRAFFIC_BODIES(TRAFFIC_BODY_NAME, ) BODIES };

/* The body of a pattern that stores a constant. */
static inline enum traffic_body traffic_setting(const struct traffic *traffic)
{
    if (traffic->streaming)
        return traffic->loads == 2 ? BODY_READ_2_STREAM_1 : BODY_NT_SET;
    return traffic->loads == 2 ? BODY_READ_2_SET_1 : traffic->loads == 1 ? BODY_READ_1_SET_1 : BODY_SET;
}

static inline enum traffic_body traffic_body(const struct traffic *traffic)
{
    switch (traffic->value) {
    case TRAFFIC_NOTHING:
        return BODY_READ;
    case TRAFFIC_CONSTANT:
        return traffic_setting(traffic);
    case TRAFFIC_COPY:
        return traffic->streaming ? BODY_NT_COPY : BODY_COPY;
    case TRAFFIC_SCALE:
        return BODY_SCALE;
    case TRAFFIC_ADD:
        return BODY_ADD;
    case TRAFFIC_TRIAD:
        return traffic->streaming ? BODY_NT_TRIAD : BODY_TRIAD;
    }
    fail(EXIT_SELF_CHECK, "traffic %s has no loop", traffic->word);
}

static inline unsigned traffic_arrays(const struct traffic *traffic)
{
    return traffic->loads + traffic->stores;
}

/* Bytes that the program loads and stores when it processes `bytes` of all arrays together. */
static inline uint64_t traffic_useful(const struct traffic *traffic, uint64_t step_bytes)
{
    return step_bytes * traffic_arrays(traffic);
}

/* Bytes read over the bus in a step of `step_bytes` per array: loaded lines, and stored lines that are read for ownership. */
static inline uint64_t traffic_bus_read(const struct traffic *traffic, uint64_t step_bytes)
{
    return step_bytes * (traffic->loads + (traffic->streaming ? 0 : traffic->stores));
}

static inline uint64_t traffic_bus_written(const struct traffic *traffic, uint64_t step_bytes)
{
    return step_bytes * traffic->stores;
}

/* Bytes on the bus per 1000 useful bytes. */
static inline int64_t traffic_bus_permille(const struct traffic *traffic)
{
    return (int64_t)(1000 * (traffic_bus_read(traffic, 1) + traffic_bus_written(traffic, 1)) / traffic_useful(traffic, 1));
}

#endif
