#include "pingpong/exchange.h"

#include <time.h>

#define POLLS_MOST 65536 /* tens of microseconds or more; messages take less than two */
#define SWAPS_MOST 4096 /* each takes longer */
#define NAP_NS 50000

__attribute__((noinline, cold)) void exchange_nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* Sleeps and returns the restarted count. */
static unsigned nap_for(unsigned count)
{
    exchange_nap();
    return count;
}

/* Polls `word` once and returns from the function with the new value if it differs from `old`. */
#define POLL \
    if ((seen = atomic_load_explicit(word, memory_order_acquire)) != old) \
        return seen;

/* Waits until the word differs from `old`. Polls are counted in groups of eight, because a counter beside each poll adds 3 ns. */
static inline uint64_t poll(exchange_word *word, uint64_t old)
{
    uint64_t seen;
    for (unsigned left = POLLS_MOST / 8;; left--) {
        POLL POLL POLL POLL POLL POLL POLL POLL
        if (left == 0)
            left = nap_for(POLLS_MOST / 8);
    }
}

__attribute__((noinline)) uint64_t exchange_token_lead(exchange_word *word, uint64_t at, uint64_t turns)
{
    for (; turns > 0; turns--, at += 2) {
        atomic_store_explicit(word, at + 1, memory_order_release);
        uint64_t seen = poll(word, at + 1);
        if (seen != at + 2)
            return seen;
    }
    return at;
}

__attribute__((noinline)) uint64_t exchange_token_follow(exchange_word *word, uint64_t at, uint64_t turns)
{
    for (; turns > 0; turns--, at += 2) {
        uint64_t seen = poll(word, at);
        if (seen != at + 1)
            return seen;
        atomic_store_explicit(word, at + 2, memory_order_release);
    }
    return at;
}

/* Replaces `from` with the next number as soon as `from` arrives. Until then, the word contains the number before `from`. */
static inline uint64_t swap(exchange_word *word, uint64_t from)
{
    for (unsigned left = SWAPS_MOST;; left--) {
        uint64_t seen = from;
        if (atomic_compare_exchange_strong_explicit(word, &seen, from + 1, memory_order_acq_rel, memory_order_acquire))
            return from + 1;
        if (seen != from - 1)
            return seen;
        if (left == 0)
            left = nap_for(SWAPS_MOST);
    }
}

__attribute__((noinline)) uint64_t exchange_cas_lead(exchange_word *word, uint64_t at, uint64_t turns)
{
    for (; turns > 0; turns--, at += 2) {
        uint64_t seen = swap(word, at);
        if (seen != at + 1)
            return seen;
    }
    return at;
}

__attribute__((noinline)) uint64_t exchange_cas_follow(exchange_word *word, uint64_t at, uint64_t turns)
{
    for (; turns > 0; turns--, at += 2) {
        uint64_t seen = swap(word, at + 1);
        if (seen != at + 2)
            return seen;
    }
    return at;
}

void exchange_await(exchange_word *word, uint64_t at)
{
    while (atomic_load_explicit(word, memory_order_acquire) != at)
        poll(word, at - 1);
}
