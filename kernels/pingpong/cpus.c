#include "pingpong/cpus.h"

#include "kit/affinity.h"
#include "kit/sysfile.h"

#define CACHES_MAX 16 /* number of cache indexes that are tried */

static bool may_use(const cpu_set_t *mask, size_t size, int64_t cpu)
{
    return CPU_ISSET_S((size_t)cpu, size, mask);
}

static void take_all(struct opt_list *cpus, const cpu_set_t *mask, size_t size)
{
    for (int64_t cpu = 0; cpu < AFFINITY_CPUS; cpu++) {
        if (!may_use(mask, size, cpu))
            continue;
        if (cpus->count == OPTS_LIST_MAX)
            fail(EXIT_ENVIRONMENT, "more than %d CPUs: select some with --cpus", OPTS_LIST_MAX);
        cpus->values[cpus->count++] = cpu;
    }
}

static void check_usable(const struct opt_list *cpus, const cpu_set_t *mask, size_t size)
{
    for (size_t i = 0; i < cpus->count; i++)
        if (!may_use(mask, size, cpus->values[i]))
            affinity_refuse(cpus->values[i], CPU_COUNT_S(size, mask));
}

static void check_once(const struct opt_list *cpus)
{
    for (size_t i = 0; i < cpus->count; i++)
        for (size_t k = 0; k < i; k++)
            if (cpus->values[i] == cpus->values[k])
                fail(EXIT_USAGE, "--cpus: %lld is listed twice", (long long)cpus->values[i]);
}

/* The first CPU of the core; a CPU without topology is a separate core. */
static int64_t core_of(int64_t cpu)
{
    char siblings[256];
    sysfile_text(siblings, sizeof siblings, "/sys/devices/system/cpu/cpu%lld/topology/thread_siblings_list", (long long)cpu);
    return *siblings ? strtoll(siblings, NULL, 10) : cpu;
}

/* The first CPU that shares the last-level cache; -1 if no cache is known. */
static int64_t cluster_of(int64_t cpu)
{
    int64_t first = -1, highest = 0;
    char text[256];
    for (int index = 0; index < CACHES_MAX; index++) {
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%lld/cache/index%d/level", (long long)cpu, index);
        int64_t level = strtoll(text, NULL, 10);
        if (level <= highest)
            continue;
        highest = level;
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%lld/cache/index%d/shared_cpu_list", (long long)cpu, index);
        first = *text ? strtoll(text, NULL, 10) : -1;
    }
    return first;
}

void cpus_clusters(const struct opt_list *cpus, int64_t *clusters)
{
    for (size_t i = 0; i < cpus->count; i++)
        clusters[i] = cluster_of(cpus->values[i]);
}

void cpus_settle(struct opt_list *cpus, struct opt_list *groups, bool usable)
{
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *mask = CPU_ALLOC(AFFINITY_CPUS);
    if (!mask || sched_getaffinity(0, size, mask) != 0)
        fail(EXIT_ENVIRONMENT, "the affinity mask cannot be read: %s", strerror(errno));
    check_once(cpus);
    if (groups->count > 0 && groups->count != cpus->count)
        fail(EXIT_USAGE, "--groups: %zu numbers for %zu CPUs of --cpus", groups->count, cpus->count);
    if (cpus->count == 0)
        take_all(cpus, mask, size);
    if (usable)
        check_usable(cpus, mask, size);
    if (cpus->count < 2)
        fail(EXIT_ENVIRONMENT, "two CPUs are needed, but only CPU %lld is available", (long long)cpus->values[0]);
    for (size_t i = groups->count; i < cpus->count; i++)
        groups->values[groups->count++] = core_of(cpus->values[i]);
    CPU_FREE(mask);
}
