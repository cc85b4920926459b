/* Included before a kernel's sources in tests. The kernel then finds PRETEND CPUs, but no thread is really bound to any of them.
 * This allows rounds of several pairs on a machine with two CPUs. */
#include <sched.h>
#include <sys/types.h>

static __thread int pretended_cpu = 0;

__attribute__((unused)) static int pretend_read(size_t size, cpu_set_t *set)
{
    CPU_ZERO_S(size, set);
    for (size_t cpu = 0; cpu < PRETEND; cpu++)
        CPU_SET_S(cpu, size, set);
    return 0;
}

__attribute__((unused)) static int pretend_bind(size_t size, const cpu_set_t *set)
{
    for (pretended_cpu = 0; !CPU_ISSET_S((size_t)pretended_cpu, size, set);)
        pretended_cpu++;
    return 0;
}

#define sched_getaffinity(pid, size, set) pretend_read(size, set)
#define sched_setaffinity(pid, size, set) pretend_bind(size, set)
#define sched_getcpu() pretended_cpu
