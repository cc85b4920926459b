/* The options, and the values derived from them on this machine. */
#ifndef LOAD_ASKED_H
#define LOAD_ASKED_H

#include <stdint.h>

#include "kit/llc.h"
#include "kit/opts.h"
#include "load/cpus.h"
#include "load/crew.h"

enum probe { PROBE_CHAIN, PROBE_NONE, PROBE_WORKLOAD };

struct asked {
    int64_t latency_cpu, latency_node, size, load_size, touch, level_ms, windows, seed, llc_bytes;
    const char *traffic, *width, *probe, *pages;
    struct opt_list cpus, nodes, delays, targets;
};

extern struct asked asked;
extern const struct opts asked_opts;

/* Fills `asked` from the command line and returns the workload's command, which ends with NULL, or NULL if there is none. Ends
 * the program with 2 at the first error. */
char **asked_parse(int argc, char **argv);

enum probe asked_probe(void);

/* Fills in sizes that were not given; ends the program with 2 if sizes are too small. */
void asked_settle_sizes(const struct cpus *cpus, const struct llc *llc);

struct crew_plan asked_plan(const struct cpus *cpus);

#endif
