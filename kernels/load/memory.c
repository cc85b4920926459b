#include "load/memory.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define SKEW 1280 /* distance of the offsets of two arrays in their pages: loads and stores 4096 bytes apart wait for each other */
#define BEFORE (-1.0)
#define PERIOD 4088 /* doubles after which the content repeats: 511 lines, so that lines a power of two apart differ */

/* The actual or expected content of an array, starting at any multiple of PERIOD doubles. */
struct content {
    double block[PERIOD];
};

/* The contents of the arrays of a thread before its first pass. */
struct contents {
    const struct walker *walker;
    struct content array[TRAFFIC_ARRAYS_MAX];
};

static uint64_t slice_bytes(const struct crew *crew)
{
    uint64_t arrays = traffic_arrays(crew->plan.traffic);
    return arrays * crew->array_bytes + (arrays - 1) * SKEW / PAGE * PAGE + PAGE;
}

uint64_t memory_array_bytes(const struct crew_plan *plan)
{
    return plan->bytes / traffic_arrays(plan->traffic) / PAGE * PAGE;
}

/* The initial content of array `index` at `i` < PERIOD: sums and products of such numbers are exact. */
static inline double pattern(uint64_t i, unsigned index)
{
    return (double)(int32_t)((uint32_t)(i + index) * 2654435761u >> 16);
}

/* The node of the CPU to which this thread is bound; 0 if unknown. */
static int64_t own_node(void)
{
    unsigned cpu = 0, node = 0;
    return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 ? (int64_t)node : 0;
}

/* Whether two threads share an arena: they have the same node, or none and CPUs on the same node. */
static bool together(const struct crew *crew, size_t a, size_t b)
{
    return (crew->plan.nodes[a] < 0) == (crew->plan.nodes[b] < 0) && crew->walkers[a].node == crew->walkers[b].node;
}

/* The first thread that shares an arena with `index`, and the number of such threads before `index`. */
static size_t leader_of(const struct crew *crew, size_t index, size_t *before)
{
    size_t leader = index;
    *before = 0;
    for (size_t i = index; i-- > 0;)
        if (together(crew, i, index)) {
            leader = i;
            ++*before;
        }
    return leader;
}

/* The content of the array before any store. */
static void content_before(struct content *content, bool loaded, unsigned index)
{
    for (uint64_t i = 0; i < PERIOD; i++)
        content->block[i] = loaded ? pattern(i, index) : BEFORE;
}

/* Writes the content of an array to its bytes `from` .. `to`. */
static void write_content(char *array, uint64_t from, uint64_t to, const struct content *content)
{
    const char *block = (const char *)content->block;
    for (uint64_t at = from, bytes; at < to; at += bytes) {
        uint64_t phase = at % sizeof content->block;
        bytes = to - at < sizeof content->block - phase ? to - at : sizeof content->block - phase;
        memcpy(array + at, block + phase, bytes);
    }
}

/* Writes the contents of all arrays to a piece of the thread's memory. */
static void write_piece(void *context, char *start, size_t bytes)
{
    const struct contents *contents = context;
    const struct crew *crew = contents->walker->crew;
    for (unsigned k = 0; k < traffic_arrays(crew->plan.traffic); k++) {
        char *array = contents->walker->array[k], *end = array + crew->array_bytes;
        char *from = start > array ? start : array, *to = start + bytes < end ? start + bytes : end;
        if (from < to)
            write_content(array, (uint64_t)(from - array), (uint64_t)(to - array), &contents->array[k]);
    }
}

/* Populates the thread's part of the leader's arena and writes its contents; 0 or errno. */
static int fill(struct walker *walker, const struct walker *leader)
{
    const struct crew *crew = walker->crew;
    const struct traffic *traffic = crew->plan.traffic;
    struct contents contents = {.walker = walker};
    char *slice = leader->arena.start + walker->place * slice_bytes(crew);
    for (unsigned k = 0; k < TRAFFIC_ARRAYS_MAX; k++) {
        walker->array[k] = k < traffic_arrays(traffic) ? slice + k * (crew->array_bytes + SKEW) : slice;
        content_before(&contents.array[k], k < traffic->loads, k);
    }
    struct populate part = arena_part(&leader->arena, slice, slice_bytes(crew));
    part.fill = write_piece;
    part.context = &contents;
    return populate(&part, &leader->arena.helpers);
}

