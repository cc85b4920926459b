/* A range of memory with one kind of pages, bound to a node, populated and verified. Missing pages are added to the pools of
 * huge pages during the life of the process if it has permission (kit/hugepool.h). Threads may map arenas at the same time. */
#ifndef KIT_ARENA_H
#define KIT_ARENA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit/cgroup.h"
#include "kit/fail.h"
#include "kit/hugepool.h"
#include "kit/node.h"
#include "kit/out.h"
#include "kit/pages.h"
#include "kit/populate.h"
#include "kit/smaps.h"
#include "kit/sysfile.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#define ARENA_WHY_MAX 512
#define ARENA_PATIENCE_MS 20000 /* for pages of a requested kind, */
#define ARENA_AUTO_PATIENCE_MS 1000 /* and for pages that the next kind can replace */

struct arena {
    char *start;
    size_t bytes; /* a multiple of the page size */
    enum arena_kind kind;
    int64_t page_bytes, base_page_bytes;
    struct smaps smaps;
    int64_t pool_node;               /* the node of the pool; -1 for the pool of the whole system */
    int64_t pool_before, pool_added; /* pages; before is -1 if none had to be added */
    struct helpers helpers;          /* the threads that help populate it */
    int (*writer)(struct arena *);   /* if set, populates every page instead of arena_populate; returns 0 or errno */
    void *context;                   /* passed to the writer */
    char lost[ARENA_WHY_MAX];        /* larger pages that auto could not get, and the reasons; or empty */
};

/* A lock for the whole program, held from counting a pool's free pages until a mapping has reserved them. */
__attribute__((weak)) pthread_mutex_t arena_pools = PTHREAD_MUTEX_INITIALIZER;

/* The number of bytes available within the limits of the control group, on the node if one is given; -1 if unknown. */
static inline int64_t arena_available(int64_t node)
{
    int64_t available = node_available_bytes(node), allowed = cgroup_available_bytes();
    return allowed >= 0 && (available < 0 || allowed < available) ? allowed : available;
}

/* Adds `missing` pages to the pool, but leaves an eighth of the free memory free. */
static inline bool arena_grow_pool(struct arena *arena, int64_t missing, bool alternative, char *why, size_t size)
{
    int64_t page = arena->page_bytes, available = arena_available(arena->pool_node);
    int refusal = hugepool_refusal(page, arena->pool_node);
    if (refusal != 0) {
        snprintf(why, size, "only root can add pages to it: %s", strerror(refusal));
    } else if (available >= 0 && missing > available / page * 7 / 8) {
        snprintf(why, size, "adding them would leave less than an eighth of the %lld bytes of free memory", (long long)available);
    } else {
        int64_t patience = alternative ? ARENA_AUTO_PATIENCE_MS : ARENA_PATIENCE_MS;
        struct hugepool_reply reply = hugepool_change(page, arena->pool_node, missing, patience);
        arena->pool_before = reply.before;
        arena->pool_added = reply.changed;
        snprintf(why, size, "the system could not allocate more within %lld ms", (long long)patience);
    }
    return arena->pool_added > 0;
}

/* Ensures that the pool has free pages for the arena. Otherwise, returns false and stores the reason. */
static inline bool arena_fill_pool(struct arena *arena, bool alternative, char *why, size_t size)
{
    int64_t page = arena->page_bytes, pages = (int64_t)arena->bytes / page, there = hugepool_free(page, arena->pool_node);
    if (there < 0)
        snprintf(why, size, "this system has no pages of %lld bytes", (long long)page);
    if (there < 0 || there >= pages)
        return there >= pages;
    int used = snprintf(why, size, "the pool of %lld byte pages has %lld free, %lld needed, and ", (long long)page,
                        (long long)there, (long long)pages);
    return arena_grow_pool(arena, pages - there, alternative, why + used, size - (size_t)used);
}

/* Reserves address space for the range, aligned to the page size of the kind; NULL if there is none. */
static inline char *arena_reserve(enum arena_kind kind, size_t bytes, size_t page)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (arena_is_pool(kind)) {
        flags |= MAP_HUGETLB | (kind == ARENA_2M ? 21 : 30) << MAP_HUGE_SHIFT;
        char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        return start == MAP_FAILED ? NULL : start;
    }
    char *wide = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (wide == MAP_FAILED)
        return NULL;
    size_t head = (page - (uintptr_t)wide % page) % page;
    if (head > 0)
        munmap(wide, head);
    if (page > head)
        munmap(wide + head + bytes, page - head);
    return wide + head;
}

