#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"
#include "kit/affinity.h"
#include "kit/fail.h"
#include "kit/timer.h"
#include "walk.h"

#define LINES_A_TURN 4096 /* between two readings of the clock */

struct walker {
    struct range *range;
    int64_t cpu, window_ns;
    struct walked done;
};

struct range range_map(size_t bytes)
{
    struct range range = {NULL, bytes, cpu_line_bytes(), 0};
    range.start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range.start == MAP_FAILED)
        fail(EXIT_ENVIRONMENT, "%zu bytes cannot be mapped: %s", bytes, strerror(errno));
    madvise(range.start, bytes, MADV_HUGEPAGE); /* with small pages, page-table walks would cause additional traffic */
    memset(range.start, 1, bytes);
    return range;
}

static void read_lines(struct range *range)
{
    for (size_t i = 0; i < LINES_A_TURN; i++) {
        (void)*(volatile char *)(range->start + range->at);
        range->at += range->line_bytes;
        if (range->at >= range->bytes)
            range->at = 0;
    }
}

static void *work(void *argument)
{
    struct walker *walker = argument;
    affinity_bind(walker->cpu);
    int64_t began = (int64_t)timer_monotonic_ns();
    while (walker->done.ns < walker->window_ns) {
        read_lines(walker->range);
        walker->done.lines += LINES_A_TURN;
        walker->done.ns = (int64_t)timer_monotonic_ns() - began;
    }
    return NULL;
}

struct walked walk(struct range *range, int64_t cpu, int64_t window_ns)
{
    struct walker walker = {range, cpu, window_ns, {0, 0}};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, work, &walker);
    if (error != 0)
        fail(EXIT_ENVIRONMENT, "a thread for CPU %lld cannot be started: %s", (long long)cpu, strerror(error));
    pthread_join(thread, NULL);
    return walker.done;
}
