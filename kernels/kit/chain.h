/* The chain: one random cycle through the lines of a working set, or through one window of them after another, which grows and
 * shrinks in place.
 *
 * Line k is inserted after a random one of the k lines before it. The (n-1)! possible sequences of random choices produce (n-1)!
 * different cycles, so every cycle is equally likely, as with Sattolo's shuffle (Inf. Proc. Letters 22, 1986). Unlike with that
 * shuffle, a longer chain costs only the insertion of its new lines. Each choice is a function of (seed, k), so the newest line can
 * be removed again, and its removal verifies that it is still where it was inserted.
 *
 * With windows, a line is inserted after a random line of its window, but never after the window's last line, which is the second
 * one that was inserted. The first line of a window is inserted after the last line of a random earlier window. Therefore, each
 * window is walked completely before the next one, in random order from its first line to its last, and the windows follow one
 * another in random order. */
#ifndef KIT_CHAIN_H
#define KIT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/loop.h"
#include "kit/numbers.h"

#define CHAIN_AHEAD 32 /* lines that are prefetched before they are needed, so that misses overlap */

/* Makes the random positions within cells independent of the random predecessors. */
#define CHAIN_PLACE_STREAM 0x9e3779b97f4a7c15u

struct chain {
    char *start;         /* of the memory, `bytes` long, zeroed */
    uint64_t bytes;
    uint64_t stride;     /* bytes from line to line; a multiple of 16 */
    uint64_t max_lines;  /* a larger working set has a sparse chain */
    uint64_t seed;
    uint64_t window;     /* lines of a window, 2 or more; 0: no windows */
    uint64_t lines;      /* currently in the cycle */
    uint64_t cell;       /* 1: every line of the span; n: one random line out of each n */
};

struct extent {
    uint64_t lines, cell;
};

/* The address of line k. */
static inline struct node *chain_line(const struct chain *chain, uint64_t k)
{
    uint64_t line = k * chain->cell;
    if (chain->cell > 1)
        line += random_below(random_at(chain->seed ^ CHAIN_PLACE_STREAM, k), chain->cell);
    return (struct node *)(chain->start + line * chain->stride);
}

/* The line after which line `at` > 0 of a window that begins with line `first` is inserted. It is never the last line, line 1. */
static inline uint64_t chain_before_in_window(uint64_t draw, uint64_t first, uint64_t at)
{
    uint64_t drawn = at < 3 ? 0 : random_below(draw, at - 1);
    return first + drawn + (drawn > 0);
}

/* The line after which line k > 0 is inserted. */
static inline struct node *chain_predecessor(const struct chain *chain, uint64_t k)
{
    uint64_t draw = random_at(chain->seed, k), window = chain->window;
    if (window == 0)
        return chain_line(chain, random_below(draw, k));
    if (k % window == 0)
        return chain_line(chain, random_below(draw, k / window) * window + 1);
    return chain_line(chain, chain_before_in_window(draw, k - k % window, k % window));
}

static inline void chain_single_line(struct chain *chain, uint64_t cell)
{
    chain->cell = cell;
    chain->lines = 1;
    struct node *first = chain_line(chain, 0);
    first->next = first;
}

static inline void chain_init(struct chain *chain)
{
    chain_single_line(chain, 1);
}

/* The number of lines and the cell width for a span of `bytes`. */
static inline struct extent chain_extent(const struct chain *chain, uint64_t bytes)
{
    uint64_t span_lines = bytes / chain->stride;
    uint64_t cell = (span_lines + chain->max_lines - 1) / chain->max_lines;
    return (struct extent){span_lines / cell, cell};
}

static inline void chain_grow(struct chain *chain, uint64_t lines)
{
    struct node *behind[CHAIN_AHEAD];
    while (chain->lines < lines) {
        uint64_t count = lines - chain->lines < CHAIN_AHEAD ? lines - chain->lines : CHAIN_AHEAD;
        for (uint64_t i = 0; i < count; i++) {
            behind[i] = chain_predecessor(chain, chain->lines + i);
            __builtin_prefetch(behind[i], 1);
        }
        for (uint64_t i = 0; i < count; i++) {
            struct node *line = chain_line(chain, chain->lines + i);
            line->next = behind[i]->next;
            behind[i]->next = line;
        }
        chain->lines += count;
    }
}

static inline bool chain_shrink(struct chain *chain, uint64_t lines)
{
    struct node *behind[CHAIN_AHEAD];
    bool whole = true;
    while (whole && chain->lines > lines) {
        uint64_t count = chain->lines - lines < CHAIN_AHEAD ? chain->lines - lines : CHAIN_AHEAD;
        for (uint64_t i = 0; i < count; i++) {
            behind[i] = chain_predecessor(chain, chain->lines - 1 - i);
            __builtin_prefetch(behind[i], 1);
        }
        for (uint64_t i = 0; i < count; i++) {
            struct node *line = chain_line(chain, chain->lines - 1 - i);
            whole = whole && behind[i]->next == line;
            behind[i]->next = line->next;
        }
        chain->lines -= count;
    }
    const struct node *first = chain_line(chain, 0);
    return whole && (lines > 1 || first->next == first);
}

/* Changes the cycle to that of `extent`. Returns false if the removal of a line shows that the chain was damaged. */
static inline bool chain_resize(struct chain *chain, struct extent extent)
{
    if (extent.cell != chain->cell)
        chain_single_line(chain, extent.cell);
    if (extent.lines < chain->lines)
        return chain_shrink(chain, extent.lines);
    chain_grow(chain, extent.lines);
    return true;
}

/* Whether `node` is a line of the span, by its address. */
static inline bool chain_holds(const struct chain *chain, const struct node *node)
{
    uint64_t offset = (uint64_t)((const char *)node - chain->start);
    return offset < chain->lines * chain->cell * chain->stride && offset % chain->stride == 0;
}

#endif
