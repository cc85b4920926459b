/* The first and last lines of the output; README.md describes their members. */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "load/run.h"

void report_meta(const struct run *run, const struct cpus *cpus, const struct llc *llc, char *const *command);

/* Ends the program with 4 if the counter's rate changed. */
void report_end(const struct run *run, const struct noise *noise, uint64_t verified, bool restored);

#endif
