/* Threads that are bound to one CPU each and start on a common value of the processor's counter. */
#ifndef KIT_TEAM_H
#define KIT_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "kit/affinity.h"
#include "kit/fail.h"
#include "kit/timer.h"

#define TEAM_LINE 256          /* enough for lines that are fetched in pairs, and for lines of 256 bytes */
#define TEAM_SPINS 4096        /* polls before the CPU is yielded to another thread, which may be the awaited one */
#define TEAM_SKEW_MAX_NS 20000 /* if the counters of two CPUs differ by more than this, they are not a common clock */

struct team;

/* One thread; its data is in `context`. */
struct member {
    struct team *team;
    void *context;
    size_t index;
    int64_t cpu;
    pthread_t thread;
    double skew_ns; /* difference between its CPU's counter and that of member 0 */
} __attribute__((aligned(TEAM_LINE)));

struct team {
    size_t count;
    struct member *members;
    void (*body)(struct member *);
    const struct timer *timer; /* calibrated by the caller */
    atomic_size_t arrived __attribute__((aligned(TEAM_LINE)));
    atomic_size_t turn __attribute__((aligned(TEAM_LINE)));
    atomic_uint_least64_t start_ticks __attribute__((aligned(TEAM_LINE)));
};

/* Polls until `*word` differs from `old`. */
static inline void team_wait_change(atomic_size_t *word, size_t old)
{
    for (unsigned spins = 1; atomic_load_explicit(word, memory_order_acquire) == old; spins++) {
        cpu_relax();
        if (spins % TEAM_SPINS == 0)
            sched_yield();
    }
}

/* Waits until all members have arrived; true for the last one. */
static inline bool team_barrier(struct team *team)
{
    size_t turn = atomic_load_explicit(&team->turn, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 < team->count) {
        team_wait_change(&team->turn, turn);
        return false;
    }
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
    return true;
}

/* Waits for all members and then for a common time, which it returns: a value of the counter, `margin_ns` after the last member
 * has arrived. */
static inline uint64_t team_begin(struct team *team, uint64_t margin_ns)
{
    if (team_barrier(team)) {
        uint64_t margin = (uint64_t)((double)margin_ns / team->timer->ns_per_tick);
        atomic_store_explicit(&team->start_ticks, cpu_ticks() + margin, memory_order_release);
    }
    team_barrier(team);
    uint64_t start = atomic_load_explicit(&team->start_ticks, memory_order_acquire);
    while (cpu_ticks() < start)
        ;
    return start;
}

static inline void *team_enter(void *argument)
{
    struct member *member = argument;
    affinity_bind(member->cpu);
    uint64_t ticks = 0, ns = 0;
    timer_both(&ticks, &ns);
    const struct timer *timer = member->team->timer;
    member->skew_ns = (double)(int64_t)(ticks - timer->ticks_0) * timer->ns_per_tick - (double)(int64_t)(ns - timer->ns_0);
    team_barrier(member->team);
    member->team->body(member);
    return NULL;
}

/* The largest difference between the counters of two CPUs; ends the program with 3 if they are not a common clock. */
static inline int64_t team_skew_ns(const struct team *team)
{
    double low = team->members[0].skew_ns, high = low;
    for (size_t i = 1; i < team->count; i++) {
        double skew = team->members[i].skew_ns;
        low = skew < low ? skew : low;
        high = skew > high ? skew : high;
    }
    if (high - low > TEAM_SKEW_MAX_NS)
        fail(EXIT_ENVIRONMENT, "the time stamp counters of the CPUs differ by %.0f ns: threads cannot start on a common clock",
             high - low);
    return (int64_t)(high - low);
}

/* Starts a thread on each of `cpus`, which runs `body`. Ends the program with 3 if a CPU cannot be used. */
static inline void team_start(struct team *team, const struct timer *timer, const int64_t *cpus, size_t count,
                              void (*body)(struct member *), void *context)
{
    memset(team, 0, sizeof *team);
    team->count = count;
    team->body = body;
    team->timer = timer;
    team->members = aligned_alloc(TEAM_LINE, count * sizeof *team->members);
    if (!team->members)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu threads", count);
    memset(team->members, 0, count * sizeof *team->members);
    for (size_t i = 0; i < count; i++) {
        struct member *member = &team->members[i];
        member->team = team;
        member->context = context;
        member->index = i;
        member->cpu = cpus[i];
        int error = pthread_create(&member->thread, NULL, team_enter, member);
        if (error != 0)
            fail(EXIT_ENVIRONMENT, "thread %zu of %zu cannot be started: %s", i + 1, count, strerror(error));
    }
}

/* Waits until all have ended. */
static inline void team_join(struct team *team)
{
    for (size_t i = 0; i < team->count; i++)
        pthread_join(team->members[i].thread, NULL);
    free(team->members);
    team->members = NULL;
}

#endif
