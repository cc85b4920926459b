/* The parts of a round, executed by both threads: a slice of a method, a probe, and waiting for the other thread. */
#ifndef PINGPONG_SLICE_H
#define PINGPONG_SLICE_H

#include "pingpong/exchange.h"
#include "pingpong/play.h"

/* A few batches of token or cas, each at the next address, or a walk of the chain in each direction. */
void slice_play(struct player *player, enum method method);

/* Measures the distance of the two CPUs with compare-and-swap at one address. */
void slice_probe(struct player *player, struct probe *probe);

/* Waits until the word is at least `least` and returns it. Sleeps if this takes longer than `late_ns`. */
uint64_t slice_await(exchange_word *word, uint64_t least, uint64_t late_ns);

#endif
