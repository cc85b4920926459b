/* Signatures: bytes by which a file system, partition table, array, volume or cipher is known. */
#ifndef MAGIC_H
#define MAGIC_H

#include <stdint.h>

#include "extent.h"

/* The name of the signature found; NULL without one. `front` and `back` are both ends of the device. */
const char *magic_find(const struct extent *front, const struct extent *back, uint64_t bytes);

#endif
