/* The options, and the values derived from them on this machine. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include <stdint.h>

#include "kit/llc.h"
#include "kit/opts.h"
#include "load/cpus.h"
#include "load/crew.h"

enum probe { PROBE_CHAIN, PROBE_NONE, PROBE_WORKLOAD };

struct options {
    int64_t latency_cpu, latency_node, size, load_size, touch, level_ms, windows, seed, llc_bytes;
    const char *traffic, *width, *probe, *pages;
    struct opt_list cpus, nodes, delays, targets;
};

extern struct options options;
extern const struct opts load_opts;

/* Fills `options` from the command line and returns the workload's command, which ends with NULL, or NULL if there is none. Ends
 * the program with 2 at the first error. */
char **options_parse(int argc, char **argv);

enum probe options_probe(void);

/* Fills in sizes that were not given; ends the program with 2 if sizes are too small. */
void options_settle_sizes(const struct cpus *cpus, const struct llc *llc);

struct crew_plan options_crew_plan(const struct cpus *cpus);

#endif
