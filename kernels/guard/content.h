/* The content of a target. */
#ifndef CONTENT_H
#define CONTENT_H

#include "target.h"

/* The checks `signature` and `data`; `seed` selects the positions between the ends that are read. */
void content_check(const struct target *target, uint64_t seed);

#endif
