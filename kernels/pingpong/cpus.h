/* Which CPUs, and which of them share a core. */
#ifndef PINGPONG_CPUS_H
#define PINGPONG_CPUS_H

#include <stdbool.h>

#include "kit/opts.h"

/* Fills an empty list of CPUs with all that the process may use, and an empty list of groups with the first CPU of each one's core.
 * A list that makes no sense ends the program with 2; fewer than two CPUs, or with `usable` one that the process may not use, with
 * 3. */
void cpus_settle(struct opt_list *cpus, struct opt_list *groups, bool usable);

/* The first of the CPUs that share the last cache of each CPU; -1 where the system does not tell. */
void cpus_clusters(const struct opt_list *cpus, int64_t *clusters);

#endif
