/* The distance between two CPUs: the time that a line takes to travel to the other CPU and back. A hypervisor moves virtual CPUs
 * between cores; if it did so during a measurement, the distances before and after it differ. The clocks of both CPUs are
 * measured as well, because a change in a clock also changes the distance.
 *
 *     struct distance distance = distance_between(cpu, distance_partner(cpu));
 *     distance_report(&distance, "before");     prints a line `probe` if there is a second CPU */
#ifndef KIT_DISTANCE_H
#define KIT_DISTANCE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"
#include "kit/affinity.h"
#include "kit/loop.h"
#include "kit/out.h"
#include "kit/timer.h"

#define DISTANCE_BATCHES 128
#define DISTANCE_TURNS 32         /* round trips per batch: 3 to 30 us */
#define DISTANCE_WARM_NS 3000000  /* time in which idle cores raise their clocks */
#define DISTANCE_NS 1000000       /* time in which batches are listed */
#define DISTANCE_LIMIT_NS 30000000 /* time limit if other programs use the CPUs */
#define DISTANCE_SPINS 4096
#define DISTANCE_ADDS 16384 /* about 5 us */
#define DISTANCE_CLOCKS 32  /* number of times, of which the fastest counts */
#define DISTANCE_END UINT64_MAX

struct distance {
    int64_t cpus[2]; /* the second is -1 if there is none */
    int64_t ns[DISTANCE_BATCHES];
    size_t count;
    int64_t cycle_fs[2]; /* duration of a core cycle of each CPU */
};

/* The data that both threads share. The follower writes even numbers, the leader odd ones. */
struct distance_game {
    atomic_uint_least64_t word __attribute__((aligned(256)));
    struct distance *found __attribute__((aligned(256)));
    uint64_t begun_ns;
};

/* The CPU after `cpu` in the affinity mask of the calling thread, otherwise the first other CPU; -1 if there is none. */
static inline int64_t distance_partner(int64_t cpu)
{
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    int64_t found = -1;
    if (set && sched_getaffinity(0, size, set) == 0)
        for (int64_t i = 1; i < AFFINITY_CPUS && found < 0; i++)
            found = CPU_ISSET_S((size_t)((cpu + i) % AFFINITY_CPUS), size, set) ? (cpu + i) % AFFINITY_CPUS : -1;
    if (set)
        CPU_FREE(set);
    return found;
}

static inline bool distance_in_time(const struct distance_game *game)
{
    return timer_monotonic_ns() - game->begun_ns < DISTANCE_LIMIT_NS;
}

/* Waits for the other thread's number; false if it takes too long. */
static inline bool distance_await(struct distance_game *game, uint64_t awaited)
{
    for (unsigned spins = 1; atomic_load_explicit(&game->word, memory_order_acquire) != awaited; spins++) {
        cpu_relax();
        if (spins % DISTANCE_SPINS == 0 && !distance_in_time(game))
            return false;
    }
    return true;
}

/* The duration of a core cycle in femtoseconds: the shortest of several measurements, because disturbances only make adds take
 * longer. */
static inline int64_t distance_cycle_fs(void)
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < DISTANCE_CLOCKS; i++) {
        uint64_t start_ns = timer_monotonic_ns();
        loop_adds(DISTANCE_ADDS);
        uint64_t taken_ns = timer_monotonic_ns() - start_ns;
        fastest = taken_ns < fastest ? taken_ns : fastest;
    }
    return (int64_t)(fastest * 1000000 / DISTANCE_ADDS);
}

static inline void *distance_lead(void *argument)
{
    struct distance_game *game = argument;
    struct distance *found = game->found;
    uint64_t number = 2, listing_ns = 0;
    bool answered = distance_await(game, number); /* the follower has started */
    while (answered && found->count < DISTANCE_BATCHES) {
        uint64_t start_ns = timer_monotonic_ns();
        for (int i = 0; answered && i < DISTANCE_TURNS; i++, number += 2) {
            atomic_store_explicit(&game->word, number + 1, memory_order_release);
            answered = distance_await(game, number + 2);
        }
        uint64_t end_ns = timer_monotonic_ns();
        if (listing_ns == 0 && end_ns - game->begun_ns >= DISTANCE_WARM_NS)
            listing_ns = end_ns;
        else if (answered && listing_ns > 0)
            found->ns[found->count++] = (int64_t)(end_ns - start_ns);
        if (listing_ns > 0 && end_ns - listing_ns >= DISTANCE_NS)
            break;
    }
    atomic_store_explicit(&game->word, DISTANCE_END, memory_order_release);
    found->cycle_fs[0] = distance_cycle_fs();
    return NULL;
}

static inline void *distance_follow(void *argument)
{
    struct distance_game *game = argument;
    uint64_t none = 0;
    atomic_compare_exchange_strong_explicit(&game->word, &none, 2, memory_order_release, memory_order_relaxed);
    for (;;) {
        uint64_t seen = atomic_load_explicit(&game->word, memory_order_acquire);
        if (seen == DISTANCE_END)
            break;
        if (seen % 2 == 1) /* exchanged, because the leader may have given up in the meantime */
            atomic_compare_exchange_strong_explicit(&game->word, &seen, seen + 1, memory_order_release, memory_order_relaxed);
        else
            cpu_relax();
    }
    game->found->cycle_fs[1] = distance_cycle_fs();
    return NULL;
}

/* The times of batches of round trips between two CPUs. There are no batches if a CPU cannot be used or if other programs use
 * it. */
static inline struct distance distance_between(int64_t cpu_a, int64_t cpu_b)
{
    struct distance found = {.cpus = {cpu_a, cpu_b}};
    struct distance_game game = {.found = &found, .begun_ns = timer_monotonic_ns()};
    pthread_t leader, follower;
    if (cpu_a < 0 || cpu_b < 0 || !affinity_start(&leader, cpu_a, distance_lead, &game))
        return found;
    bool both = affinity_start(&follower, cpu_b, distance_follow, &game);
    pthread_join(leader, NULL); /* without a follower, the leader gives up */
    if (both)
        pthread_join(follower, NULL);
    return found;
}

/* Prints the probe, `when` it was made: before or after the measurement. */
static inline void distance_report(const struct distance *distance, const char *when)
{
    if (distance->cpus[1] < 0)
        return;
    struct out out = out_begin("probe");
    out_text(&out, "when", when);
    out_integer(&out, "cpu_a", distance->cpus[0]);
    out_integer(&out, "cpu_b", distance->cpus[1]);
    out_integers(&out, "ns", distance->ns, distance->count);
    out_integers(&out, "cycle_fs", distance->cycle_fs, 2);
    out_end();
}

#endif
