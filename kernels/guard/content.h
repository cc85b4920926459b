/* What is on a target. */
#ifndef CONTENT_H
#define CONTENT_H

#include "target.h"

/* The checks `signature` and `data`; `seed` chooses the places between the ends that are looked at. */
void content_check(const struct target *target, uint64_t seed);

#endif
