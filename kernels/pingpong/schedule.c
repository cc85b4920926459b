#include "pingpong/schedule.h"

#include <stdlib.h>

#include "kit/fail.h"

static size_t *numbers(size_t count)
{
    size_t *made = calloc(count, sizeof *made);
    if (!made)
        fail(EXIT_ENVIRONMENT, "not enough memory for a schedule");
    return made;
}

static size_t size_of(const struct schedule *schedule, size_t core)
{
    return schedule->first[core + 1] - schedule->first[core];
}

/* Fills in members and first: cores in order of appearance. */
static void sort_by_core(struct schedule *schedule, const int64_t *cores)
{
    size_t used = 0;
    schedule->members = numbers(schedule->cpus);
    schedule->first = numbers(schedule->cpus + 1);
    for (size_t i = 0; i < schedule->cpus; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = cores[k] == cores[i];
        if (seen)
            continue;
        for (size_t k = i; k < schedule->cpus; k++)
            if (cores[k] == cores[i])
                schedule->members[used++] = k;
        schedule->first[++schedule->cores] = used;
    }
}

/* The number of places in the circle. If the number of cores is odd, there is one extra place, and the core opposite it pauses. */
static size_t places(const struct schedule *schedule)
{
    return schedule->cores + schedule->cores % 2;
}

/* The k-th pair of cores of a turn, k < places / 2; false if one of the two pauses. */
static bool meeting(const struct schedule *schedule, size_t turn, size_t k, size_t *one, size_t *other)
{
    size_t circle = places(schedule) - 1;
    *one = k == 0 ? circle : (turn + k) % circle;
    *other = (turn + circle - k) % circle;
    return *one < schedule->cores;
}

/* The number of rounds of a turn: that of its longest pair of cores. */
static size_t turn_length(const struct schedule *schedule, size_t turn)
{
    size_t longest = 0, one, other;
    for (size_t k = 0; k < places(schedule) / 2; k++) {
        if (!meeting(schedule, turn, k, &one, &other))
            continue;
        size_t length = size_of(schedule, one) * size_of(schedule, other);
        longest = length > longest ? length : longest;
    }
    return longest;
}

struct schedule schedule_make(const int64_t *cores, size_t cpus, bool parallel)
{
    struct schedule schedule = {.cpus = cpus, .parallel = parallel, .pairs = cpus * (cpus - 1) / 2};
    sort_by_core(&schedule, cores);
    for (size_t core = 0; core < schedule.cores; core++) {
        size_t size = size_of(&schedule, core), within = size * (size - 1) / 2;
        schedule.inner = within > schedule.inner ? within : schedule.inner;
    }
    schedule.turns = schedule.cores > 1 ? places(&schedule) - 1 : 0;
    schedule.until = numbers(schedule.turns + 1);
    schedule.rounds = schedule.inner;
    for (size_t turn = 0; turn < schedule.turns; turn++) {
        schedule.rounds += turn_length(&schedule, turn);
        schedule.until[turn] = schedule.rounds;
    }
    if (!parallel)
        schedule.rounds = schedule.pairs;
    return schedule;
}

/* The k-th of the pairs a < b below `count`; false if there are fewer. */
static bool combination(size_t count, size_t k, struct duo *pair)
{
    size_t a = 0;
    while (a + 1 < count && k >= count - 1 - a)
        k -= count - 1 - a++;
    *pair = (struct duo){a, a + 1 + k};
    return a + 1 < count;
}

static struct duo ascending(size_t one, size_t other)
{
    return one < other ? (struct duo){one, other} : (struct duo){other, one};
}

static size_t inner_round(const struct schedule *schedule, size_t round, struct duo *pairs)
{
    size_t count = 0;
    for (size_t core = 0; core < schedule->cores; core++) {
        const size_t *members = &schedule->members[schedule->first[core]];
        struct duo within;
        if (combination(size_of(schedule, core), round, &within))
            pairs[count++] = (struct duo){members[within.a], members[within.b]};
    }
    return count;
}

static size_t outer_round(const struct schedule *schedule, size_t round, struct duo *pairs)
{
    size_t turn = 0, count = 0, one, other;
    while (schedule->until[turn] <= round)
        turn++;
    size_t step = round - (turn > 0 ? schedule->until[turn - 1] : schedule->inner);
    for (size_t k = 0; k < places(schedule) / 2; k++) {
        if (!meeting(schedule, turn, k, &one, &other) || step >= size_of(schedule, one) * size_of(schedule, other))
            continue;
        size_t width = size_of(schedule, other);
        size_t a = schedule->members[schedule->first[one] + step / width];
        size_t b = schedule->members[schedule->first[other] + step % width];
        pairs[count++] = ascending(a, b);
    }
    return count;
}

size_t schedule_round(const struct schedule *schedule, size_t round, struct duo *pairs)
{
    if (!schedule->parallel)
        return combination(schedule->cpus, round, pairs);
    return round < schedule->inner ? inner_round(schedule, round, pairs) : outer_round(schedule, round, pairs);
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->members);
    free(schedule->first);
    free(schedule->until);
}
