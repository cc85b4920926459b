/* Windows: repeated measurements of the chain's latency and the load threads' bandwidth over the same short time.
 *
 * With a chain, a window lasts as long as several slices of dependent loads; without one, it lasts as long as the thread sleeps. At
 * its end, the step counts of all load threads are read. A window in which the chain or a load thread was descheduled
 * is dropped. */
#ifndef LOAD_WINDOWS_H
#define LOAD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/chain.h"
#include "kit/timer.h"
#include "load/crew.h"

#define WINDOWS_MAX 4096
#define WINDOWS_SPARE_MAX 256
#define WINDOWS_CHAIN_NS 200000   /* approximate; the chain's loads determine it exactly */
#define WINDOWS_SLEEP_NS 500000   /* without a chain: waking up takes some ten microseconds */
#define WINDOWS_SLICES 16         /* maximum for a window with a chain */

/* A window: its duration, loads of the chain, adds, steps of all load threads. */
struct window {
    uint64_t load_ticks, add_ticks, steps, span_ticks;
};

/* The measuring thread: runs the chain or, without one, sleeps. */
struct sampler {
    const struct timer *timer;
    struct crew *crew;
    const struct chain *chain;        /* NULL: none */
    struct node *at;
    uint64_t turns, slices;           /* of a window: slices, and turns of the loop in each */
    uint64_t sleep_ns;
    struct crew_count count;          /* time at which the last window ended, */
    uint64_t ticks;                   /* and the counter at that time */
    long switches;                    /* context switches of this thread at that time */
};

struct windows {
    struct window list[WINDOWS_MAX], spare[WINDOWS_SPARE_MAX]; /* spare: the first of those that were dropped */
    uint64_t count, dropped;
    bool kept_last; /* whether the window before the next one is the last in the list */
};

/* Walks the chain until its latency no longer falls. The first loads are up to 80 % slower, because page-table entries (of a guest
 * and its host) must be read from memory, and lines that were written when the memory was filled are evicted. */
void windows_warm(struct sampler *sampler);

/* Restarts after a command to the crew: waits until it has adapted, and adjusts the length of windows to the latency. */
void windows_begin(struct sampler *sampler, struct windows *windows);

/* Measures another window; returns false if it was dropped. With a chain, the list must not be full; without one, windows are
 * merged. */
bool windows_take(struct sampler *sampler, struct windows *windows);

/* Restores dropped windows if there are no others. */
void windows_restore(struct windows *windows);

/* Number of dependent loads in a window. */
uint64_t windows_loads(const struct sampler *sampler);

/* The values of one window, in ns per load and bytes per second. */
double windows_latency_ns(const struct sampler *sampler, const struct window *window);
double windows_bandwidth(const struct sampler *sampler, const struct window *window);

#endif
