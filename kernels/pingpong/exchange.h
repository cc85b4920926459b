/* The timed loops that exchange messages over one line, one message at a time. They are in a separate file so that their machine
 * code can be inspected by name. The polling loops contain no pause instruction, because it takes up to 140 cycles, which would be
 * measured.
 *
 * If a thread waits far longer than any message takes, the other thread was descheduled, so the waiting thread sleeps. If it
 * continued to poll, it would use up its own share of a busy CPU and might be descheduled by the time the other thread returns. A
 * thread that slept gets the CPU immediately. The batch is dropped in either case.
 *
 * The word counts the messages. It is even when it is the leader's turn to write, and odd when it is the follower's. A turn is a
 * round trip: one message from each thread. If a thread sees a number other than the awaited one or the one before its own message,
 * it stops and returns that number. Otherwise, it returns the number after the last message. */
#ifndef PINGPONG_EXCHANGE_H
#define PINGPONG_EXCHANGE_H

#include <stdatomic.h>
#include <stdint.h>

typedef atomic_uint_least64_t exchange_word;

/* Makes `turns` round trips, starting at the even number `at`. */
typedef uint64_t exchange_loop(exchange_word *word, uint64_t at, uint64_t turns);

/* Stores and polls. The polling thread holds the line in the shared state, so the writer must first request ownership. */
exchange_loop exchange_token_lead, exchange_token_follow;

/* Repeats a compare-and-swap until it succeeds; each attempt of the waiting thread requests ownership. The leader returns after its
 * last message without waiting for the reply. */
exchange_loop exchange_cas_lead, exchange_cas_follow;

/* Waits until the word is `at`. */
void exchange_await(exchange_word *word, uint64_t at);

/* Sleeps for a moment. */
void exchange_nap(void);

#endif
