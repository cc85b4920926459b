/* One load thread. What it tells others stands apart from what it alone uses. */
#ifndef LOAD_WALKER_H
#define LOAD_WALKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "load/crew.h"

/* The word: the delay, what to do, and a number that makes each word another one. */
#define WORD_DELAY 0xffffffffu
#define WORD_HELD ((size_t)1 << 32)   /* not yet allowed to have memory */
#define WORD_PARKED ((size_t)1 << 33)
#define WORD_END ((size_t)1 << 34)
#define WORD_NUMBER ((size_t)1 << 40)

struct walker {
    atomic_uint_least64_t steps __attribute__((aligned(TEAM_LINE))); /* told to the chain's thread */
    atomic_uint_least64_t lost;
    atomic_size_t taken;
    struct crew *crew __attribute__((aligned(TEAM_LINE)));
    char *array[TRAFFIC_ARRAYS_MAX];
    struct arena arena;      /* if this thread mapped it */
    size_t arena_threads;    /* that share it; 0: another one mapped it */
    int64_t node;            /* asked for, or the one of the CPU */
    uint64_t at, rounds;     /* bytes into each array; times it was at the end */
    uint64_t part, granule;  /* bytes of a unit of a step; of a run of whole turns and whole steps */
    uint64_t chunk;          /* bytes of each array between two looks at the word */
    uint64_t usual_ticks;    /* the fastest chunk of this length and delay; 0: none yet */
    uint64_t seen;           /* steps at the last count */
    uint64_t wrong;          /* doubles found wrong at the end */
};

/* Prepares the memory of a thread, runs what the word says until the end, checks the memory. */
void walker_body(struct member *member);

#endif
