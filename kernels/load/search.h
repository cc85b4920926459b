/* The search for the delay at which the load threads reach a target bandwidth. */
#ifndef LOAD_SEARCH_H
#define LOAD_SEARCH_H

#include <stdint.h>

#include "load/level.h"

/* Finds the delay by short measurements, and then measures the level with this delay completely. `reached` is set if the bandwidth
 * is within SEARCH_TOLERANCE of the target. If not, `level` is the nearest level found. */
#define SEARCH_TOLERANCE 0.02
void search_measure(struct levels *levels, int64_t target_bps, struct level *level);

#endif
