/* The roles of the CPUs. */
#ifndef LOAD_CPUS_H
#define LOAD_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/opts.h"

struct cpus {
    int64_t latency; /* CPU of the chain or the workload; -1: neither */
    size_t count;    /* CPUs of the load threads */
    int64_t load[OPTS_LIST_MAX], nodes[OPTS_LIST_MAX];
};

/* Fills in CPUs that were not given from the affinity mask: the latency CPU is the current one unless it runs a load thread, and
 * all others run load threads. Ends the program with 2 if the options contradict each other, with 3 if there are too few CPUs. */
void cpus_settle(struct cpus *cpus, bool probe, int64_t latency, const struct opt_list *load, const struct opt_list *nodes);

/* Moves this thread, which only waits, away from the measured CPUs if the affinity mask contains any others. */
void cpus_stand_aside(const struct cpus *cpus);

/* Returns the number of load CPUs that share the last-level cache of `cpu` (from sysfs), at least 1. */
size_t cpus_sharing_cache(const struct cpus *cpus, int64_t cpu);

#endif
