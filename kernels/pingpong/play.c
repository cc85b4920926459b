#include "pingpong/play.h"

#include <sys/resource.h>

#include "kit/loop.h"
#include "pingpong/exchange.h"

#define WARM_TURNS 4    /* untimed, at the start of each batch, to fetch the line and to synchronize the threads */
#define MEETING 2       /* after these, a context switch counts */
#define LINE_LONG_NS 1000 /* upper bound of the time to walk and write a line */
#define CYCLE_PROBES 7

static const char *const out_of_order = "a message arrived out of order";

struct loops {
    exchange_loop *lead, *follow;
};

size_t play_results(enum method method)
{
    return method == METHOD_CHAIN ? 2 : 1;
}

static struct loops loops_of(enum method method)
{
    if (method == METHOD_TOKEN)
        return (struct loops){exchange_token_lead, exchange_token_follow};
    return (struct loops){exchange_cas_lead, exchange_cas_follow};
}

/* Whether the thread was descheduled since the last call. */
static bool lost_cpu(struct player *player)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    long before = player->switches;
    player->switches = usage.ru_nvcsw + usage.ru_nivcsw;
    return player->switches != before;
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

static void finish(struct player *player, const struct effort *effort, enum method method, uint64_t turns, uint64_t messages,
                   struct result *result)
{
    *result = (struct result){.method = method, .reversed = !player->leads, .turns = turns, .messages = messages};
    series_finish(&player->series, player->game->rules->timer, effort, messages, &result->figures);
    result->cycle_fs = cycle_fs(player->game->rules->timer);
}

/* The number with which batch `batch` starts, after the previous batches have advanced each word in turn. */
static uint64_t first_message(const struct rules *rules, uint64_t batch)
{
    return batch / rules->layout.addresses * 2 * (WARM_TURNS + rules->turns + 1);
}

/* One batch: untimed round trips, timed ones, and one in which the follower reports whether it was descheduled. */
static uint64_t lead_batch(struct player *player, struct loops loops, exchange_word *word, uint64_t at)
{
    const struct rules *rules = player->game->rules;
    uint64_t timed = at + 2 * WARM_TURNS, last = timed + 2 * rules->turns;
    uint64_t met = loops.lead(word, at, MEETING);
    lost_cpu(player);
    uint64_t warm = loops.lead(word, at + 2 * MEETING, WARM_TURNS - MEETING), before = cpu_ticks();
    uint64_t end = loops.lead(word, timed, rules->turns);
    uint64_t ticks = timer_net(rules->timer, before, cpu_ticks());
    if (met != at + 2 * MEETING || warm != timed || end != last || loops.lead(word, last, 1) != last + 2) {
        player->fault = out_of_order;
        return 0;
    }
    exchange_await(word, last + 2);
    return ticks;
}

static void lead_exchange(struct player *player, enum method method, struct result *result)
{
    const struct rules *rules = player->game->rules;
    struct control *control = slot_control(&player->game->slot);
    struct series *series = &player->series;
    size_t addresses = rules->layout.addresses;
    series_begin(series, addresses);
    for (uint64_t batch = 0; !player->fault; batch++) {
        size_t address = batch % addresses;
        exchange_word *word = slot_word(&player->game->slot, address, method);
        if (series_enough(series, &rules->effort) || series_spent(series, &rules->effort)) {
            atomic_store_explicit(word, EXCHANGE_STOP, memory_order_release);
            break;
        }
        uint64_t ticks = lead_batch(player, loops_of(method), word, first_message(rules, batch));
        player->messages += 2 * rules->turns;
        bool lost = lost_cpu(player) || atomic_load_explicit(&control->lost[false], memory_order_relaxed);
        if (timer_monotonic_ns() < player->warm_until_ns)
            continue;
        series_add(series, ticks, address);
        if (lost)
            series_drop(series, series->count - 1);
    }
    finish(player, &rules->effort, method, rules->turns, 2 * rules->turns, result);
}

static void follow_exchange(struct player *player, enum method method)
{
    const struct rules *rules = player->game->rules;
    struct control *control = slot_control(&player->game->slot);
    struct loops loops = loops_of(method);
    for (uint64_t batch = 0; !player->fault; batch++) {
        exchange_word *word = slot_word(&player->game->slot, batch % rules->layout.addresses, method);
        uint64_t at = first_message(rules, batch), met = at + 2 * MEETING, last = at + 2 * (WARM_TURNS + rules->turns);
        uint64_t seen = loops.follow(word, at, MEETING);
        if (seen == EXCHANGE_STOP)
            return;
        lost_cpu(player);
        uint64_t end = loops.follow(word, met, WARM_TURNS - MEETING + rules->turns);
        atomic_store_explicit(&control->lost[false], lost_cpu(player), memory_order_relaxed);
        if (seen != met || end != last || loops.follow(word, last, 1) != last + 2)
            player->fault = out_of_order;
    }
}

