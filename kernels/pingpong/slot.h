/* The memory that two CPUs share during their measurement: lines that no other CPU has in a cache. */
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
#define SLOT_KINDS 3 /* token, cas, the probe */
#define SLOT_PROBE 2

/* Messages between the two threads, except the timed ones. Each line has one writer at a time. */
struct control {
    exchange_word turn __attribute__((aligned(TEAM_LINE)));   /* of the chain */
    exchange_word plan __attribute__((aligned(TEAM_LINE)));   /* of the round */
    atomic_bool lost[2] __attribute__((aligned(TEAM_LINE)));  /* [0]: the follower was descheduled; [1]: the leader was */
    atomic_bool settled;                                      /* whether the follower has walked enough */
};

/* Offsets, which are the same for all pairs. */
struct layout {
    size_t addresses;
    const struct ring *ring;
    uint64_t seed;
    uint64_t ring_at, bytes; /* whole pages */
};

struct slot {
    const struct layout *layout;
    char *start;
    uint64_t serial; /* seed of the pair, which determines the location of its words */
};

struct layout layout_make(size_t addresses, const struct ring *ring, uint64_t seed);

struct control *slot_control(const struct slot *slot);

/* The word of an exchange at the `address`-th address; each `kind` below SLOT_KINDS has separate lines. */
exchange_word *slot_word(const struct slot *slot, size_t address, unsigned kind);

/* The location of the ring. */
char *slot_ring(const struct slot *slot);

/* Called by one of the two threads before they start: clears words and control, and flushes all lines from all caches. */
void slot_prepare(const struct slot *slot);

#endif
