/* The descriptor that holds a target from the checks to the end. */
#ifndef CLAIM_H
#define CLAIM_H

#include "target.h"

/* The checks `size`, `read-only` and `removable`, which do not claim anything. */
void claim_check(struct target *target);

/* The check `exclusive`, which opens the descriptor that the program inherits. If the target is to be written, it is opened
 * exclusively and with the lock that keeps udev away. Call this function before the checks that look for users, so that no user can
 * appear later. */
void claim(struct target *target);

/* The same check without keeping the claim. */
void claim_try(const struct target *target);

#endif