/* Walks the lines that the other thread wrote for `turn`, in timed batches. */
static void walk_ring(struct player *player, uint64_t turn)
{
    const struct rules *rules = player->game->rules;
    char *start = slot_ring(&player->game->slot);
    struct walk walk = ring_begin(&rules->ring, start, turn);
    for (uint64_t step = 0; step < rules->ring.lines; step += rules->steps) {
        uint64_t before = cpu_ticks();
        walk = ring_walk(walk, rules->steps);
        series_add(&player->series, timer_net(rules->timer, before, cpu_ticks()), 0);
    }
    if (!ring_is_whole(&rules->ring, start, turn, walk))
        player->fault = "a read of the chain did not see every line as written";
    player->lines += rules->ring.lines;
}

/* Waits until the other thread hands over; false if it has finished. Sleeps if this takes much longer than walking and writing
 * all lines. */
static bool await_turn(struct player *player, uint64_t turn)
{
    struct control *control = slot_control(&player->game->slot);
    uint64_t until_ns = timer_monotonic_ns() + player->game->rules->ring.lines * LINE_LONG_NS;
    for (;;) {
        uint64_t seen = atomic_load_explicit(&control->turn, memory_order_acquire);
        if (seen == turn || seen == EXCHANGE_STOP)
            return seen == turn;
        if (timer_monotonic_ns() > until_ns)
            exchange_nap();
    }
}

static bool chain_is_over(struct player *player)
{
    const struct effort *effort = &player->game->rules->chain_effort;
    bool other = atomic_load_explicit(&slot_control(&player->game->slot)->settled, memory_order_relaxed);
    return (series_enough(&player->series, effort) && other) || series_spent(&player->series, effort);
}

/* Walks the lines that the other thread wrote, writes them again, and hands over. Returns whether the thread was descheduled
 * during the walk. */
static bool take_turn(struct player *player, uint64_t turn)
{
    const struct rules *rules = player->game->rules;
    struct control *control = slot_control(&player->game->slot);
    size_t before = player->series.count;
    if (turn > 0)
        walk_ring(player, turn);
    if (timer_monotonic_ns() < player->warm_until_ns)
        player->series.count = before;
    bool lost = lost_cpu(player);
    ring_write(&rules->ring, slot_ring(&player->game->slot), turn + 1);
    if (!player->leads)
        atomic_store_explicit(&control->settled, series_enough(&player->series, &rules->chain_effort), memory_order_relaxed);
    atomic_store_explicit(&control->turn, turn + 1, memory_order_release);
    return lost;
}

/* The two threads take turns; the follower starts without a walk. A walk counts if the walking thread was not descheduled during
 * it, nor the other one from writing to the end of the walk: another program would evict the written lines. */
static void play_chain(struct player *player, struct result *result)
{
    const struct rules *rules = player->game->rules;
    struct control *control = slot_control(&player->game->slot);
    size_t judged = 0;
    bool lost = false;
    series_begin(&player->series, 1);
    for (uint64_t turn = player->leads; !player->fault; turn += 2) {
        bool more = turn == 0 || await_turn(player, turn);
        atomic_store_explicit(&control->lost[player->leads], lost_cpu(player), memory_order_relaxed);
        if (lost || atomic_load_explicit(&control->lost[!player->leads], memory_order_relaxed))
            series_drop(&player->series, judged);
        judged = player->series.count;
        if (!more || (player->leads && chain_is_over(player)))
            break;
        lost = take_turn(player, turn);
    }
    if (player->leads)
        atomic_store_explicit(&control->turn, EXCHANGE_STOP, memory_order_release);
    finish(player, &rules->chain_effort, METHOD_CHAIN, rules->steps, rules->steps, result);
}

/* The result of the follower's chain follows that of the leader's. */
static void play_method(struct player *player, enum method method, struct result *results)
{
    lost_cpu(player);
    if (method == METHOD_CHAIN)
        play_chain(player, &results[!player->leads]);
    else if (player->leads)
        lead_exchange(player, method, results);
    else
        follow_exchange(player, method);
}

void play(struct player *player)
{
    const struct rules *rules = player->game->rules;
    struct result *results = player->game->results;
    player->warm_until_ns = timer_monotonic_ns() + PLAY_WARM_NS;
    for (size_t i = 0; i < rules->method_count && !player->fault; i++) {
        play_method(player, rules->methods[i], results);
        results += play_results(rules->methods[i]);
    }
}
