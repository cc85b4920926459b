/* Binding the calling thread to one CPU. */
#ifndef KIT_AFFINITY_H
#define KIT_AFFINITY_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "kit/fail.h"

#define AFFINITY_CPUS 8192

/* Binds to `cpu`, or to the CPU it runs on if negative, and returns it. A CPU that the process may not use ends it with 3. */
static inline int affinity_bind(int64_t cpu)
{
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    if (!set || sched_getaffinity(0, size, set) != 0)
        fail(EXIT_ENVIRONMENT, "the affinity mask cannot be read: %s", strerror(errno));
    if (cpu < 0)
        cpu = sched_getcpu();
    if (cpu < 0 || cpu >= AFFINITY_CPUS || !CPU_ISSET_S((size_t)cpu, size, set))
        fail(EXIT_ENVIRONMENT, "cpu %lld is not in the affinity mask of this process (%d cpus)", (long long)cpu,
             CPU_COUNT_S(size, set));
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    if (sched_setaffinity(0, size, set) != 0)
        fail(EXIT_ENVIRONMENT, "cpu %lld cannot be bound to: %s", (long long)cpu, strerror(errno));
    CPU_FREE(set);
    return (int)cpu;
}

#endif
