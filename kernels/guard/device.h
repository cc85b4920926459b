/* The line `device`: a target and the drives below it. */
#ifndef DEVICE_H
#define DEVICE_H

#include "target.h"

void device_print(const struct target *target, const char *when);

/* The highest temperature of a target's drives in thousandths of a degree Celsius; INT64_MIN if unknown. */
int64_t device_temperature(const struct devset *drives);

#endif