/* Whether the pages are of the requested kind. Nine tenths are enough for transparent huge pages, because the system may have
 * too few of them; otherwise, all pages must be of this kind. */
static inline bool arena_is_kind(const struct arena *arena)
{
    const struct smaps *smaps = &arena->smaps;
    if (!smaps->found)
        return true;
    if (arena->kind == ARENA_BASE)
        return smaps->huge_bytes == 0 && smaps->page_bytes == arena->base_page_bytes;
    if (arena->kind == ARENA_THP)
        return smaps->huge_bytes >= (int64_t)(arena->bytes / 10 * 9);
    return smaps->page_bytes == arena->page_bytes;
}

static inline void arena_require_memory(size_t bytes, int64_t node)
{
    int64_t available = arena_available(node);
    if (available >= 0 && (int64_t)(bytes + bytes / 32) > available)
        fail(EXIT_ENVIRONMENT, "not enough memory: %zu bytes needed, %lld free", bytes + bytes / 32, (long long)available);
}

/* Describes how a part of the arena is populated. */
static inline struct populate arena_part(const struct arena *arena, const char *start, size_t bytes)
{
    size_t first = (size_t)(start - arena->start);
    return (struct populate){.start = arena->start, .page = (size_t)arena->page_bytes, .first = first, .last = first + bytes};
}

static inline int arena_populate(const struct arena *arena)
{
    struct populate whole = arena_part(arena, arena->start, arena->bytes);
    return populate(&whole, &arena->helpers);
}

/* Populates the mapping and verifies its pages. Returns false and stores the reason if they are of another kind. */
static inline bool arena_fill(struct arena *arena, char *why, size_t size)
{
    int error = arena->writer ? arena->writer(arena) : arena_populate(arena);
    if (error != 0) {
        snprintf(why, size, "%zu bytes cannot be populated: %s", arena->bytes, strerror(error));
        return false;
    }
    arena->smaps = smaps_read(arena->start, arena->bytes, arena_is_pool(arena->kind));
    snprintf(why, size, "of %zu bytes, %lld are in huge pages; the page size is %lld", arena->bytes,
             (long long)arena->smaps.huge_bytes, (long long)arena->smaps.page_bytes);
    return arena_is_kind(arena);
}

/* Obtains address space and, for a pool, its pages. Returns NULL and stores the reason if they are not available. */
static inline char *arena_claim(struct arena *arena, bool alternative, int64_t node, char *why, size_t size)
{
    char *start = NULL;
    if (!arena_is_pool(arena->kind)) {
        if (arena->kind == ARENA_THP && !arena_has_thp(why, size))
            return NULL;
        arena_require_memory(arena->bytes, node);
        start = arena_reserve(arena->kind, arena->bytes, (size_t)arena->page_bytes);
    } else {
        pthread_mutex_lock(&arena_pools);
        int lock = hugepool_lock(arena->page_bytes);
        bool filled = arena_fill_pool(arena, alternative, why, size);
        start = filled ? arena_reserve(arena->kind, arena->bytes, (size_t)arena->page_bytes) : NULL;
        close(lock);
        pthread_mutex_unlock(&arena_pools);
        if (!filled)
            return NULL;
    }
    if (!start)
        snprintf(why, size, "%zu bytes cannot be mapped: %s", arena->bytes, strerror(errno));
    return start;
}

/* Releases the memory, and the pages that were added to a pool for it. False if the pool kept some of them. */
static inline bool arena_release(struct arena *arena)
{
    int64_t added = arena->pool_added;
    if (arena->start)
        munmap(arena->start, arena->bytes);
    arena->start = NULL;
    arena->pool_added = 0;
    if (added == 0)
        return true;
    pthread_mutex_lock(&arena_pools);
    int lock = hugepool_lock(arena->page_bytes);
    bool done = hugepool_change(arena->page_bytes, arena->pool_node, -added, 0).done;
    close(lock);
    pthread_mutex_unlock(&arena_pools);
    return done;
}

/* Maps and populates the arena. Returns false and stores the reason if the kind is not available. Ends the program with 3 if there
 * is too little memory or a page is on the wrong node. With `alternative`, another kind may be used instead. */
