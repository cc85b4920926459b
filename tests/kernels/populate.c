/* Checks that a part of a mapping is populated and filled exactly once, and only by CPUs in the affinity mask. */
#include <stdio.h>
#include <string.h>

#include "kit/populate.h"

#define PAGE 4096
#define BYTES (8 << 20)

static atomic_uchar used[AFFINITY_CPUS];

static void fill(void *context, char *start, size_t bytes)
{
    (void)context;
    atomic_store(&used[sched_getcpu()], 1);
    for (size_t i = 0; i < bytes; i++)
        start[i]++;
}

/* Returns whether the bytes of the part are 1 and all others are 0. */
static bool filled_once(const char *start, size_t first, size_t last)
{
    for (size_t i = 0; i < BYTES; i++)
        if (start[i] != (i >= first && i < last))
            return false;
    return true;
}

/* Populates with the first `allowed` CPUs of the mask. Returns 0, or the number of the check that failed. */
static int check(const cpu_set_t *mask, int allowed, size_t first, size_t last)
{
    cpu_set_t some;
    int64_t cpu = -1, here = 0;
    CPU_ZERO(&some);
    for (; here < CPU_SETSIZE && CPU_COUNT(&some) < allowed; here++)
        if (CPU_ISSET((size_t)here, mask)) {
            CPU_SET((size_t)here, &some);
            cpu = here;
        }
    sched_setaffinity(0, sizeof some, &some);
    struct helpers helpers = helpers_of(cpu);
    if (helpers.count + 1 != (size_t)CPU_COUNT(&some))
        return 1;
    for (size_t i = 0; i < helpers.count; i++)
        if (helpers.cpus[i] == cpu || !CPU_ISSET((size_t)helpers.cpus[i], &some))
            return 2;
    affinity_bind(cpu);
    memset(used, 0, sizeof used);
    char *start = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct populate work = {.start = start, .page = PAGE, .first = first, .last = last, .fill = fill};
    if (start == MAP_FAILED || populate(&work, &helpers) != 0)
        return 3;
    for (size_t i = 0; i < AFFINITY_CPUS; i++)
        if (used[i] && (i >= CPU_SETSIZE || !CPU_ISSET(i, &some)))
            return 4;
    bool right = filled_once(start, first, last);
    munmap(start, BYTES);
    sched_setaffinity(0, sizeof *mask, mask);
    return right ? 0 : 5;
}

int main(void)
{
    cpu_set_t mask;
    int failed = 0;
    sched_getaffinity(0, sizeof mask, &mask);
    for (int allowed = 1; allowed <= CPU_COUNT(&mask) && allowed <= POPULATE_HELPERS_MAX + 1 && failed == 0; allowed++) {
        failed = check(&mask, allowed, 0, BYTES);
        failed = failed ? failed : check(&mask, allowed, PAGE + 64, BYTES - 3 * PAGE - 128);
        failed = failed ? failed : check(&mask, allowed, BYTES - 64, BYTES);
    }
    if (failed == 0)
        puts("ok");
    return failed;
}
