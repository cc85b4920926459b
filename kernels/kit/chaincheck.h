/* The self-check, which also warms the caches: one walk over every line of the chain. */
#ifndef KIT_CHAINCHECK_H
#define KIT_CHAINCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/chain.h"

#define CHAIN_LANES 16          /* simultaneous walks: as many loads as a core keeps in flight */
#define CHAIN_SEGMENTS_MAX 256  /* more than lanes, to balance short and long segments */
#define CHAIN_SEGMENT_LINES 64

/* A segment of the cycle from one marked line to the next. */
struct chain_segment {
    uint64_t lines;
    uint64_t follower; /* the segment that starts where this one ends */
};

struct chain_lane {
    const struct node *node;
    uint64_t segment, lines;
};

struct chain_walk {
    const struct chain *chain;
    uint64_t count, started, total;
    struct chain_segment segments[CHAIN_SEGMENTS_MAX];
};

static inline void chain_mark_lines(const struct chain_walk *walk, bool set)
{
    for (uint64_t i = 0; i < walk->count; i++)
        chain_line(walk->chain, i * (walk->chain->lines / walk->count))->mark = set ? i + 1 : 0;
}

static inline bool chain_start_next(struct chain_walk *walk, struct chain_lane *lane)
{
    if (walk->started == walk->count)
        return false;
    uint64_t i = walk->started++;
    *lane = (struct chain_lane){chain_line(walk->chain, i * (walk->chain->lines / walk->count)), i, 0};
    return true;
}

/* Makes one load. Returns false if the lane has finished. If a pointer is wrong, sets `total` above the number of lines. */
static inline bool chain_step(struct chain_walk *walk, struct chain_lane *lane)
{
    lane->node = lane->node->next;
    lane->lines++;
    if (!chain_holds(walk->chain, lane->node) || ++walk->total > walk->chain->lines) {
        walk->total = UINT64_MAX - CHAIN_LANES;
        return false;
    }
    if (lane->node->mark == 0)
        return true;
    walk->segments[lane->segment] = (struct chain_segment){lane->lines, lane->node->mark - 1};
    return chain_start_next(walk, lane);
}

static inline void chain_walk_all(struct chain_walk *walk)
{
    struct chain_lane lanes[CHAIN_LANES];
    unsigned active = 0;
    while (active < CHAIN_LANES && chain_start_next(walk, &lanes[active]))
        active++;
    while (active > 0 && walk->total <= walk->chain->lines) {
        for (unsigned i = 0; i < active;) {
            if (chain_step(walk, &lanes[i]))
                i++;
            else
                lanes[i] = lanes[--active];
        }
    }
}

/* Whether the segments form one cycle and contain all lines. */
static inline bool chain_one_cycle(const struct chain_walk *walk)
{
    uint64_t at = 0, met = 0, lines = 0;
    do {
        lines += walk->segments[at].lines;
        at = walk->segments[at].follower;
        met++;
    } while (at != 0 && met < walk->count);
    return at == 0 && met == walk->count && lines == walk->chain->lines;
}

/* Walks the whole chain from several starting points at once, because a single walk would take seconds in DRAM. True if the
 * chain is one cycle that visits all its lines once and stays within the memory. */
static inline bool chain_check(const struct chain *chain)
{
    struct chain_walk walk = {.chain = chain, .count = chain->lines / CHAIN_SEGMENT_LINES};
    if (walk.count == 0)
        walk.count = 1;
    if (walk.count > CHAIN_SEGMENTS_MAX)
        walk.count = CHAIN_SEGMENTS_MAX;
    chain_mark_lines(&walk, true);
    chain_walk_all(&walk);
    chain_mark_lines(&walk, false);
    return walk.total == chain->lines && chain_one_cycle(&walk);
}

/* Reads `flush_bytes`, the size of the last-level cache, at the end of a span. The caches then contain the same part of a sparse
 * chain as of a dense one over the same span; after the self-check they would contain much more. */
static inline void chain_flush(const struct chain *chain, uint64_t span_bytes, uint64_t flush_bytes)
{
    uint64_t from = flush_bytes < span_bytes ? span_bytes - flush_bytes : 0;
    for (uint64_t at = from / chain->stride * chain->stride; at < span_bytes; at += chain->stride)
        (void)*(volatile char *)(chain->start + at);
}

#endif
