/* The handle by which a target is held from the checks to the end. */
#ifndef CLAIM_H
#define CLAIM_H

#include "target.h"

/* The checks `size`, `read-only`, `removable`, which only look. */
void claim_check(struct target *target);

/* Opens the handle that the program inherits: one that is written exclusively, with the lock that keeps udev away. The check
 * `exclusive`. To be called before the others look for users, so that none can come after them. */
void claim(struct target *target);

/* The same look without holding it. */
void claim_try(const struct target *target);

#endif