static inline bool arena_try(struct arena *arena, size_t bytes, bool alternative, int64_t node, char *why, size_t size)
{
    bool pool = arena_is_pool(arena->kind);
    arena->base_page_bytes = sysconf(_SC_PAGESIZE);
    arena->page_bytes = arena_page_bytes(arena->kind);
    arena->pool_node = pool ? node_or_here(node) : -1;
    arena->pool_before = -1;
    size_t page = (size_t)arena->page_bytes;
    arena->bytes = (bytes + page - 1) / page * page;
    arena->start = arena_claim(arena, alternative, node, why, size);
    if (arena->start) {
        madvise(arena->start, arena->bytes, MADV_DONTFORK); /* a child would share the pages of a pool and keep them alive */
        if (!pool) /* this fails if the system has no transparent huge pages, in which case base pages are used anyway */
            madvise(arena->start, arena->bytes, arena->kind == ARENA_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        if (node >= 0)
            node_bind(arena->start, arena->bytes, node);
        if (arena_fill(arena, why, size))
            return true;
    }
    arena_release(arena);
    return false;
}

/* Adds the reason why a kind is not available to `pages_lost`. */
static inline void arena_note_lost(struct arena *arena, const char *why)
{
    size_t used = strlen(arena->lost);
    snprintf(arena->lost + used, sizeof arena->lost - used, "%s%s: %s", used ? "; " : "", arena_kind_name(arena->kind), why);
}

/* Whether auto tries a kind: the range must fill at least one page, and pages of 1 GiB are never tried, because the system takes
 * seconds to make one. Memory of any size therefore has the same kind of pages, so that results are comparable. */
static inline bool arena_suits(enum arena_kind kind, size_t bytes)
{
    return kind != ARENA_1G && (!arena_is_pool(kind) || bytes >= (size_t)arena_page_bytes(kind));
}

/* Maps `bytes` for `filled`, in which nothing is set yet except the helpers, or the writer and its context, if there are any.
 * `kinds` is one of ARENA_KINDS; auto takes the largest available kind that suits the size. Ends the program with 3 if there is
 * none. */
static inline void arena_map_into(struct arena *filled, const char *kinds, size_t bytes, int64_t node)
{
    static const enum arena_kind order[] = {ARENA_1G, ARENA_2M, ARENA_THP, ARENA_BASE};
    struct arena arena = *filled;
    char why[ARENA_WHY_MAX] = "";
    bool any = strcmp(kinds, "auto") == 0;
    node_require(node);
    for (size_t i = 0; i < sizeof order / sizeof *order && !arena.start; i++) {
        arena.kind = order[i];
        bool eligible = any ? arena_suits(order[i], bytes) : strcmp(kinds, arena_kind_name(order[i])) == 0;
        if (eligible && !arena_try(&arena, bytes, any, node, why, sizeof why))
            arena_note_lost(&arena, why);
    }
    if (!arena.start)
        fail(EXIT_ENVIRONMENT, "pages are not available: %s%s", arena.lost, any ? "" : "; --pages auto uses those that are");
    if (node >= 0)
        node_check(arena.start, arena.bytes, node);
    *filled = arena;
}

/* Like arena_map_into, but one thread populates the memory. */
static inline struct arena arena_map(const char *kinds, size_t bytes, int64_t node)
{
    struct arena arena = {0};
    arena_map_into(&arena, kinds, bytes, node);
    return arena;
}

/* The members of the meta line about the requested, obtained and verified pages. */
static inline void arena_report(const struct arena *arena, const char *requested, struct out *out)
{
    const struct smaps *smaps = &arena->smaps;
    out_text(out, "pages_asked", requested);
    out_text(out, "pages", arena_kind_name(arena->kind));
    out_integer(out, "page_bytes", arena->page_bytes);
    out_integer(out, "base_page_bytes", arena->base_page_bytes);
    out_integer(out, "arena_bytes", (int64_t)arena->bytes);
    out_bool(out, "pages_verified", smaps->found);
    out_integer(out, "kernel_page_bytes", smaps->found ? smaps->page_bytes : -1);
    out_integer(out, "huge_bytes", smaps->found ? smaps->huge_bytes : -1);
    if (arena->pool_added > 0)
        out_integer(out, "pool_pages_before", arena->pool_before);
    else
        out_null(out, "pool_pages_before");
    out_integer(out, "pool_pages_added", arena->pool_added);
    out_integer(out, "pool_node", arena->pool_node);
    if (*arena->lost)
        out_text(out, "pages_lost", arena->lost);
    else
        out_null(out, "pages_lost");
}

#endif
