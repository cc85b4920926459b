#include "chase/chain.h"

#include "kit/numbers.h"

#define AHEAD 32 /* lines whose place is fetched before it is needed: the misses overlap */

/* Separates the draws of places inside a cell from the draws of predecessors. */
#define PLACE_STREAM 0x9e3779b97f4a7c15u

struct node *chain_line(const struct chain *chain, uint64_t k)
{
    uint64_t line = k * chain->cell;
    if (chain->cell > 1)
        line += random_below(random_at(chain->seed ^ PLACE_STREAM, k), chain->cell);
    return (struct node *)(chain->start + line * chain->stride);
}

/* The line that line k > 0 is put behind. */
static struct node *predecessor(const struct chain *chain, uint64_t k)
{
    return chain_line(chain, random_below(random_at(chain->seed, k), k));
}

static void single_line(struct chain *chain, uint64_t cell)
{
    chain->cell = cell;
    chain->lines = 1;
    struct node *first = chain_line(chain, 0);
    first->next = first;
}

void chain_init(struct chain *chain)
{
    single_line(chain, 1);
}

struct extent chain_extent(const struct chain *chain, uint64_t bytes)
{
    uint64_t span_lines = bytes / chain->stride;
    uint64_t cell = (span_lines + chain->max_lines - 1) / chain->max_lines;
    return (struct extent){span_lines / cell, cell};
}

static void grow(struct chain *chain, uint64_t lines)
{
    struct node *behind[AHEAD];
    while (chain->lines < lines) {
        uint64_t count = lines - chain->lines < AHEAD ? lines - chain->lines : AHEAD;
        for (uint64_t i = 0; i < count; i++) {
            behind[i] = predecessor(chain, chain->lines + i);
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

static bool shrink(struct chain *chain, uint64_t lines)
{
    struct node *behind[AHEAD];
    bool whole = true;
    while (whole && chain->lines > lines) {
        uint64_t count = chain->lines - lines < AHEAD ? chain->lines - lines : AHEAD;
        for (uint64_t i = 0; i < count; i++) {
            behind[i] = predecessor(chain, chain->lines - 1 - i);
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

bool chain_resize(struct chain *chain, struct extent extent)
{
    if (extent.cell != chain->cell)
        single_line(chain, extent.cell);
    if (extent.lines < chain->lines)
        return shrink(chain, extent.lines);
    grow(chain, extent.lines);
    return true;
}

bool chain_holds(const struct chain *chain, const struct node *node)
{
    uint64_t offset = (uint64_t)((const char *)node - chain->start);
    return offset < chain->lines * chain->cell * chain->stride && offset % chain->stride == 0;
}
