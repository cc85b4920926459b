#include "stream/walker.h"

#include <sys/resource.h>

#include "cpu.h"
#include "stream/pattern.h"

#define PAGE 4096
#define LOOKS 40
#define LOOKS_ALONE 8 /* for a single thread, which does not wait for other threads */
#define CHUNK_BYTES 16384    /* minimum of each array, for loops over four pages at once */
#define LOOKS_STRING 5 /* for string instructions, which are fast only in long runs */
#define WARM_BYTES (1 << 26) /* a larger set is not loaded into the caches */
#define JUMP_FACTOR 4        /* a chunk this many times the shortest ... */
#define JUMP_NS 30000        /* ... and this much longer: the thread was descheduled */

struct layout layout_of(uint64_t size, const struct traffic *traffic, uint64_t grain)
{
    uint64_t bytes = size / traffic_arrays(traffic) / grain * grain;
    return (struct layout){bytes, (bytes + PAGE - 1) / PAGE * PAGE};
}

static struct range range_of(const struct work *work, uint64_t at, uint64_t bytes)
{
    uint64_t pitch = work->layout.pitch;
    uint64_t second = work->traffic->loads > 1 ? pitch : 0, stored = work->traffic->stores > 0 ? pitch * work->traffic->loads : 0;
    return (struct range){at, second + at, stored + at, bytes};
}

static struct stretch stretch_of(const struct walker *walker, const struct work *work, uint64_t at, uint64_t bytes)
{
    struct range range = range_of(work, at, bytes);
    return (struct stretch){walker->start + range.first, walker->start + range.second, walker->start + range.stored, bytes,
                            walker->kept};
}

static void fill(void *context, char *start, size_t bytes)
{
    const struct walker *walker = context;
    pattern_fill(walker->start, walker->seed, (uint64_t)(start - walker->start), bytes);
}

void walker_fill(struct walker *walker, const struct arena *arena)
{
    struct populate part = arena_part(arena, walker->start, walker->bytes);
    part.fill = fill;
    part.context = walker;
    walker->fill_error = populate(&part, &arena->helpers);
}

void walker_begin(struct walker *walker, const struct work *work)
{
    uint64_t array = work->layout.array_bytes;
    walker->at = (uint64_t)(walker->place * (double)array) / work->grain * work->grain;
    walker->at = array > CHUNK_BYTES && walker->at < array ? walker->at : 0;
    walker->began = walker->at;
    walker->covered = 0;
    walker->chunk = CHUNK_BYTES / work->grain * work->grain;
}

/* Processes `walker->chunk` bytes of each array, at most up to its end, or short arrays repeatedly. Returns the bytes per array. */
static uint64_t walk(struct walker *walker, const struct work *work)
{
    uint64_t array = work->layout.array_bytes, passes = 1, bytes = walker->chunk;
    if (array <= walker->chunk && walker->at == 0) {
        passes = walker->chunk / array;
        bytes = array;
    } else if (array - walker->at < bytes) {
        bytes = array - walker->at;
    }
    struct stretch stretch = stretch_of(walker, work, walker->at, bytes);
    work->loop.run(&stretch, passes);
    walker->at = walker->at + bytes < array ? walker->at + bytes : 0;
    walker->covered += bytes * passes;
    return bytes * passes;
}

/* How often the clock is read in a window. All threads wait for the last one, which ends at most a fortieth of the window after the
 * deadline. Each reading interrupts the loop for some hundred cycles. */
static double looks(const struct work *work)
{
    if (!work->loop.ownership)
        return LOOKS_STRING;
    return work->alone ? LOOKS_ALONE : LOOKS;
}

