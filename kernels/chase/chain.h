/* The chain: one random cycle through the lines of a working set, which grows and shrinks in place.
 *
 * Line k is put behind a random one of the k lines before it. Each of the (n-1)! ways to draw gives another cycle, and there
 * are (n-1)! cycles, so every cycle is equally likely, as with Sattolo's shuffle (Inf. Proc. Letters 22, 1986), but a longer
 * chain costs only its new lines. Draws are a function of (seed, k): the newest line can be taken out again, and taking it out
 * checks that it stands where it was put. */
#ifndef CHASE_CHAIN_H
#define CHASE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chase/loop.h"

struct chain {
    char *start;         /* of the memory, `bytes` long, zeroed */
    uint64_t bytes;
    uint64_t stride;     /* bytes from line to line; a multiple of 16 */
    uint64_t max_lines;  /* a larger working set is walked sparsely */
    uint64_t seed;
    uint64_t lines;      /* in the cycle now */
    uint64_t cell;       /* 1: every line of the span. n: one of each n lines, at random */
};

/* Lines and cell width for a span of `bytes`. */
struct extent {
    uint64_t lines, cell;
};

void chain_init(struct chain *chain);
struct extent chain_extent(const struct chain *chain, uint64_t bytes);

/* Makes the cycle that of `extent`. False if the chain is found broken when lines are taken out. */
bool chain_resize(struct chain *chain, struct extent extent);

/* Where line k lies. */
struct node *chain_line(const struct chain *chain, uint64_t k);

/* Whether `node` is a line of the span, by its address. */
bool chain_holds(const struct chain *chain, const struct node *node);

#endif
