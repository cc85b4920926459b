/* The CPUs and their cores. */
#ifndef PINGPONG_CPUS_H
#define PINGPONG_CPUS_H

#include <stdbool.h>

#include "kit/opts.h"

/* Fills an empty list of CPUs with all usable ones, and an empty list of groups with the first CPU of each core. Ends the
 * program with 2 for an invalid list, with 3 for fewer than two CPUs or, with `usable`, a CPU that the process cannot use. */
void cpus_settle(struct opt_list *cpus, struct opt_list *groups, bool usable);

/* For each CPU, the first one that shares its last-level cache; -1 if unknown. */
void cpus_clusters(const struct opt_list *cpus, int64_t *clusters);

#endif
