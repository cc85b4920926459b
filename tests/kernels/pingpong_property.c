/* Tests what pingpong measures with: every walk visits each line once, every fault is detected, and the results are those of the
 * batches. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong/exchange.h"
#include "pingpong/ring.h"
#include "pingpong/series.h"
#include "pingpong/slot.h"

#define LINE 64

static void walks_see_every_line_and_differ(uint64_t lines, uint64_t seed)
{
    struct ring ring = ring_make(lines, LINE, seed);
    char *memory = aligned_alloc(4096, ring_span(&ring)), *seen = malloc(ring_span(&ring) / LINE);
    uint64_t differences = 0;
    for (uint64_t turn = 1; turn <= 5; turn++) {
        const struct link *third = NULL, *before = turn > 1 ? ring_walk(ring_begin(&ring, memory, turn - 1), 3).at : NULL;
        ring_write(&ring, memory, turn);
        struct walk walk = ring_begin(&ring, memory, turn);
        memset(seen, 0, ring_span(&ring) / LINE);
        for (uint64_t step = 0; step < lines; step++) {
            uint64_t offset = (uint64_t)((const char *)walk.at - memory);
            assert(offset % LINE == 0 && offset < ring_span(&ring) && !seen[offset / LINE]);
            seen[offset / LINE] = 1;
            third = step == 3 ? walk.at : third;
            walk = ring_walk(walk, 1);
        }
        differences += third != before;
        assert(ring_is_whole(&ring, memory, turn, walk));
        assert(!ring_is_whole(&ring, memory, turn + 1, walk));
    }
    assert(differences > 3);
    ring_flush(&ring, memory);
    ring_free(&ring);
    free(memory);
    free(seen);
}

static void a_wrong_line_is_seen(void)
{
    struct ring ring = ring_make(64, LINE, 3);
    char *memory = aligned_alloc(4096, ring_span(&ring));
    for (uint64_t victim = 0; victim < 64; victim++) {
        ring_write(&ring, memory, 9);
        struct link *line = (struct link *)(memory + ring.places[victim] * LINE), whole = *line;
        line->stamp++;
        assert(!ring_is_whole(&ring, memory, 9, ring_walk(ring_begin(&ring, memory, 9), 64)));
        *line = whole;
        line->next = whole.next->next;
        assert(!ring_is_whole(&ring, memory, 9, ring_walk(ring_begin(&ring, memory, 9), 64)));
        *line = whole;
        assert(ring_is_whole(&ring, memory, 9, ring_walk(ring_begin(&ring, memory, 9), 64)));
    }
    ring_free(&ring);
    free(memory);
}

static void a_message_out_of_order_is_returned(void)
{
    exchange_word word;
    exchange_loop *followers[] = {exchange_token_follow, exchange_cas_follow};
    for (int i = 0; i < 2; i++) {
        atomic_init(&word, 7); /* where 0 or 1 may be */
        assert(followers[i](&word, 0, 4) == 7);
        atomic_init(&word, UINT64_MAX);
        assert(followers[i](&word, 0, 4) == UINT64_MAX);
        assert(atomic_load(&word) == UINT64_MAX);
        atomic_init(&word, 1);
        assert(followers[i](&word, 0, 1) == 2 && atomic_load(&word) == 2);
    }
    atomic_init(&word, 9);
    assert(exchange_cas_lead(&word, 0, 4) == 9);
    atomic_init(&word, 6);
    assert(exchange_cas_lead(&word, 6, 1) == 8 && atomic_load(&word) == 7);
}

/* Batches take 100 at one address and 300 at the other. One batch takes 5000000, because its CPU was taken away without being
 * noticed. */
static void figures_are_those_of_the_batches(void)
{
    struct timer timer = {.ns_per_tick = 0.5};
    struct effort effort = {.cap_ns = 1000000000, .least = 8};
    struct series series;
    struct figures figures;
    series_open(&series, 64);
    series_begin(&series, 3);
    assert(!series_enough(&series, &effort) && !series_spent(&series, &effort));
    for (int i = 0; i < 20; i++)
        series_add(&series, i == 7 ? 5000000 : i % 2 ? 301 : 100, (size_t)(i % 2));
    series_drop(&series, 18);
    series_finish(&series, &timer, &effort, 10, &figures);
    assert(figures.stats.count == 17 && figures.dropped == 3 && figures.listed == 17 && !figures.ordered);
    assert(figures.ns[0] == 50 && figures.ns[1] == 151);
    assert(figures.address_p25[0] == 100 && figures.address_p25[1] == 301 && figures.address_p25[2] < 0);
    assert(figures.stats.median == 100 && figures.stats.min == 100 && figures.stats.max == 301 && figures.p25 == 100);
    assert(figures.ps_per_tick == 50 && !figures.capped);
    assert(figures.stats.effective == 17); /* alternating addresses are not a disturbance */
    series_close(&series);
}

static void no_batch_is_no_figure(void)
{
    struct timer timer = {.ns_per_tick = 1};
    struct effort effort = {.cap_ns = 1, .least = 2};
    struct series series;
    struct figures figures;
    series_open(&series, 4);
    series_begin(&series, 1);
    for (int i = 0; i < 9; i++)
        series_add(&series, 5, 0);
    assert(series.count == 4 && series_enough(&series, &effort)); /* no more room */
    series_drop(&series, 0);
    series_finish(&series, &timer, &effort, 1, &figures);
    assert(figures.stats.count == 0 && figures.dropped == 4 && figures.capped && figures.p25 < 0 && figures.listed == 0);
    series_close(&series);
}

static void words_of_a_slot_are_apart(void)
{
    struct ring ring = ring_make(64, LINE, 1);
    struct layout layout = layout_make(4, &ring, 5);
    char *memory = aligned_alloc(4096, layout.bytes);
    memset(memory, 0xff, layout.bytes);
    for (uint64_t serial = 0; serial < 50; serial++) {
        struct slot slot = {&layout, memory, serial};
        slot_prepare(&slot);
        for (size_t i = 0; i < 4 * SLOT_KINDS; i++) {
            char *word = (char *)slot_word(&slot, i / SLOT_KINDS, i % SLOT_KINDS);
            assert(*(uint64_t *)word == 0 && word >= memory + 4096 && word + 8 <= slot_ring(&slot));
            for (size_t k = 0; k < i; k++)
                assert(labs((char *)slot_word(&slot, k / SLOT_KINDS, k % SLOT_KINDS) - word) >= TEAM_LINE);
        }
    }
    assert(slot_ring(&(struct slot){&layout, memory, 0}) + ring_span(&ring) <= memory + layout.bytes);
    ring_free(&ring);
    free(memory);
}

int main(void)
{
    for (uint64_t lines = 64; lines <= 4096; lines *= 4)
        walks_see_every_line_and_differ(lines, lines + 1);
    a_wrong_line_is_seen();
    a_message_out_of_order_is_returned();
    figures_are_those_of_the_batches();
    no_batch_is_no_figure();
    words_of_a_slot_are_apart();
    puts("ok");
    return 0;
}
