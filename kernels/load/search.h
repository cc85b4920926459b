/* The delay at which the load threads together move a wanted number of bytes a second. */
#ifndef LOAD_SEARCH_H
#define LOAD_SEARCH_H

#include <stdint.h>

#include "load/level.h"

/* Finds the delay by short looks, measures the level there in full, and tells by `reached` whether its bandwidth is within
 * SEARCH_TOLERANCE of the target. If not, `level` is the nearest that was found. */
#define SEARCH_TOLERANCE 0.02
void search_measure(struct levels *levels, int64_t target_bps, struct level *level);

#endif
