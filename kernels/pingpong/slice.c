#include "pingpong/slice.h"

#include <sys/resource.h>

#define WARM_TURNS 4    /* untimed, at the start of each batch, to fetch the line and to synchronize the threads */
#define MEETING 2       /* of them; a thread may sleep until both have met, so context switches count only afterward */
#define LINE_LONG_NS 1000 /* upper bound of the time to walk and write a line */

static const char *const out_of_order = "a message arrived out of order";

struct loops {
    exchange_loop *lead, *follow;
};

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

/* The number with which batch `batch` on a word starts, each with `turns` timed round trips. */
static uint64_t first_message(uint64_t batch, uint64_t turns)
{
    return batch * 2 * (WARM_TURNS + turns + 1);
}

/* One batch: untimed round trips, timed ones, and one in which the follower reports whether it was descheduled. Returns whether the
 * batch counts: neither thread was descheduled. */
static bool lead_batch(struct player *player, struct loops loops, exchange_word *word, uint64_t at, uint64_t turns, uint64_t *ticks)
{
    const struct timer *timer = player->game->rules->timer;
    uint64_t timed = at + 2 * WARM_TURNS, last = timed + 2 * turns;
    uint64_t met = loops.lead(word, at, MEETING);
    lost_cpu(player);
    uint64_t warm = loops.lead(word, at + 2 * MEETING, WARM_TURNS - MEETING), before = cpu_ticks();
    uint64_t end = loops.lead(word, timed, turns);
    *ticks = timer_net(timer, before, cpu_ticks());
    if (met != at + 2 * MEETING || warm != timed || end != last || loops.lead(word, last, 1) != last + 2) {
        player->fault = out_of_order;
        return false;
    }
    exchange_await(word, last + 2);
    player->messages += 2 * turns;
    bool lost = lost_cpu(player);
    return !atomic_load_explicit(&slot_control(&player->game->slot)->lost[false], memory_order_relaxed) && !lost;
}

static void follow_batch(struct player *player, struct loops loops, exchange_word *word, uint64_t at, uint64_t turns)
{
    struct control *control = slot_control(&player->game->slot);
    uint64_t met = at + 2 * MEETING, last = at + 2 * (WARM_TURNS + turns);
    uint64_t seen = loops.follow(word, at, MEETING);
    lost_cpu(player);
    uint64_t end = loops.follow(word, met, WARM_TURNS - MEETING + turns);
    atomic_store_explicit(&control->lost[false], lost_cpu(player), memory_order_relaxed);
    if (seen != met || end != last || loops.follow(word, last, 1) != last + 2)
        player->fault = out_of_order;
}

/* A few batches of token or cas, each at the next address. */
static void exchange_slice(struct player *player, enum method method)
{
    const struct rules *rules = player->game->rules;
    struct series *series = &player->series[method];
    size_t addresses = rules->layout.addresses;
    for (uint64_t i = 0; i < rules->slice && !player->fault; i++) {
        uint64_t batch = player->slices[method]++, at = first_message(batch / addresses, rules->turns), ticks = 0;
        exchange_word *word = slot_word(&player->game->slot, batch % addresses, method);
        if (!player->leads)
            follow_batch(player, loops_of(method), word, at, rules->turns);
        else if (lead_batch(player, loops_of(method), word, at, rules->turns, &ticks))
            series_add(series, ticks, batch % addresses);
        else
            series->dropped++;
    }
}

void slice_probe(struct player *player, struct probe *probe)
{
    struct loops loops = loops_of(METHOD_CAS);
    exchange_word *word = slot_word(&player->game->slot, 0, SLOT_PROBE);
    if (player->leads)
        *probe = (struct probe){0};
    for (int i = 0; i < PROBE_BATCHES && !player->fault; i++) {
        uint64_t at = first_message(player->probed++, PROBE_TURNS), ticks = 0;
        if (!player->leads)
            follow_batch(player, loops, word, at, PROBE_TURNS);
        else if (lead_batch(player, loops, word, at, PROBE_TURNS, &ticks))
            probe->ns[probe->count++] = timer_ns(player->game->rules->timer, ticks);
        else
            probe->dropped++;
    }
}

