#include "load/cpus.h"

#include "kit/affinity.h"
#include "kit/node.h"
#include "kit/sysfile.h"

static bool listed(const int64_t *values, size_t count, int64_t cpu)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == cpu)
            return true;
    return false;
}

/* The CPUs of the affinity mask in ascending order, at most `most`. */
static size_t usable(int64_t *cpus, size_t most)
{
    size_t count = 0, size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    if (!set || sched_getaffinity(0, size, set) != 0)
        fail(EXIT_ENVIRONMENT, "the affinity mask cannot be read: %s", strerror(errno));
    for (int cpu = 0; cpu < AFFINITY_CPUS && count < most; cpu++)
        if (CPU_ISSET_S((size_t)cpu, size, set))
            cpus[count++] = cpu;
    CPU_FREE(set);
    return count;
}

static void require_distinct(const struct opt_list *load)
{
    for (size_t i = 0; i < load->count; i++)
        if (listed(load->values, i, load->values[i]))
            fail(EXIT_USAGE, "--cpus: CPU %lld is specified twice", (long long)load->values[i]);
}

static void require_usable(const int64_t *mask, size_t count, int64_t cpu)
{
    if (!listed(mask, count, cpu))
        fail(EXIT_ENVIRONMENT, "CPU %lld is not in the affinity mask of this process (%zu CPUs)", (long long)cpu, count);
}

/* The current CPU, or the first one without a load thread; -1 if there is none. */
static int64_t free_cpu(const int64_t *mask, size_t count, const struct opt_list *load)
{
    int64_t here = sched_getcpu();
    if (!listed(load->values, load->count, here))
        return here;
    for (size_t i = 0; i < count; i++)
        if (!listed(load->values, load->count, mask[i]))
            return mask[i];
    return -1;
}

static void settle_nodes(struct cpus *cpus, const struct opt_list *nodes)
{
    if (nodes->count > 1 && nodes->count != cpus->count)
        fail(EXIT_USAGE, "--nodes: %zu nodes for %zu load CPUs; give one node for all CPUs, or one per CPU", nodes->count,
             cpus->count);
    for (size_t i = 0; i < cpus->count; i++) {
        cpus->nodes[i] = nodes->count == 0 ? -1 : nodes->values[nodes->count == 1 ? 0 : i];
        node_require(cpus->nodes[i]);
    }
}

void cpus_settle(struct cpus *cpus, bool probe, int64_t latency, const struct opt_list *load, const struct opt_list *nodes)
{
    static int64_t mask[OPTS_LIST_MAX];
    size_t count = usable(mask, OPTS_LIST_MAX);
    require_distinct(load);
    for (size_t i = 0; i < load->count; i++)
        require_usable(mask, count, load->values[i]);
    cpus->latency = !probe ? -1 : latency >= 0 ? latency : free_cpu(mask, count, load);
    if (probe && listed(load->values, load->count, cpus->latency))
        fail(EXIT_USAGE, "--cpus: CPU %lld is the latency CPU and cannot run a load thread as well", (long long)cpus->latency);
    if (cpus->latency >= 0)
        require_usable(mask, count, cpus->latency);
    cpus->count = 0;
    for (size_t i = 0; i < (load->count ? load->count : count); i++) {
        int64_t cpu = load->count ? load->values[i] : mask[i];
        if (cpu != cpus->latency)
            cpus->load[cpus->count++] = cpu;
    }
    if (cpus->count == 0 || (probe && cpus->latency < 0))
        fail(EXIT_ENVIRONMENT, "loaded latency needs two CPUs, one for the latency and one for the load, but the affinity mask of "
             "this process allows %zu; --probe none measures the bandwidth only", count);
    settle_nodes(cpus, nodes);
}

void cpus_stand_aside(const struct cpus *cpus)
{
    static int64_t mask[OPTS_LIST_MAX];
    size_t count = usable(mask, OPTS_LIST_MAX), size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    if (!set)
        return;
    CPU_ZERO_S(size, set);
    for (size_t i = 0; i < count; i++)
        if (mask[i] != cpus->latency && !listed(cpus->load, cpus->count, mask[i]))
            CPU_SET_S((size_t)mask[i], size, set);
    sched_setaffinity(0, size, set); /* fails without any effect if there are no others */
    CPU_FREE(set);
}

/* The CPUs that share the last-level cache of a CPU, as a list from /sys; empty if unknown. */
static void sharers(int64_t cpu, char *text, int size)
{
    char next[256];
    *text = '\0';
    for (int index = 0; index < 16; index++) {
        sysfile_text(next, sizeof next, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", (int)cpu, index);
        if (*next)
            snprintf(text, (size_t)size, "%s", next);
    }
}

size_t cpus_sharing_cache(const struct cpus *cpus, int64_t cpu)
{
    char own[256], other[256];
    size_t count = 0;
    sharers(cpu, own, sizeof own);
    for (size_t i = 0; i < cpus->count; i++) {
        sharers(cpus->load[i], other, sizeof other);
        count += *own != '\0' && strcmp(own, other) == 0;
    }
    return count > 0 ? count : 1;
}
