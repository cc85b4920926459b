/* Determines which pairs of CPUs are measured at the same time: each pair once, and no CPU or core in more than one pair of a
 * round.
 *
 * The schedule applies the circle method of round-robin tournaments to the cores: one core stays in its place, and all others move
 * by one place per turn. With one CPU per core, N CPUs require N - 1 rounds (N if N is odd), which is the minimum. Two cores with s
 * and t CPUs require s * t consecutive rounds. The pairs within each core come first. */
#ifndef PINGPONG_SCHEDULE_H
#define PINGPONG_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indexes in the list of CPUs, a < b. */
struct duo {
    size_t a, b;
};

struct schedule {
    size_t cpus, cores;
    size_t *members;     /* CPUs by core */
    size_t *first;       /* index of each core in `members`, and the end of the last one */
    bool parallel;       /* otherwise one pair per round */
    size_t inner;        /* rounds within cores */
    size_t *until;       /* rounds up to the end of each turn of the circle */
    size_t turns;        /* turns of the circle */
    size_t rounds, pairs;
};

/* `cores` is the core of each CPU; there are at least two CPUs. */
struct schedule schedule_make(const int64_t *cores, size_t cpus, bool parallel);

/* The pairs of a round, at most cpus / 2; returns their number. No round is empty. */
size_t schedule_round(const struct schedule *schedule, size_t round, struct duo *pairs);

void schedule_free(struct schedule *schedule);

#endif
