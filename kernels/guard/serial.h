/* What a drive says of itself, as the kernel keeps it in /sys. */
#ifndef SERIAL_H
#define SERIAL_H

#include <stddef.h>

#include "target.h"

#define SERIAL_MAX 512

/* The serial of a whole disk by which a plan names it; of a loop device the path of its file. Empty if it has none. */
const char *serial_of(dev_t disk, char serial[SERIAL_MAX]);

/* The name by which the kernel knows the same drive on another path (NAA, EUI-64, NGUID); empty if it has none. */
const char *serial_worldwide(dev_t disk, char name[SERIAL_MAX]);

/* The check `serial`: what the target expects, literally. */
void serial_check(const struct target *target);

/* The check `multipath`: the same drive as another block device, or on several controllers. */
void serial_check_paths(const struct target *target);

#endif
