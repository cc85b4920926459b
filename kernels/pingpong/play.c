#include "pingpong/play.h"

#include <string.h>

#include "kit/loop.h"
#include "kit/numbers.h"
#include "pingpong/slice.h"

#define CYCLE_PROBES 7
#define PLAN_STEP 32    /* a plan is the number of its round, multiplied by this, plus bits that say what the threads do */
#define PLAN_PROBE 8    /* the bits below this one are the methods */
#define PLAN_LAST 16
#define PLAN_LATE_NS 100000 /* both threads just ended the same exchange; a longer wait means that one was descheduled */

size_t play_results(enum method method)
{
    return method == METHOD_CHAIN ? 2 : 1;
}

/* The current duration of a core cycle in femtoseconds: the fastest of a few, because disturbances only make it longer. */
static int64_t cycle_fs(const struct timer *timer)
{
    uint64_t adds = loop_probe_adds(timer), fastest = UINT64_MAX;
    for (int i = 0; i < CYCLE_PROBES; i++) {
        uint64_t before = cpu_ticks();
        loop_adds(adds);
        uint64_t ticks = timer_net(timer, before, cpu_ticks());
        fastest = ticks < fastest ? ticks : fastest;
    }
    return (int64_t)((double)fastest * timer->ns_per_tick * 1e6 / (double)adds + 0.5);
}

/* A slice of each of the methods in `bits`, in an order that is random and the same in both threads. */
static void play_round(struct player *player, uint64_t bits)
{
    const struct rules *rules = player->game->rules;
    uint64_t seed = random_at(rules->layout.seed, player->game->slot.serial);
    enum method order[PLAY_METHODS];
    for (size_t i = 0; i < rules->method_count; i++) { /* Fisher and Yates, inside out */
        size_t k = random_below(random_at(seed, player->rounds * PLAY_METHODS + i), i + 1);
        order[i] = order[k];
        order[k] = rules->methods[i];
    }
    for (size_t i = 0; i < rules->method_count && !player->fault; i++)
        if (bits >> order[i] & 1)
            slice_play(player, order[i]);
    player->rounds++;
}

static const struct effort *effort_of(const struct rules *rules, enum method method)
{
    return method == METHOD_CHAIN ? &rules->chain_effort : &rules->effort;
}

/* The methods of the next round, as bits: all methods that have time and room left, or none once every method has enough batches or
 * has run out of time. */
static uint64_t methods_left(const struct player *player)
{
    const struct rules *rules = player->game->rules;
    bool settled = atomic_load_explicit(&slot_control(&player->game->slot)->settled, memory_order_relaxed), over = true;
    uint64_t left = 0;
    for (size_t i = 0; i < rules->method_count; i++) {
        enum method method = rules->methods[i];
        const struct series *series = &player->series[method];
        const struct effort *effort = effort_of(rules, method);
        bool enough = series_enough(series, effort) && (settled || method != METHOD_CHAIN);
        bool spent = series_spent(series, effort) || (enough && series->count == series->most);
        over &= enough || spent;
        left |= spent ? 0 : (uint64_t)1 << method;
    }
    return over ? 0 : left;
}

/* Determines what both threads do in a round: the leader decides and tells the follower. The threads probe until their cores have
 * had time to raise their clocks; only the last of these probes counts. */
static uint64_t agree(const struct player *player, uint64_t round)
{
    exchange_word *plan = &slot_control(&player->game->slot)->plan;
    if (!player->leads)
        return slice_await(plan, round * PLAN_STEP, PLAN_LATE_NS) % PLAN_STEP;
    uint64_t bits = PLAN_PROBE;
    if (round > 1 && timer_monotonic_ns() >= player->warm_until_ns) {
        uint64_t left = methods_left(player);
        bits = left ? left : PLAN_PROBE | PLAN_LAST;
    }
    atomic_store_explicit(plan, round * PLAN_STEP + bits, memory_order_release);
    return bits;
}

static void begin(struct player *player)
{
    const struct rules *rules = player->game->rules;
    player->warm_until_ns = timer_monotonic_ns() + PLAY_WARM_NS;
    player->probed = player->rounds = 0;
    memset(player->slices, 0, sizeof player->slices);
    for (size_t i = 0; i < rules->method_count; i++)
        series_begin(&player->series[rules->methods[i]], rules->methods[i] == METHOD_CHAIN ? 1 : rules->layout.addresses);
}

/* The result of the follower's chain follows that of the leader's. */
static void finish(struct player *player)
{
    const struct rules *rules = player->game->rules;
    struct result *result = player->game->results;
    for (size_t i = 0; i < rules->method_count; i++) {
        enum method method = rules->methods[i];
        struct result *mine = player->leads ? result : &result[1];
        uint64_t turns = method == METHOD_CHAIN ? rules->steps : rules->turns;
        uint64_t messages = method == METHOD_CHAIN ? turns : 2 * turns;
        result += play_results(method);
        if (!player->leads && method != METHOD_CHAIN)
            continue;
        *mine = (struct result){.method = method, .reversed = !player->leads, .turns = turns, .messages = messages};
        series_finish(&player->series[method], rules->timer, effort_of(rules, method), messages, &mine->figures);
        mine->cycle_fs = cycle_fs(rules->timer);
    }
}

void play(struct player *player)
{
    uint64_t bits = 0;
    begin(player);
    for (uint64_t round = 1; !player->fault && !(bits & PLAN_LAST); round++) {
        bits = agree(player, round);
        if (bits & PLAN_PROBE)
            slice_probe(player, &player->game->probes[bits & PLAN_LAST ? PROBE_AFTER : PROBE_BEFORE]);
        else
            play_round(player, bits);
    }
    finish(player);
}
