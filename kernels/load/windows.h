/* Windows: latency of the chain and bandwidth of the load threads over the same short time, again and again.
 *
 * With a chain a window lasts as long as some slices of dependent loads do; without one, as long as the thread sleeps. At its end
 * the steps of all load threads are read. A window in which the chain or a load thread lost its CPU is dropped. */
#ifndef LOAD_WINDOWS_H
#define LOAD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/chain.h"
#include "kit/timer.h"
#include "load/crew.h"

#define WINDOWS_MAX 4096
#define WINDOWS_SPARE_MAX 256
#define WINDOWS_CHAIN_NS 200000   /* about; the chain's loads make it exact */
#define WINDOWS_SLEEP_NS 500000   /* without a chain: waking up takes some ten microseconds */
#define WINDOWS_SLICES 16         /* of a chain's window, at most */

/* Chain's loads, adds beside them, steps of all load threads, and how long the window was. */
struct window {
    uint64_t load_ticks, add_ticks, steps, span_ticks;
};

/* Who measures: the chain or, without one, a thread that sleeps. */
struct sampler {
    const struct timer *timer;
    struct crew *crew;
    const struct chain *chain;        /* NULL: none */
    struct node *at;
    uint64_t turns, slices;           /* of a window: slices, and turns of the loop in each */
    uint64_t sleep_ns;
    struct crew_count count;          /* when the last window ended, */
    uint64_t ticks;                   /* and the counter then */
    long switches;                    /* context switches of this thread till then */
};

struct windows {
    struct window list[WINDOWS_MAX], spare[WINDOWS_SPARE_MAX]; /* spare: the first of those that were dropped */
    uint64_t count, dropped;
    bool kept_last; /* whether the window before the next one is the last in the list */
};

/* Begins anew after an order to the crew: lets it settle, and fits the length of windows to the latency. */
void windows_begin(struct sampler *sampler, struct windows *windows);

/* Takes one more window, or drops it; false if it was dropped. The list must not be full when there is a chain; without one the windows
 * become fewer and longer. */
bool windows_take(struct sampler *sampler, struct windows *windows);

/* Takes back what was dropped, for want of anything better. */
void windows_restore(struct windows *windows);

/* Dependent loads of a window. */
uint64_t windows_loads(const struct sampler *sampler);

/* Of one window, in ns a load and bytes a second. */
double windows_latency_ns(const struct sampler *sampler, const struct window *window);
double windows_bandwidth(const struct sampler *sampler, const struct window *window);

#endif
