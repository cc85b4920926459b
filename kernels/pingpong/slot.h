/* The memory that two CPUs share while they play: lines of their own, which no other CPU has in a cache. */
#ifndef PINGPONG_SLOT_H
#define PINGPONG_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/team.h"
#include "pingpong/exchange.h"
#include "pingpong/ring.h"

#define SLOT_ADDRESSES_MAX 64
#define SLOT_KINDS 2

/* What the two tell one another beside what is timed; each line has one writer at a time. */
struct control {
    exchange_word turn __attribute__((aligned(TEAM_LINE)));   /* of the chain */
    atomic_bool lost[2] __attribute__((aligned(TEAM_LINE)));  /* the follower, the leader lost its CPU */
    atomic_bool settled;                                      /* the follower has walked enough */
};

/* Offsets, the same for all pairs. */
struct layout {
    size_t addresses;
    const struct ring *ring;
    uint64_t seed;
    uint64_t ring_at, bytes; /* whole pages */
};

struct slot {
    const struct layout *layout;
    char *start;
    uint64_t serial; /* of the pair: places its words */
};

struct layout layout_make(size_t addresses, const struct ring *ring, uint64_t seed);

struct control *slot_control(const struct slot *slot);

/* The word of an exchange at the `address`-th place; `kind` below SLOT_KINDS: each has lines of its own. */
exchange_word *slot_word(const struct slot *slot, size_t address, unsigned kind);

/* Where the ring lies. */
char *slot_ring(const struct slot *slot);

/* To be called by one of the two before they start: clears words and control, and takes all lines out of all caches. */
void slot_prepare(const struct slot *slot);

#endif
