/* Signatures: bytes that identify a file system, partition table, array, volume or cipher. */
#ifndef MAGIC_H
#define MAGIC_H

#include <stdint.h>

#include "extent.h"

/* The name of the signature found; NULL if there is none. `front` and `back` are the two ends of the device. */
const char *magic_find(const struct extent *front, const struct extent *back, uint64_t bytes);

#endif
