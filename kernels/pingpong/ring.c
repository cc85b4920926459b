#include "pingpong/ring.h"

#include <stdlib.h>

#include "kit/fail.h"
#include "kit/numbers.h"
#include "line.h"

#define CELL 16 /* one of this many lines is used; prefetchers would fetch most of a page of which every second line is used */

struct ring ring_make(uint64_t lines, uint64_t stride, uint64_t seed)
{
    struct ring ring = {.lines = lines, .stride = stride, .seed = seed, .places = calloc(lines, sizeof *ring.places)};
    if (!ring.places)
        fail(EXIT_ENVIRONMENT, "not enough memory to store the visiting order of %llu lines", (unsigned long long)lines);
    for (uint64_t i = 0; i < lines; i++) { /* Fisher and Yates, inside out */
        uint64_t k = random_below(random_at(seed, i), i + 1);
        ring.places[i] = ring.places[k];
        ring.places[k] = (uint32_t)(i * CELL + random_below(random_at(~seed, i), CELL));
    }
    return ring;
}

void ring_free(struct ring *ring)
{
    free(ring->places);
}

uint64_t ring_span(const struct ring *ring)
{
    return ring->lines * CELL * ring->stride;
}

void ring_flush(const struct ring *ring, char *start)
{
    for (uint64_t i = 0; i < ring->lines; i++)
        line_flush(start + ring->places[i] * ring->stride);
}

/* The `k`-th line of a walk: starts at a random line and continues in random odd steps, which visit every element of a power of
 * two. */
static inline struct link *line_at(const struct ring *ring, char *start, uint64_t from, uint64_t step, uint64_t k)
{
    return (struct link *)(start + ring->places[(from + k * step) % ring->lines] * ring->stride);
}

static uint64_t from_of(const struct ring *ring, uint64_t turn)
{
    return random_at(ring->seed, 2 * turn);
}

void ring_write(const struct ring *ring, char *start, uint64_t turn)
{
    uint64_t from = from_of(ring, turn), step = random_at(ring->seed, 2 * turn + 1) | 1;
    struct link *line = line_at(ring, start, from, step, 0);
    for (uint64_t k = 0; k < ring->lines; k++) {
        struct link *next = line_at(ring, start, from, step, k + 1);
        *line = (struct link){next, turn * ring->lines + k};
        line = next;
    }
}

struct walk ring_begin(const struct ring *ring, char *start, uint64_t turn)
{
    return (struct walk){line_at(ring, start, from_of(ring, turn), 1, 0), 0};
}

__attribute__((noinline)) struct walk ring_walk(struct walk walk, uint64_t steps)
{
    for (; steps > 0; steps--) {
        walk.sum += walk.at->stamp; /* reads a line that has arrived by then, so it is not part of the chain of loads */
        walk.at = walk.at->next;
    }
    return walk;
}

bool ring_is_whole(const struct ring *ring, char *start, uint64_t turn, struct walk walk)
{
    uint64_t sum = ring->lines * (turn * ring->lines) + ring->lines * (ring->lines - 1) / 2;
    return walk.at == ring_begin(ring, start, turn).at && walk.sum == sum;
}
