/* Which CPUs do what. */
#ifndef LOAD_CPUS_H
#define LOAD_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/opts.h"

struct cpus {
    int64_t latency; /* of the chain or the workload; -1: neither */
    size_t count;    /* of the load threads */
    int64_t load[OPTS_LIST_MAX], nodes[OPTS_LIST_MAX];
};

/* Fills in what was not asked for from the affinity mask: the latency CPU is the one this runs on unless that is to make load, and
 * all others make load. Ends the program with 2 if what was asked contradicts itself, with 3 if there are too few CPUs. */
void cpus_settle(struct cpus *cpus, bool probe, int64_t latency, const struct opt_list *load, const struct opt_list *nodes);

/* Keeps this thread off the CPUs at work, if the mask has others: for one that only looks on. */
void cpus_stand_aside(const struct cpus *cpus);

/* Of the load CPUs, how many have the last-level cache of `cpu` (sysfs); 1 at least. */
size_t cpus_sharing_cache(const struct cpus *cpus, int64_t cpu);

#endif
