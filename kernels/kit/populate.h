/* Populates memory piece by piece, if possible with several threads. Most of the time is taken by the system zeroing pages, and
 * the first contents are written to a piece while its zeros are still in a cache.
 *
 * Helpers are short-lived threads on CPUs of the affinity mask. A helper on a different node than the thread that it helps does
 * nothing. Memory that is not bound is thus allocated on the same node, whichever thread accesses it first. */
#ifndef KIT_POPULATE_H
#define KIT_POPULATE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit/affinity.h"
#include "kit/node.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older libc headers lack it */
#endif
#define POPULATE_HELPERS_MAX 7 /* together with the calling thread, these usually saturate a node's memory */
#define POPULATE_PIECE (1 << 18)

struct helpers {
    int64_t cpus[POPULATE_HELPERS_MAX];
    size_t count;
};

/* A part of a mapping, whose first and last page are populated completely. */
struct populate {
    char *start; /* of the mapping, aligned to its pages */
    size_t page;
    size_t first, last; /* offsets of the part */
    void (*fill)(void *context, char *start, size_t bytes); /* NULL, or writes to a populated piece; called by all threads */
    void *context;
    int64_t home; /* node of the thread that is helped */
    atomic_size_t next;
    atomic_int error;
};

/* Helpers of a thread on `cpu`: up to seven CPUs of the affinity mask of the calling thread, so call it before binding the thread.
 * The nearest smaller numbers are usually on the same node. */
static inline struct helpers helpers_of(int64_t cpu)
{
    struct helpers helpers = {.count = 0};
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    bool known = set && sched_getaffinity(0, size, set) == 0;
    for (int64_t i = 1; known && i < AFFINITY_CPUS && helpers.count < POPULATE_HELPERS_MAX; i++) {
        int64_t other = (cpu + AFFINITY_CPUS - i) % AFFINITY_CPUS;
        if (CPU_ISSET_S((size_t)other, size, set))
            helpers.cpus[helpers.count++] = other;
    }
    if (set)
        CPU_FREE(set);
    return helpers;
}

/* Writes to every page, because a page that was only read is the zero page. Returns 0, or errno if there is no memory for it. */
static inline int populate_range(char *start, size_t bytes)
{
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page)
        ((volatile char *)start)[at] = 0;
    return 0;
}

/* Populates and fills pieces until none is left. */
static inline void populate_pieces(struct populate *work)
{
    size_t piece = work->page > POPULATE_PIECE ? work->page : POPULATE_PIECE;
    size_t end = (work->last + work->page - 1) / work->page * work->page;
    for (size_t at; (at = atomic_fetch_add(&work->next, piece)) < end && atomic_load(&work->error) == 0;) {
        size_t to = at + piece < end ? at + piece : end;
        size_t from = at > work->first ? at : work->first, until = to < work->last ? to : work->last;
        int error = populate_range(work->start + at, to - at);
        if (error != 0)
            atomic_store(&work->error, error);
        else if (work->fill)
            work->fill(work->context, work->start + from, until - from);
    }
}

static inline void *populate_help(void *argument)
{
    struct populate *work = argument;
    if (node_or_here(-1) == work->home)
        populate_pieces(work);
    return NULL;
}

/* Populates the part with the help of other threads. Returns 0 or errno. If a helper cannot be started, the others do its work. */
static inline int populate(struct populate *work, const struct helpers *helpers)
{
    pthread_t threads[POPULATE_HELPERS_MAX];
    size_t started = 0;
    atomic_store(&work->next, work->first / work->page * work->page);
    atomic_store(&work->error, 0);
    work->home = node_or_here(-1);
    for (size_t i = 0; i < helpers->count; i++)
        started += affinity_start(&threads[started], helpers->cpus[i], populate_help, work) ? 1 : 0;
    populate_pieces(work);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&work->error);
}

#endif