void walker_warm(struct walker *walker, const struct work *work)
{
    uint64_t array = work->layout.array_bytes, moved = 0;
    while (work->whole && array < WARM_BYTES && moved < array)
        moved += walk(walker, work);
    uint64_t before = cpu_ticks(), now = before;
    for (moved = 0; now - before < work->window_ticks; now = cpu_ticks())
        moved += walk(walker, work);
    uint64_t chunk = (uint64_t)((double)moved / (double)(now - before) * (double)work->window_ticks / looks(work));
    uint64_t least = CHUNK_BYTES / work->grain * work->grain;
    walker->chunk = chunk < least ? least : chunk / least * least;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

void walker_ready(struct walker *walker)
{
    walker->switches = switches();
    uint64_t before = cpu_ticks();
    cpu_dependent_adds(WALKER_ADDS / CPU_ADDS_PER_TURN);
    walker->add_ticks = cpu_ticks() - before;
}

void walker_window(struct walker *walker, const struct work *work, const struct timer *timer, uint64_t start_ticks)
{
    uint64_t deadline = start_ticks + work->window_ticks, now = start_ticks, moved = 0, shortest = UINT64_MAX, longest = 0;
    while (now < deadline) {
        moved += walk(walker, work);
        uint64_t then = cpu_ticks_loose(), taken = then - now;
        shortest = taken < shortest ? taken : shortest;
        longest = taken > longest ? taken : longest;
        now = then;
    }
    vector_fence();
    walker->end_ticks = cpu_ticks();
    walker->moved = moved;
    bool jumped = longest > JUMP_FACTOR * shortest + (uint64_t)(JUMP_NS / timer->ns_per_tick);
    walker->disturbed = jumped || switches() != walker->switches;
}

__attribute__((noreturn)) static void refuse(const struct work *work, const char *what, uint64_t at)
{
    fail(EXIT_SELF_CHECK, "traffic %s, loop %s: %s at byte %llu of arrays of %llu bytes has the wrong value", work->traffic->word,
         work->loop.variant, what, (unsigned long long)at, (unsigned long long)work->layout.array_bytes);
}

/* Verifies the combined values of a pass over a range, whose combined content is known. */
static void check_fold(const struct walker *walker, const struct work *work, uint64_t at, uint64_t bytes)
{
    uint64_t sum = 0;
    if (bytes == 0)
        return;
    struct stretch stretch = stretch_of(walker, work, at, bytes);
    memset(walker->kept, 0, LOOPS_KEPT_BYTES);
    work->loop.run(&stretch, 1);
    for (uint64_t i = 0; i < LOOPS_KEPT_BYTES / sizeof sum; i++)
        sum ^= ((const uint64_t *)(const void *)walker->kept)[i];
    if (sum != pattern_fold(walker->seed, at, bytes))
        refuse(work, "what was read", at);
}

static void check_range(const struct walker *walker, const struct work *work, uint64_t at, uint64_t bytes)
{
    if (work->loop.folds)
        check_fold(walker, work, at, bytes);
    int64_t wrong = pattern_settle(walker->start, walker->seed, work->traffic, range_of(work, at, bytes));
    if (wrong >= 0)
        refuse(work, "memory", at + (uint64_t)wrong);
}

/* Verifies that nothing was stored after the last line, in the rest of the array or between arrays. */
static void check_behind(const struct walker *walker, const struct work *work, uint64_t next)
{
    uint64_t array = work->layout.array_bytes, room = (next < array ? array : work->layout.pitch) - next;
    uint64_t bytes = room < PAGE ? room : PAGE;
    if (!pattern_holds(walker->start, walker->seed, range_of(work, next, bytes).stored, bytes))
        refuse(work, "memory after the last line", next);
}

void walker_check(struct walker *walker, const struct work *work)
{
    uint64_t array = work->layout.array_bytes, end = walker->began + walker->covered;
    if (walker->covered >= array) {
        check_range(walker, work, 0, array);
        check_behind(walker, work, array);
    } else {
        check_range(walker, work, walker->began, (end < array ? end : array) - walker->began);
        check_range(walker, work, 0, end > array ? end - array : 0);
        check_behind(walker, work, end % array);
    }
    walker->place = (double)walker->at / (double)array;
}
