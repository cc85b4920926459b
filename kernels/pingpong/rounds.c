#include "pingpong/rounds.h"

#include "kit/fail.h"
#include "kit/numbers.h"
#include "pingpong/record.h"

static struct duo *room_for_pairs(const struct schedule *schedule)
{
    struct duo *pairs = calloc(schedule->cpus / 2, sizeof *pairs);
    if (!pairs)
        fail(EXIT_ENVIRONMENT, "not enough memory for the pairs of a round");
    return pairs;
}

/* The shortest core cycle that the leader of a pair measured in all methods. */
static int64_t least_cycle_fs(const struct game *game)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < PLAY_RESULTS; i++) {
        const struct result *result = &game->results[i];
        if (result->cycle_fs > 0 && !result->reversed && result->cycle_fs < least)
            least = result->cycle_fs;
    }
    return least;
}

static void play_pairs(struct rounds *rounds, const struct duo *pairs, size_t count, bool alone, size_t round)
{
    const struct layout *layout = &rounds->rules->layout;
    for (size_t i = 0; i < count; i++) {
        uint64_t serial = rounds->slots.taken++;
        rounds->crew->games[i].slot =
            (struct slot){layout, rounds->slots.start + serial % rounds->slots.count * layout->bytes, serial};
    }
    crew_play(rounds->crew, rounds->rules, pairs, count);
    for (size_t i = 0; i < count; i++) {
        const struct game *game = &rounds->crew->games[i];
        struct occasion occasion = {alone, round, rounds->cpus[pairs[i].a], rounds->cpus[pairs[i].b], rounds->node};
        rounds->samples += record_print(game, &occasion);
        noise_clock(rounds->noise, least_cycle_fs(game));
    }
}

void rounds_play(struct rounds *rounds)
{
    struct duo *pairs = room_for_pairs(rounds->schedule);
    for (size_t round = 0; round < rounds->schedule->rounds; round++) {
        size_t count = schedule_round(rounds->schedule, round, pairs);
        play_pairs(rounds, pairs, count, false, round);
    }
    free(pairs);
}

/* Rounds of more than one pair. */
static size_t shared_rounds(const struct schedule *schedule, struct duo *pairs)
{
    size_t shared = 0;
    for (size_t round = 0; round < schedule->rounds; round++)
        shared += schedule_round(schedule, round, pairs) > 1;
    return shared;
}

size_t rounds_checkable(const struct schedule *schedule, size_t requested)
{
    struct duo *pairs = room_for_pairs(schedule);
    size_t shared = shared_rounds(schedule, pairs);
    free(pairs);
    return requested < shared ? requested : shared;
}

/* Divides `shared` places into `count` equal parts and returns a random place in the part `check`. */
static size_t place_of(const struct rounds *rounds, size_t check, size_t count, size_t shared)
{
    size_t from = check * shared / count, until = (check + 1) * shared / count;
    return from + random_below(random_at(rounds->seed, 2 * check), until - from);
}

void rounds_check(struct rounds *rounds, size_t count)
{
    struct duo *pairs = room_for_pairs(rounds->schedule);
    size_t shared = shared_rounds(rounds->schedule, pairs), check = 0;
    for (size_t round = 0, place = 0; check < count; round++) {
        size_t played = schedule_round(rounds->schedule, round, pairs);
        if (played > 1 && place++ == place_of(rounds, check, count, shared)) {
            size_t chosen = random_below(random_at(rounds->seed, 2 * check + 1), played);
            play_pairs(rounds, &pairs[chosen], 1, true, round);
            check++;
        }
    }
    free(pairs);
}
