/* The Linux kernel's counters of devices. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev.h"

enum counter { READS, READ_BYTES, WRITES, WRITE_BYTES, DISCARDS, DISCARD_BYTES, BUSY_MS, COUNTERS };

/* Adds the counters of a set; false if one of them cannot be read. */
bool counters_read(const struct devset *set, int64_t counters[COUNTERS]);

#endif
