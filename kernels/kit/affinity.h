/* Binding threads to one CPU. */
#ifndef KIT_AFFINITY_H
#define KIT_AFFINITY_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kit/fail.h"
#include "kit/sysfile.h"

#define AFFINITY_CPUS 8192

/* Ends the program with 3 and the reason why the CPU cannot be used. */
__attribute__((noreturn)) static inline void affinity_refuse(int64_t cpu, int usable)
{
    char online[16], present[128];
    sysfile_text(online, sizeof online, "/sys/devices/system/cpu/cpu%lld/online", (long long)cpu);
    sysfile_text(present, sizeof present, "/sys/devices/system/cpu/present");
    if (strcmp(online, "0") == 0)
        fail(EXIT_ENVIRONMENT, "CPU %lld is offline", (long long)cpu);
    if (*present && !sysfile_lists(present, cpu))
        fail(EXIT_ENVIRONMENT, "CPU %lld does not exist (present: %s)", (long long)cpu, present);
    fail(EXIT_ENVIRONMENT, "CPU %lld is not in the affinity mask of this process (%d CPUs)", (long long)cpu, usable);
}

/* Binds to `cpu`, or to the current CPU if negative, and returns it. Ends the program with 3 if the CPU cannot be used. */
static inline int affinity_bind(int64_t cpu)
{
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    if (!set || sched_getaffinity(0, size, set) != 0)
        fail(EXIT_ENVIRONMENT, "the affinity mask cannot be read: %s", strerror(errno));
    if (cpu < 0)
        cpu = sched_getcpu();
    if (cpu < 0 || cpu >= AFFINITY_CPUS || !CPU_ISSET_S((size_t)cpu, size, set))
        affinity_refuse(cpu, CPU_COUNT_S(size, set));
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    if (sched_setaffinity(0, size, set) != 0)
        fail(EXIT_ENVIRONMENT, "cannot bind to CPU %lld: %s", (long long)cpu, strerror(errno));
    CPU_FREE(set);
    return (int)cpu;
}

/* Starts a thread on a CPU, whatever CPU this thread is bound to. */
static inline bool affinity_start(pthread_t *thread, int64_t cpu, void *(*body)(void *), void *argument)
{
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    pthread_attr_t attributes;
    if (!set)
        return false;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    pthread_attr_init(&attributes);
    bool started = pthread_attr_setaffinity_np(&attributes, size, set) == 0 &&
                   pthread_create(thread, &attributes, body, argument) == 0;
    pthread_attr_destroy(&attributes);
    CPU_FREE(set);
    return started;
}

#endif
