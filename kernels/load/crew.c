#include "load/crew.h"

#include "load/memory.h"
#include "load/walker.h"

#define GAP_NS 20000             /* an interrupt takes a few microseconds, a time slice of another program more than this */
#define ANSWER_NS 10000000000u   /* time for a thread to read the word */

void crew_start(struct crew *crew, const struct crew_plan *plan, const struct timer *timer)
{
    crew->plan = *plan;
    crew->loops = loops_of(plan->traffic, plan->isa);
    crew->array_bytes = memory_array_bytes(plan);
    crew->gap_ticks = (uint64_t)(GAP_NS / timer->ns_per_tick);
    crew->walkers = aligned_alloc(TEAM_LINE, plan->count * sizeof *crew->walkers);
    if (!crew->walkers)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu threads", plan->count);
    memset(crew->walkers, 0, plan->count * sizeof *crew->walkers);
    for (size_t i = 0; i < plan->count; i++)
        crew->walkers[i].crew = crew;
    crew->word = WORD_HELD;
    atomic_store(&crew->command, crew->word);
    team_start(&crew->team, timer, plan->cpus, plan->count, walker_body, crew);
}

/* Writes a word that differs from all previous ones. */
static void order(struct crew *crew, size_t word)
{
    crew->word = (crew->word & ~(WORD_NUMBER - 1)) + WORD_NUMBER + word;
    atomic_store_explicit(&crew->command, crew->word, memory_order_release);
}

/* Waits until thread `index` has confirmed the word, at most until `limit_ns` unless that is 0. */
static void await(const struct crew *crew, size_t index, uint64_t limit_ns)
{
    struct walker *walker = &crew->walkers[index];
    for (unsigned spins = 1; atomic_load_explicit(&walker->taken, memory_order_acquire) != crew->word; spins++) {
        cpu_relax();
        if (spins % TEAM_SPINS != 0)
            continue;
        sched_yield();
        if (limit_ns > 0 && timer_monotonic_ns() > limit_ns)
            fail(EXIT_ENVIRONMENT, "the load thread on CPU %lld is not running: another program occupies that CPU",
                 (long long)crew->plan.cpus[index]);
    }
}

static void await_all(struct crew *crew, uint64_t limit_ns)
{
    for (size_t i = 0; i < crew->plan.count; i++)
        await(crew, i, limit_ns);
    crew_read(crew); /* stalled threads are counted from here */
}

void crew_fill(struct crew *crew)
{
    order(crew, WORD_PARKED);
}

void crew_run(struct crew *crew, uint64_t delay)
{
    order(crew, delay);
    await_all(crew, timer_monotonic_ns() + ANSWER_NS);
}

void crew_park(struct crew *crew)
{
    bool filling = crew->word / WORD_NUMBER == 1; /* the threads fill their memory, however long that takes */
    if (!filling)
        order(crew, WORD_PARKED);
    await_all(crew, filling ? 0 : timer_monotonic_ns() + ANSWER_NS);
}

uint64_t crew_filled_ns(const struct crew *crew)
{
    uint64_t last = 0;
    for (size_t i = 0; i < crew->plan.count; i++)
        last = crew->walkers[i].filled_ns > last ? crew->walkers[i].filled_ns : last;
    return last;
}

struct crew_count crew_read(struct crew *crew)
{
    struct crew_count count = {0, 0, false};
    bool running = !(crew->word & WORD_PARKED);
    for (size_t i = 0; i < crew->plan.count; i++) {
        struct walker *walker = &crew->walkers[i];
        uint64_t steps = atomic_load_explicit(&walker->steps, memory_order_relaxed);
        if (steps < walker->seen)
            fail(EXIT_SELF_CHECK, "the count of steps on CPU %lld decreased", (long long)crew->plan.cpus[i]);
        count.stalled = count.stalled || (running && steps == walker->seen);
        count.steps += steps;
        count.lost += atomic_load_explicit(&walker->lost, memory_order_relaxed);
        walker->seen = steps;
    }
    return count;
}

uint64_t crew_step_bytes(const struct crew *crew)
{
    return traffic_useful(crew->plan.traffic, crew->plan.touch);
}

const struct arena *crew_arena(const struct crew *crew, size_t index, size_t *threads)
{
    const struct walker *walker = &crew->walkers[index];
    *threads = walker->arena_threads;
    return walker->arena_threads > 0 ? &walker->arena : NULL;
}

static void check(const struct crew *crew, size_t index)
{
    const struct walker *walker = &crew->walkers[index];
    uint64_t walked = walker->rounds * crew->array_bytes + walker->at;
    uint64_t told = atomic_load(&walker->steps) * crew->plan.touch;
    long long cpu = crew->plan.cpus[index];
    if (told != walked)
        fail(EXIT_SELF_CHECK, "the thread on CPU %lld reported %llu bytes per array but processed %llu", cpu,
             (unsigned long long)told, (unsigned long long)walked);
    if (walker->wrong > 0)
        fail(EXIT_SELF_CHECK, "%llu doubles in the memory of the thread on CPU %lld differ from the result of %s",
             (unsigned long long)walker->wrong, cpu, crew->plan.traffic->word);
}

void crew_end(struct crew *crew)
{
    order(crew, WORD_END);
}

uint64_t crew_check(struct crew *crew)
{
    team_join(&crew->team);
    for (size_t i = 0; i < crew->plan.count; i++)
        check(crew, i);
    return crew->plan.count * traffic_arrays(crew->plan.traffic) * crew->array_bytes;
}

bool crew_release(struct crew *crew)
{
    bool restored = true;
    for (size_t i = 0; i < crew->plan.count; i++)
        if (crew->walkers[i].arena_threads > 0)
            restored = arena_release(&crew->walkers[i].arena) && restored;
    free(crew->walkers);
    return restored;
}
