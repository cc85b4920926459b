/* The batches of one method between two CPUs, and their statistics. */
#ifndef PINGPONG_SERIES_H
#define PINGPONG_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/stats.h"
#include "kit/timer.h"
#include "pingpong/slot.h"

#define SERIES_LISTED_MAX 64
#define SERIES_PATIENCE 8 /* factor of the cap on a machine that disturbs almost every batch */

/* Number of batches, and time limits. The end of a series does not depend on the values, because stopping at a narrow interval
 * would select a quiet moment. */
struct effort {
    uint64_t cap_ns;
    uint64_t least_ns;
    size_t least;    /* batches */
};

struct batch {
    uint64_t ticks; /* without the time for reading the counter */
    size_t address;
};

struct series {
    struct batch *batches;      /* those in which no thread was descheduled */
    double *sorted, *residuals; /* for the statistics */
    size_t most, addresses, count, dropped;
    uint64_t spent_ns; /* on this method */
};

/* The reported values of a series. */
struct figures {
    size_t dropped, addresses, listed;
    bool capped, ordered; /* whether the list is sorted */
    int64_t ns[SERIES_LISTED_MAX]; /* of batches */
    struct stats stats;   /* ticks of a batch; if the count is 0, nothing else is set */
    double p25, address_p25[SLOT_ADDRESSES_MAX]; /* ticks of a batch; negative if there is none */
    double ps_per_tick;   /* per message or line */
    int64_t elapsed_ns;
};

/* Allocates room for `most` batches; ends the program with 3 if there is none. */
void series_open(struct series *series, size_t most);
void series_close(struct series *series);

/* Restarts with batches over this many addresses. */
void series_begin(struct series *series, size_t addresses);

/* Adds a batch; discards it if there is no room. */
void series_add(struct series *series, uint64_t ticks, size_t address);

/* Drops the batches from the `from`-th on, in which a thread was descheduled. */
void series_drop(struct series *series, size_t from);

/* Whether the series has enough batches and has taken enough time, or is full. */
bool series_enough(const struct series *series, const struct effort *effort);

/* Whether the time is over. */
bool series_spent(const struct series *series, const struct effort *effort);

/* Computes the result with `messages` per batch. Drops batches during which a hypervisor took the CPU, which causes no context
 * switch. */
void series_finish(struct series *series, const struct timer *timer, const struct effort *effort, uint64_t messages,
                   struct figures *figures);

#endif
