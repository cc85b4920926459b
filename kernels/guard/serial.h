/* The identity of a drive, from /sys. */
#ifndef SERIAL_H
#define SERIAL_H

#include <stddef.h>

#include "target.h"

#define SERIAL_MAX 512

/* The serial number by which a plan names a disk; for a loop device, the path of its file. Empty if there is none. */
const char *serial_of(dev_t disk, char serial[SERIAL_MAX]);

/* The identifier of a drive that is the same on every path (NAA, EUI-64, NGUID); empty if there is none. */
const char *serial_worldwide(dev_t disk, char name[SERIAL_MAX]);

/* The check `serial`: compares with the expected serial number literally. */
void serial_check(const struct target *target);

/* The check `multipath`: whether the same drive is also another block device or is attached to several controllers. */
void serial_check_paths(const struct target *target);

#endif