/* Lets all threads of the arena fill their parts; 0, or errno if one of them could not. */
static int fill_together(struct arena *arena)
{
    struct walker *leader = arena->context;
    leader->arena = *arena;
    atomic_store(&leader->fill_error, 0);
    atomic_store(&leader->filled, 1);
    atomic_fetch_add(&leader->attempt, 1);
    int error = fill(leader, leader);
    for (size_t filled; (filled = atomic_load(&leader->filled)) < leader->arena_threads;)
        team_wait_change(&leader->filled, filled);
    return error != 0 ? error : atomic_load(&leader->fill_error);
}

static void map(struct walker *leader, size_t index)
{
    const struct crew *crew = leader->crew;
    struct arena arena = {.writer = fill_together, .context = leader};
    for (size_t i = index; i < crew->plan.count; i++)
        leader->arena_threads += together(crew, i, index);
    arena_map_into(&arena, crew->plan.pages, leader->arena_threads * slice_bytes(crew), crew->plan.nodes[index]);
    leader->arena = arena;
    atomic_fetch_or(&leader->attempt, WALKER_MAPPED);
}

/* Fills the thread's part each time the leader tries to map the arena, until the arena is mapped. */
static void help(struct walker *walker, struct walker *leader)
{
    for (size_t seen = 0;;) {
        team_wait_change(&leader->attempt, seen);
        seen = atomic_load(&leader->attempt);
        if (seen & WALKER_MAPPED)
            return;
        int error = fill(walker, leader);
        if (error != 0)
            atomic_store(&leader->fill_error, error);
        atomic_fetch_add(&leader->filled, 1);
    }
}

void memory_take(struct crew *crew, struct member *member)
{
    struct walker *walker = &crew->walkers[member->index];
    walker->node = crew->plan.nodes[member->index] < 0 ? own_node() : crew->plan.nodes[member->index];
    team_barrier(&crew->team);
    size_t leader = leader_of(crew, member->index, &walker->place);
    if (leader == member->index)
        map(walker, leader);
    else
        help(walker, &crew->walkers[leader]);
    walker->filled_ns = timer_monotonic_ns();
}

/* The content of the stored array at `i` < PERIOD after the thread has written it. */
static inline double stored(enum traffic_value value, uint64_t i)
{
    double a = pattern(i, 0), b = pattern(i, 1);
    switch (value) {
    case TRAFFIC_COPY:
        return a;
    case TRAFFIC_SCALE:
        return TRAFFIC_FACTOR * a;
    case TRAFFIC_ADD:
        return a + b;
    case TRAFFIC_TRIAD:
        return a + TRAFFIC_FACTOR * b;
    default:
        return TRAFFIC_FACTOR;
    }
}

/* Returns the number of doubles from `from` to `to` that differ from the expected content. */
static uint64_t wrong(const double *array, uint64_t from, uint64_t to, const struct content *content)
{
    uint64_t found = 0;
    for (uint64_t i = from, count; i < to; i += count) {
        uint64_t at = i % PERIOD;
        count = to - i < PERIOD - at ? to - i : PERIOD - at;
        if (memcmp(array + i, content->block + at, count * sizeof(double)) != 0)
            for (uint64_t k = 0; k < count; k++)
                found += array[i + k] != content->block[at + k];
    }
    return found;
}

static uint64_t wrong_stored(const struct walker *walker, const double *array)
{
    uint64_t count = walker->crew->array_bytes / sizeof(double), reached = walker->at / sizeof(double);
    struct content after, before;
    for (uint64_t i = 0; i < PERIOD; i++)
        after.block[i] = stored(walker->crew->plan.traffic->value, i);
    content_before(&before, false, 0);
    reached = walker->rounds > 0 ? count : reached;
    return wrong(array, 0, reached, &after) + wrong(array, reached, count, &before);
}

uint64_t memory_wrong(const struct walker *walker)
{
    const struct crew *crew = walker->crew;
    uint64_t found = 0;
    struct content content;
    for (unsigned k = 0; k < traffic_arrays(crew->plan.traffic); k++) {
        const double *array = (const double *)walker->array[k];
        if (k >= crew->plan.traffic->loads) {
            found += wrong_stored(walker, array);
            continue;
        }
        content_before(&content, true, k);
        found += wrong(array, 0, crew->array_bytes / sizeof(double), &content);
    }
    return found;
}
