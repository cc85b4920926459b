/* One range of memory of a page kind, bound to a node, populated, and read back from the system. Pools of huge pages are used
 * as they are found and never changed. */
#ifndef KIT_ARENA_H
#define KIT_ARENA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit/cgroup.h"
#include "kit/fail.h"
#include "kit/node.h"
#include "kit/out.h"
#include "kit/smaps.h"
#include "kit/sysfile.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older libc headers lack it */
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#define ARENA_KINDS "auto 4k thp 2m 1g"

enum arena_kind { ARENA_BASE, ARENA_THP, ARENA_2M, ARENA_1G };

struct arena {
    char *start;
    size_t bytes; /* whole pages of the kind */
    enum arena_kind kind;
    int64_t page_bytes, base_page_bytes;
    struct smaps smaps;
};

static inline const char *arena_kind_name(enum arena_kind kind)
{
    static const char *const names[] = {"4k", "thp", "2m", "1g"};
    return names[kind];
}

static inline int64_t arena_page_bytes(enum arena_kind kind)
{
    char text[32];
    if (kind == ARENA_2M)
        return 1 << 21;
    if (kind == ARENA_1G)
        return 1 << 30;
    if (kind == ARENA_BASE)
        return sysconf(_SC_PAGESIZE);
    sysfile_text(text, sizeof text, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    return *text ? strtoll(text, NULL, 10) : 1 << 21;
}

/* Unreserved free pages of a pool, on the node if one is named; -1 if the system has no such pages. */
static inline int64_t arena_pool_free(int64_t page_bytes, int64_t node)
{
    char text[32];
    int kb = (int)(page_bytes >> 10);
    sysfile_text(text, sizeof text, "/sys/kernel/mm/hugepages/hugepages-%dkB/free_hugepages", kb);
    if (*text == '\0')
        return -1;
    int64_t pages = strtoll(text, NULL, 10);
    sysfile_text(text, sizeof text, "/sys/kernel/mm/hugepages/hugepages-%dkB/resv_hugepages", kb);
    pages -= strtoll(text, NULL, 10);
    if (node >= 0) {
        sysfile_text(text, sizeof text, "/sys/devices/system/node/node%d/hugepages/hugepages-%dkB/free_hugepages", (int)node, kb);
        int64_t there = *text ? strtoll(text, NULL, 10) : pages;
        pages = there < pages ? there : pages;
    }
    return pages;
}

/* Writes why the kind cannot be had and returns false, or returns true. */
static inline bool arena_offered(enum arena_kind kind, size_t bytes, int64_t node, char *why, size_t size)
{
    char text[64];
    int64_t page = arena_page_bytes(kind), pages = (int64_t)((bytes + (size_t)page - 1) / (size_t)page), pool;
    if (kind == ARENA_THP) {
        sysfile_text(text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled");
        snprintf(why, size, "transparent huge pages are %s", *text ? "switched off" : "not built into this system");
        return *text && !strstr(text, "[never]");
    }
    if (kind == ARENA_BASE)
        return true;
    pool = arena_pool_free(page, node);
    if (pool < 0)
        snprintf(why, size, "this system has no pages of %lld bytes", (long long)page);
    else
        snprintf(why, size, "the pool of %lld byte pages has %lld free, %lld needed", (long long)page, (long long)pool,
                 (long long)pages);
    return pool >= pages;
}

/* Address space for the range, aligned to the page of the kind; NULL if there is none. */
static inline char *arena_reserve(enum arena_kind kind, size_t bytes, size_t page)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (kind == ARENA_2M || kind == ARENA_1G) {
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

/* Every page written to: a page that was only read is the zero page. */
static inline bool arena_populate(char *start, size_t bytes)
{
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page)
        ((volatile char *)start)[at] = 0;
    return true;
}

/* Whether the pages are of the kind: all of them, or nine tenths for transparent ones, which the system may run short of. */
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
    int64_t available = node_available_bytes(node), allowed = cgroup_available_bytes();
    if (allowed >= 0 && (available < 0 || allowed < available))
        available = allowed;
    if (available >= 0 && (int64_t)(bytes + bytes / 32) > available)
        fail(EXIT_ENVIRONMENT, "not enough memory: %zu bytes needed, %lld free", bytes + bytes / 32, (long long)available);
}

/* Populates what is mapped and reads back what it became; false with the reason if it is not of the kind. */
static inline bool arena_fill(struct arena *arena, bool pool, char *why, size_t size)
{
    if (!arena_populate(arena->start, arena->bytes)) {
        snprintf(why, size, "%zu bytes cannot be populated: %s", arena->bytes, strerror(errno));
        return false;
    }
    arena->smaps = smaps_read(arena->start, arena->bytes, pool);
    snprintf(why, size, "of %zu bytes %lld came in huge pages, the page size is %lld", arena->bytes,
             (long long)arena->smaps.huge_bytes, (long long)arena->smaps.page_bytes);
    return arena_is_kind(arena);
}

/* Maps and populates; false with the reason if the kind cannot be had. Too little memory or a wrong node ends with 3. */
static inline bool arena_try(struct arena *arena, size_t bytes, int64_t node, char *why, size_t size)
{
    bool pool = arena->kind == ARENA_2M || arena->kind == ARENA_1G;
    if (!arena_offered(arena->kind, bytes, node, why, size))
        return false;
    arena->base_page_bytes = sysconf(_SC_PAGESIZE);
    arena->page_bytes = arena_page_bytes(arena->kind);
    size_t page = (size_t)arena->page_bytes;
    arena->bytes = (bytes + page - 1) / page * page;
    if (!pool)
        arena_require_memory(arena->bytes, node);
    arena->start = arena_reserve(arena->kind, arena->bytes, page);
    if (!arena->start) {
        snprintf(why, size, "%zu bytes cannot be mapped: %s", arena->bytes, strerror(errno));
        return false;
    }
    if (!pool) /* refused where the system has no transparent pages, which is then right for base pages */
        madvise(arena->start, arena->bytes, arena->kind == ARENA_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (node >= 0)
        node_bind(arena->start, arena->bytes, node);
    if (arena_fill(arena, pool, why, size))
        return true;
    munmap(arena->start, arena->bytes);
    return false;
}

/* `kinds` is one of ARENA_KINDS; auto takes the largest that is to be had. Ends the program with 3 if there is none. */
static inline struct arena arena_map(const char *kinds, size_t bytes, int64_t node)
{
    static const enum arena_kind order[] = {ARENA_1G, ARENA_2M, ARENA_THP, ARENA_BASE};
    struct arena arena = {0};
    char why[256] = "";
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        arena.kind = order[i];
        bool asked = strcmp(kinds, "auto") == 0 || strcmp(kinds, arena_kind_name(order[i])) == 0;
        if (asked && arena_try(&arena, bytes, node, why, sizeof why))
            break;
        arena.start = NULL;
    }
    if (!arena.start)
        fail(EXIT_ENVIRONMENT, "pages of kind %s cannot be had: %s", kinds, why);
    if (node >= 0)
        node_check(arena.start, arena.bytes, node);
    return arena;
}

/* The members of the meta line that say what was asked for, what was got, and what the system said about it. */
static inline void arena_report(const struct arena *arena, const char *asked, struct out *out)
{
    const struct smaps *smaps = &arena->smaps;
    out_text(out, "pages_asked", asked);
    out_text(out, "pages", arena_kind_name(arena->kind));
    out_integer(out, "page_bytes", arena->page_bytes);
    out_integer(out, "base_page_bytes", arena->base_page_bytes);
    out_integer(out, "arena_bytes", (int64_t)arena->bytes);
    out_bool(out, "pages_verified", smaps->found);
    out_integer(out, "kernel_page_bytes", smaps->found ? smaps->page_bytes : -1);
    out_integer(out, "huge_bytes", smaps->found ? smaps->huge_bytes : -1);
}

#endif
