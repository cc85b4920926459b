/* Grows and shrinks chains with many lengths, strides, cells, windows and seeds. Each chain is walked with a plain count and a
 * map of the visited lines, which differs from the kernel's own check. That check is run as well, and must also find the faults
 * that this test introduces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/chain.h"
#include "kit/chaincheck.h"
#include "kit/numbers.h"

#define BYTES (1 << 22)

static char *memory;
static unsigned char visited[BYTES / 16];

static void require(int holds, const char *what, const struct chain *chain)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %llu lines, stride %llu, cell %llu, window %llu, seed %llu\n", what, (unsigned long long)chain->lines,
            (unsigned long long)chain->stride, (unsigned long long)chain->cell, (unsigned long long)chain->window,
            (unsigned long long)chain->seed);
    exit(1);
}

static void check_one_cycle(const struct chain *chain)
{
    const struct node *first = chain_line(chain, 0), *node = first;
    uint64_t count = 0;
    memset(visited, 0, sizeof visited);
    do {
        uint64_t at = (uint64_t)((const char *)node - chain->start) / 16;
        require(chain_holds(chain, node), "outside", chain);
        require(!visited[at], "visited twice", chain);
        visited[at] = 1;
        node = node->next;
        count++;
    } while (node != first && count <= chain->lines);
    require(count == chain->lines, "not all lines", chain);
    require(chain_check(chain), "refused by the self-check", chain);
}

/* Every window is walked to its end before the next one begins, so the walk enters as many windows as there are. */
static void check_windows(const struct chain *chain)
{
    const struct node *first = chain_line(chain, 0), *node = first;
    uint64_t entered = 0, before = UINT64_MAX, moved = 0, last = 0;
    do {
        uint64_t line = (uint64_t)((const char *)node - chain->start) / chain->stride / chain->cell, window = line / chain->window;
        entered += window != before;
        moved += window == before && line != last + 1;
        before = window;
        last = line;
        node = node->next;
    } while (node != first);
    require(entered == (chain->lines + chain->window - 1) / chain->window, "a window is left before its end", chain);
    require(chain->window < 64 || chain->lines < chain->window || moved > chain->lines / 2, "a window is walked in order", chain);
}

static void check_faults(struct chain *chain)
{
    if (chain->lines < 4)
        return;
    struct node *a = chain_line(chain, chain->lines / 2), *b = chain_line(chain, chain->lines - 1);
    struct node *next = a->next;
    a->next = b->next; /* two cycles that together contain all lines */
    b->next = next;
    require(!chain_check(chain), "two cycles pass", chain);
    b->next = a->next;
    a->next = a; /* the walk never returns to its start */
    require(!chain_check(chain), "a dead end passes", chain);
    a->next = (struct node *)(chain->start + chain->lines * chain->cell * chain->stride); /* a stray pointer */
    require(!chain_check(chain), "a stray pointer passes", chain);
    a->next = next;
    require(chain_check(chain), "a mended chain is refused", chain);
}

static void grow_and_shrink(uint64_t stride, uint64_t max_lines, uint64_t seed, uint64_t window)
{
    struct chain chain = {
        .start = memory, .bytes = BYTES, .stride = stride, .max_lines = max_lines, .seed = seed, .window = window};
    memset(memory, 0, BYTES);
    chain_init(&chain);
    for (int i = 0; i < 60; i++) {
        uint64_t bytes = 2 * stride + random_below(random_at(seed, (uint64_t)i), BYTES - 2 * stride) / (i % 3 ? 64 : 1);
        require(chain_resize(&chain, chain_extent(&chain, bytes)), "cannot be resized", &chain);
        require(chain.lines >= 2 && chain.lines <= max_lines, "wrong length", &chain);
        require((chain.lines + 1) * chain.cell * stride > bytes - stride, "does not span the size", &chain);
        check_one_cycle(&chain);
        if (window > 0)
            check_windows(&chain);
        check_faults(&chain);
    }
    struct node *last = chain_line(&chain, chain.lines - 1);
    last->next = last;
    require(!chain_resize(&chain, (struct extent){1, chain.cell}), "a changed chain comes apart", &chain);
}

int main(void)
{
    static const uint64_t strides[] = {16, 32, 48, 64, 128, 256, 1040, 4096}, windows[] = {0, 2, 3, 7, 64, 2048};
    memory = aligned_alloc(4096, BYTES);
    for (size_t s = 0; memory && s < sizeof strides / sizeof *strides; s++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            grow_and_shrink(strides[s], UINT32_MAX, seed, 0);
            grow_and_shrink(strides[s], 100, seed, windows[(s + seed) % 6]);
            grow_and_shrink(strides[s], UINT32_MAX, seed, windows[1 + (s + seed) % 5]);
        }
    puts(memory ? "ok" : "no memory");
    return 0;
}