uint64_t slice_await(exchange_word *word, uint64_t least, uint64_t late_ns)
{
    uint64_t until_ns = timer_monotonic_ns() + late_ns;
    for (;;) {
        uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
        if (seen >= least)
            return seen;
        if (timer_monotonic_ns() > until_ns)
            exchange_nap();
    }
}

/* Waits for the other thread's part of a chain, and tells it whether this thread was descheduled since its own. */
static void await_turn(struct player *player, uint64_t turn)
{
    struct control *control = slot_control(&player->game->slot);
    slice_await(&control->turn, turn, player->game->rules->ring.lines * LINE_LONG_NS);
    atomic_store_explicit(&control->lost[player->leads], lost_cpu(player), memory_order_relaxed);
}

static void hand_over(const struct player *player, uint64_t turn)
{
    atomic_store_explicit(&slot_control(&player->game->slot)->turn, turn, memory_order_release);
}

/* Walks the lines that the other thread wrote for `turn`, in timed batches. Returns whether the thread kept its CPU. */
static bool walk_ring(struct player *player, uint64_t turn)
{
    const struct rules *rules = player->game->rules;
    char *start = slot_ring(&player->game->slot);
    struct walk walk = ring_begin(&rules->ring, start, turn);
    for (uint64_t step = 0; step < rules->ring.lines; step += rules->steps) {
        uint64_t before = cpu_ticks();
        walk = ring_walk(walk, rules->steps);
        series_add(&player->series[METHOD_CHAIN], timer_net(rules->timer, before, cpu_ticks()), 0);
    }
    if (!ring_is_whole(&rules->ring, start, turn, walk))
        player->fault = "a walk of the chain did not find every line as written";
    player->lines += rules->ring.lines;
    return !lost_cpu(player);
}

static void write_ring(struct player *player, uint64_t turn)
{
    ring_write(&player->game->rules->ring, slot_ring(&player->game->slot), turn);
    hand_over(player, turn);
}

/* Drops the walk that began with the `before`-th batch unless both threads kept their CPUs. */
static void judge(struct player *player, bool kept, size_t before)
{
    struct control *control = slot_control(&player->game->slot);
    if (!kept || atomic_load_explicit(&control->lost[!player->leads], memory_order_relaxed))
        series_drop(&player->series[METHOD_CHAIN], before);
}

/* Makes one walk in each direction, in four turns from `at` on: the follower writes all lines, the leader walks and then writes
 * them, the follower walks, and the leader ends the slice. A walk counts only if the walking thread was not descheduled during the
 * walk, and the other thread was not descheduled between writing the lines and the end of the walk, because another program would
 * have evicted the lines. */
static void lead_chain(struct player *player, uint64_t at)
{
    size_t before = player->series[METHOD_CHAIN].count;
    await_turn(player, at + 1);
    bool kept = walk_ring(player, at + 1);
    write_ring(player, at + 2);
    await_turn(player, at + 3);
    judge(player, kept, before);
    hand_over(player, at + 4);
}

static void follow_chain(struct player *player, uint64_t at)
{
    struct series *series = &player->series[METHOD_CHAIN];
    size_t before = series->count;
    lost_cpu(player);
    write_ring(player, at + 1);
    await_turn(player, at + 2);
    bool kept = walk_ring(player, at + 2);
    hand_over(player, at + 3);
    await_turn(player, at + 4);
    judge(player, kept, before);
    bool settled = series_enough(series, &player->game->rules->chain_effort);
    atomic_store_explicit(&slot_control(&player->game->slot)->settled, settled, memory_order_relaxed);
}

void slice_play(struct player *player, enum method method)
{
    uint64_t begun_ns = timer_monotonic_ns();
    if (method != METHOD_CHAIN)
        exchange_slice(player, method);
    else if (player->leads)
        lead_chain(player, 4 * player->slices[method]++);
    else
        follow_chain(player, 4 * player->slices[method]++);
    player->series[method].spent_ns += timer_monotonic_ns() - begun_ns;
}
