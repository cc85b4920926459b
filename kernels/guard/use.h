/* Other users of the devices that a target would overwrite. */
#ifndef USE_H
#define USE_H

#include "target.h"

/* The checks `mounted`, `system`, `swap`, `holders`, `raid`. */
void use_check(const struct target *target);

/* The check `open-elsewhere`: other processes that have the target open. */
void use_check_open(const struct target *target);

#endif
