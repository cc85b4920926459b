#include "load/walker.h"

#include <time.h>

#include "load/memory.h"
#include "nops.h"

#define CHUNK_MAX 16384  /* bytes of each array */
#define CHUNK_SHORT_NS 500 /* a shorter chunk is lengthened, one that takes four times as long is shortened */
#define CHUNK_LONG_NS 2000
#define GAP_FACTOR 4
#define HELD_NS 100000

/* Makes steps of `touch` bytes, each followed by NOPs. */
static void delayed(const struct walker *walker, uint64_t bytes, uint64_t delay)
{
    const struct crew *crew = walker->crew;
    uint64_t touch = crew->plan.touch, at = walker->at;
    struct step step = {touch / walker->part, walker->part, delay / NOPS_ROUND, delay % NOPS_ROUND};
    crew->loops.steps(walker->array[0] + at, walker->array[1] + at, walker->array[2] + at, bytes / touch, &step);
}

/* Does the same without a delay: in long iterations as far as possible, and in steps for the rest. */
static void undelayed(struct walker *walker, uint64_t bytes)
{
    const struct crew *crew = walker->crew;
    uint64_t turn = VECTOR_UNITS * VECTOR_UNIT_BYTES(crew->plan.isa), whole = bytes / walker->granule * walker->granule;
    uint64_t at = walker->at;
    if (whole > 0)
        crew->loops.turns(walker->array[0] + at, walker->array[1] + at, walker->array[2] + at, whole / turn, turn);
    walker->at += whole;
    if (bytes > whole)
        delayed(walker, bytes - whole, 0);
    walker->at = at;
}

static void run_chunk(struct walker *walker, uint64_t delay)
{
    const struct crew *crew = walker->crew;
    uint64_t touch = crew->plan.touch, left = crew->array_bytes - walker->at;
    uint64_t bytes = walker->chunk < left ? walker->chunk : left;
    if (delay > 0)
        delayed(walker, bytes, delay);
    else
        undelayed(walker, bytes);
    walker->at += bytes;
    if (walker->at == crew->array_bytes) {
        walker->at = 0;
        walker->rounds++;
    }
    uint64_t steps = atomic_load_explicit(&walker->steps, memory_order_relaxed);
    atomic_store_explicit(&walker->steps, steps + bytes / touch, memory_order_relaxed);
}

/* Counts when the thread was descheduled, and adjusts the length of chunks to their duration. */
static void judge_chunk(struct walker *walker, uint64_t ticks)
{
    const struct crew *crew = walker->crew;
    double ns = (double)ticks * crew->team.timer->ns_per_tick;
    if (walker->usual_ticks > 0 && ticks > GAP_FACTOR * walker->usual_ticks + crew->gap_ticks) {
        uint64_t lost = atomic_load_explicit(&walker->lost, memory_order_relaxed);
        atomic_store_explicit(&walker->lost, lost + 1, memory_order_relaxed);
        return;
    }
    uint64_t chunk = walker->chunk;
    if (ns < CHUNK_SHORT_NS && chunk * 2 <= CHUNK_MAX)
        chunk *= 2;
    else if (ns > CHUNK_LONG_NS && chunk / 2 >= crew->plan.touch)
        chunk /= 2;
    if (chunk != walker->chunk)
        walker->usual_ticks = 0;
    else if (walker->usual_ticks == 0 || ticks < walker->usual_ticks)
        walker->usual_ticks = ticks;
    walker->chunk = chunk;
}

static void take(struct walker *walker, size_t word)
{
    vector_fence();
    walker->usual_ticks = 0;
    atomic_store_explicit(&walker->taken, word, memory_order_release);
}

/* Makes steps until the word changes. */
static void run(struct walker *walker, size_t word)
{
    struct crew *crew = walker->crew;
    uint64_t delay = word & WORD_DELAY, before = cpu_ticks_loose();
    while (atomic_load_explicit(&crew->command, memory_order_acquire) == word) {
        run_chunk(walker, delay);
        uint64_t now = cpu_ticks_loose();
        judge_chunk(walker, now - before);
        before = now;
    }
}

/* Sets the length of a unit of a step, and the length of a run in long iterations. The length of a vector may not be a power of
 * two. */
static void fit(struct walker *walker)
{
    const struct crew_plan *plan = &walker->crew->plan;
    uint64_t unit = VECTOR_UNIT_BYTES(plan->isa), part = plan->touch;
    while (part > unit)
        part /= 2;
    walker->part = part;
    walker->granule = VECTOR_UNITS * unit;
    while (walker->granule % plan->touch != 0)
        walker->granule += VECTOR_UNITS * unit;
    walker->chunk = CHUNK_MAX;
}

void walker_body(struct member *member)
{
    struct crew *crew = member->context;
    struct walker *walker = &crew->walkers[member->index];
    size_t word = atomic_load_explicit(&crew->command, memory_order_acquire);
    while (word & WORD_HELD) { /* without occupying the CPU, where a helper may populate the memory of the chain */
        nanosleep(&(struct timespec){0, HELD_NS}, NULL);
        word = atomic_load_explicit(&crew->command, memory_order_acquire);
    }
    memory_take(crew, member);
    fit(walker);
    while (!(word & WORD_END)) {
        take(walker, word);
        if (word & WORD_PARKED)
            team_wait_change(&crew->command, word);
        else
            run(walker, word);
        word = atomic_load_explicit(&crew->command, memory_order_acquire);
    }
    vector_fence();
    walker->wrong = memory_wrong(walker);
}
