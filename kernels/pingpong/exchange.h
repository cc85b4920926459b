/* Messages over one line, one at a time: the timed loops. Kept apart from all else so that what the compiler made of them can be
 * looked at by name. No pause instruction in the polls: it costs up to 140 cycles, which would be measured.
 *
 * A wait that is far longer than any message naps: the other thread lost its CPU. Whoever polls on uses up its own share of a busy
 * CPU, and would have lost it when the other one is back; whoever slept gets the CPU at once. The batch is dropped either way.
 *
 * The word counts the messages: even when it is the leader's turn to write, odd when it is the follower's. A turn is a message of
 * each, a round trip. Whoever sees another number than the one before its own message or the one awaited stops and returns it;
 * without that, the number after the last message is returned. */
#ifndef PINGPONG_EXCHANGE_H
#define PINGPONG_EXCHANGE_H

#include <stdatomic.h>
#include <stdint.h>

typedef atomic_uint_least64_t exchange_word;

/* Makes `turns` round trips, starting at the even number `at`. */
typedef uint64_t exchange_loop(exchange_word *word, uint64_t at, uint64_t turns);

/* Stores and polls: the polling thread holds the line in shared state, so that the writer has to request ownership first. */
exchange_loop exchange_token_lead, exchange_token_follow;

/* Compare-and-swap until it succeeds: the waiting thread requests ownership with each attempt. The leader returns after its last
 * message without waiting for the reply. */
exchange_loop exchange_cas_lead, exchange_cas_follow;

/* Waits until the word is `at`. */
void exchange_await(exchange_word *word, uint64_t at);

/* Sleeps for a moment. */
void exchange_nap(void);

#endif
