/* One load thread. Data for other threads is in separate cache lines. */
#ifndef LOAD_WALKER_H
#define LOAD_WALKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "load/crew.h"

/* The word: the delay, the command, and a number that makes each word unique. */
#define WORD_DELAY 0xffffffffu
#define WORD_HELD ((size_t)1 << 32)   /* must not map memory yet */
#define WORD_PARKED ((size_t)1 << 33)
#define WORD_END ((size_t)1 << 34)
#define WORD_NUMBER ((size_t)1 << 40)

#define WALKER_MAPPED ((size_t)1 << 40)

struct walker {
    atomic_uint_least64_t steps __attribute__((aligned(TEAM_LINE))); /* read by the chain's thread */
    atomic_uint_least64_t lost;
    atomic_size_t taken;
    struct crew *crew __attribute__((aligned(TEAM_LINE)));
    char *array[TRAFFIC_ARRAYS_MAX];
    struct arena arena;      /* set if this thread mapped it */
    size_t arena_threads;    /* number of threads that share it; 0: another thread mapped it */
    atomic_size_t attempt;   /* number of attempts to map it so far, and WALKER_MAPPED once it is mapped */
    atomic_size_t filled;    /* number of threads that filled their parts in this attempt */
    atomic_int fill_error;   /* errno of a thread that could not fill its part; 0 if all could */
    size_t place;            /* index of its part in the arena */
    uint64_t filled_ns;      /* when its part was filled */
    int64_t node;            /* the requested node, or that of the CPU */
    uint64_t at, rounds;     /* offset in each array; number of complete passes */
    uint64_t part, granule;  /* bytes of a unit of a step; of a run of whole iterations and whole steps */
    uint64_t chunk;          /* bytes of each array between two reads of the word */
    uint64_t usual_ticks;    /* duration of the fastest chunk of this length and delay; 0: none yet */
    uint64_t seen;           /* steps at the last count */
    uint64_t wrong;          /* number of wrong doubles at the end */
};

/* Prepares the memory of a thread, follows the word until the end, and verifies the memory. */
void walker_body(struct member *member);

#endif
