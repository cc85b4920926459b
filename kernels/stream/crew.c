#include "stream/crew.h"

#include "stream/pattern.h"

#define MARGIN_NS 3000 /* from the arrival of the last thread to the common start */
#define KEPT_ALIGNMENT 256

/* Whether two threads share an arena: they have the same memory node and run on the same node. */
static bool same_arena(const struct crew *crew, size_t i, size_t k)
{
    return crew->nodes[i] == crew->nodes[k] && (crew->nodes[i] >= 0 || crew->homes[i] == crew->homes[k]);
}

static bool first_of_arena(const struct crew *crew, size_t index)
{
    for (size_t k = 0; k < index; k++)
        if (same_arena(crew, index, k))
            return false;
    return true;
}

/* The node of a page; -1 if unknown. */
static int node_of(const char *address)
{
    int node = -1;
    long done = syscall(SYS_get_mempolicy, &node, NULL, 0ul, address, MPOL_F_NODE | MPOL_F_ADDR);
    return done == 0 ? node : -1;
}

static void note_arena(struct crew *crew, const struct arena *arena)
{
    if (crew->arenas == 0 || arena->page_bytes < crew->least.page_bytes)
        crew->least = *arena;
    crew->arenas++;
    crew->arena_bytes += arena->bytes;
}

/* Lets each thread populate and fill its part; 0, or errno if one of them could not. */
static int fill_arena(struct arena *arena)
{
    struct crew *crew = arena->context;
    struct walker *mapper = &crew->walkers[crew->mapper];
    mapper->arena = *arena;
    for (size_t i = 0, part = 0; i < crew->team.count; i++)
        if (same_arena(crew, crew->mapper, i))
            crew->walkers[i].start = arena->start + crew->thread_bytes * part++;
    crew->order = ORDER_FILL;
    team_barrier(&crew->team);
    walker_fill(mapper, arena);
    team_barrier(&crew->team);
    for (size_t i = 0; i < crew->team.count; i++)
        if (same_arena(crew, crew->mapper, i) && crew->walkers[i].fill_error != 0)
            return crew->walkers[i].fill_error;
    return 0;
}

/* Maps the arena of all threads that share it with `index`; called by that thread. Every thread populates its part, so that the
 * pages are local to it. A single thread is helped by other threads. */
static void map_arena(struct crew *crew, size_t index)
{
    uint64_t threads = 0;
    for (size_t i = 0; i < crew->team.count; i++)
        threads += same_arena(crew, index, i) ? 1 : 0;
    struct arena arena = {.helpers = crew->helpers, .writer = fill_arena, .context = crew};
    crew->mapper = index;
    arena_map_into(&arena, crew->pages, threads * crew->thread_bytes, crew->nodes[index]);
    note_arena(crew, &arena);
    crew->walkers[index].arena = arena;
    crew->order = ORDER_MAPPED;
    team_barrier(&crew->team);
}

/* Populates the part of thread `index` in each attempt to map an arena, until the arena is mapped. */
static void help_mapping(struct crew *crew, size_t index)
{
    for (team_barrier(&crew->team); crew->order == ORDER_FILL; team_barrier(&crew->team)) {
        if (same_arena(crew, crew->mapper, index))
            walker_fill(&crew->walkers[index], &crew->walkers[crew->mapper].arena);
        team_barrier(&crew->team);
    }
}

/* Rejects sizes for which there is too little memory, before anything is mapped. Pools of huge pages are included. */
static void require_memory(const struct crew *crew)
{
    int64_t available = arena_available(-1), needed = (int64_t)(crew->thread_bytes * crew->team.count);
    int64_t small = hugepool_free(1 << 21, -1), large = hugepool_free(1 << 30, -1);
    if (available < 0)
        return;
    available += (small > 0 ? small << 21 : 0) + (large > 0 ? large << 30 : 0);
    if (needed > available)
        fail(EXIT_ENVIRONMENT,
             "not enough memory: %zu threads need %lld bytes together, %lld are free; use smaller --sizes or fewer --cpus",
             crew->team.count, (long long)needed, (long long)available);
}

/* Arenas are mapped one after another, so that each mapping sees how much memory the previous one has left. */
static void map_memory(struct member *member, struct crew *crew)
{
    crew->homes[member->index] = node_or_here(-1);
    team_barrier(member->team);
    for (size_t i = 0; i < crew->team.count; i++) {
        if (!first_of_arena(crew, i))
            continue;
        if (i == member->index)
            map_arena(crew, i);
        else
            help_mapping(crew, member->index);
        team_barrier(member->team);
    }
}

static void prepare(struct member *member, struct crew *crew)
{
    struct walker *walker = &crew->walkers[member->index];
    if (member->index == 0)
        require_memory(crew);
    walker->bytes = crew->thread_bytes;
    walker->seed = crew->seed + member->index;
    map_memory(member, crew);
    walker->kept = aligned_alloc(KEPT_ALIGNMENT, LOOPS_KEPT_BYTES);
    if (!walker->kept)
        fail(EXIT_ENVIRONMENT, "not enough memory for the accumulators of a thread");
    walker->node = node_of(walker->start);
    team_barrier(member->team);
}

static void obey(struct member *member, struct crew *crew)
{
    struct walker *walker = &crew->walkers[member->index];
    switch (crew->order) {
    case ORDER_FILL:
    case ORDER_MAPPED: /* see help_mapping */
        return;
    case ORDER_BEGIN:
        walker_begin(walker, &crew->work);
        return;
    case ORDER_WARM:
        walker_warm(walker, &crew->work);
        return;
    case ORDER_WINDOW: {
        walker_ready(walker);
        uint64_t start = team_begin(&crew->team, MARGIN_NS);
        walker_window(walker, &crew->work, &crew->timer, start);
        if (member->index == 0)
            crew->start_ticks = start;
        return;
    }
    case ORDER_CHECK:
        walker_check(walker, &crew->work);
        return;
    case ORDER_END:
        free(walker->kept);
        return;
    }
}

void crew_do(struct crew *crew, enum order order)
{
    crew->order = order;
    team_barrier(&crew->team);
    obey(&crew->team.members[0], crew);
    team_barrier(&crew->team);
}

static void serve(struct member *member)
{
    struct crew *crew = member->context;
    prepare(member, crew);
    if (member->index == 0) {
        crew->map_ns = timer_monotonic_ns() - crew->started_ns;
        crew->lead(crew);
        crew_do(crew, ORDER_END);
        return;
    }
    for (bool more = true; more;) {
        team_barrier(member->team); /* the command is read between two barriers, while the thread that wrote it waits */
        more = crew->order != ORDER_END;
        obey(member, crew);
        team_barrier(member->team);
    }
}

static bool release(struct crew *crew)
{
    bool restored = true;
    for (size_t i = 0; i < crew->team.count; i++)
        restored = arena_release(&crew->walkers[i].arena) && restored;
    return restored;
}

bool crew_run(struct crew *crew)
{
    size_t count = crew->cpus->count;
    crew->work.alone = count == 1;
    crew->started_ns = timer_monotonic_ns();
    crew->walkers = aligned_alloc(TEAM_LINE, count * sizeof *crew->walkers);
    crew->homes = calloc(count, sizeof *crew->homes);
    if (!crew->walkers || !crew->homes)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu threads", count);
    memset(crew->walkers, 0, count * sizeof *crew->walkers);
    team_start(&crew->team, &crew->timer, crew->cpus->values, count, serve, crew);
    team_join(&crew->team);
    bool restored = release(crew);
    free(crew->walkers);
    free(crew->homes);
    return restored;
}
