/* Tests how pingpong spreads its methods over time. Only the leader runs, with exchanges that only record which method called
 * them, and that take as long as the distance set by the test. */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong/play.h"

#define CALLS_MOST 100000
#define TURNS 50
#define NEAR_NS 3000 /* of a batch */
#define FAR_NS 12000

static char calls[CALLS_MOST]; /* one character for each timed exchange: t, c, or p for a probe */
static size_t count;
static bool moves, measured; /* the CPUs are far from one another once a method has been measured */

static uint64_t exchanged(char name, uint64_t at, uint64_t turns)
{
    if (turns == TURNS || turns == PROBE_TURNS) {
        uint64_t until_ns = timer_monotonic_ns() + (moves && measured ? FAR_NS : NEAR_NS);
        assert(count < CALLS_MOST);
        measured |= turns == TURNS;
        calls[count++] = turns == PROBE_TURNS ? 'p' : name;
        while (timer_monotonic_ns() < until_ns)
            ;
    }
    return at + 2 * turns;
}

uint64_t exchange_token_lead(exchange_word *word, uint64_t at, uint64_t turns)
{
    (void)word;
    return exchanged('t', at, turns);
}

uint64_t exchange_cas_lead(exchange_word *word, uint64_t at, uint64_t turns)
{
    (void)word;
    return exchanged('c', at, turns);
}

uint64_t exchange_token_follow(exchange_word *word, uint64_t at, uint64_t turns)
{
    return exchange_token_lead(word, at, turns);
}

uint64_t exchange_cas_follow(exchange_word *word, uint64_t at, uint64_t turns)
{
    return exchange_cas_lead(word, at, turns);
}

void exchange_await(exchange_word *word, uint64_t at)
{
    (void)word;
    (void)at;
}

void exchange_nap(void)
{
}

static double middle_ns(const struct probe *probe)
{
    double ns[PROBE_BATCHES];
    for (size_t i = 0; i < probe->count; i++)
        ns[i] = (double)probe->ns[i];
    stats_sort(ns, probe->count);
    assert(probe->count > PROBE_BATCHES / 2 && probe->count + probe->dropped == PROBE_BATCHES);
    return stats_median(ns, probe->count);
}

/* Measures a pair. Afterward, `calls` contains the calls. */
static void measure(struct game *game, struct player *player, uint64_t seed, bool move)
{
    static struct timer timer;
    static struct rules rules;
    struct ring ring = ring_make(64, 64, seed);
    timer_start(&timer);
    timer_calibrate(&timer);
    rules = (struct rules){.timer = &timer, .methods = {METHOD_TOKEN, METHOD_CAS}, .method_count = 2, .turns = TURNS, .slice = 4,
                           .effort = {.cap_ns = 1000000000, .least = 64}, .ring = ring};
    rules.layout = layout_make(8, &ring, seed);
    char *memory = aligned_alloc(4096, rules.layout.bytes);
    *game = (struct game){.rules = &rules, .slot = {&rules.layout, memory, 3}};
    *player = (struct player){.game = game, .leads = true};
    for (int i = 0; i < 2; i++)
        series_open(&player->series[i], 4096);
    slot_prepare(&game->slot);
    count = 0;
    moves = move;
    measured = false;
    play(player);
    calls[count] = '\0';
    assert(!player->fault);
    for (int i = 0; i < 2; i++)
        series_close(&player->series[i]);
    ring_free(&ring);
    free(memory);
}

/* Stores one character for each slice between the probes. */
static void slices(char *found, size_t size)
{
    size_t first = strspn(calls, "p"), last = strcspn(calls + first, "p"), length = 0;
    assert(first >= PROBE_BATCHES && first % PROBE_BATCHES == 0 && strlen(calls + first + last) == PROBE_BATCHES);
    for (size_t i = first; i < first + last; i += 4) {
        assert(length + 1 < size && strspn(calls + i, (char[]){calls[i], 0}) >= 4);
        found[length++] = calls[i];
    }
    found[length] = '\0';
}

static void methods_alternate_in_a_random_order(void)
{
    struct game game;
    struct player player;
    char one[4096], again[4096], other[4096];
    measure(&game, &player, 1, false);
    slices(one, sizeof one);
    assert(strlen(one) >= 32);
    for (size_t i = 0; one[i]; i += 2)
        assert(strncmp(one + i, "tc", 2) == 0 || strncmp(one + i, "ct", 2) == 0); /* each method once in a round */
    assert(strstr(one, "tt") && strstr(one, "cc")); /* the first one varies */
    measure(&game, &player, 1, false);
    slices(again, sizeof again);
    measure(&game, &player, 2, false);
    slices(other, sizeof other);
    assert(strncmp(one, again, 32) == 0 && strncmp(one, other, 32) != 0);
}

static void probes_tell_that_a_cpu_moved(void)
{
    struct game game;
    struct player player;
    measure(&game, &player, 1, false);
    double before = middle_ns(&game.probes[PROBE_BEFORE]), after = middle_ns(&game.probes[PROBE_AFTER]);
    assert(after < 2 * before && before < 2 * after);
    measure(&game, &player, 1, true);
    before = middle_ns(&game.probes[PROBE_BEFORE]);
    after = middle_ns(&game.probes[PROBE_AFTER]);
    assert(after > 2 * before);
}

int main(void)
{
    methods_alternate_in_a_random_order();
    probes_tell_that_a_cpu_moved();
    puts("ok");
}
