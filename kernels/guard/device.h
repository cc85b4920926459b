/* The line `device`: what a target is, and what the drives below it say of themselves. */
#ifndef DEVICE_H
#define DEVICE_H

#include "target.h"

void device_print(const struct target *target, const char *when);

/* The highest temperature of a target's drives in thousandths of a degree Celsius; INT64_MIN if none tells. */
int64_t device_temperature(const struct devset *drives);

#endif
