/* Checks every block device of the machine as if a program were about to write to it. */
#ifndef SCAN_H
#define SCAN_H

#include <stdint.h>

void scan(uint64_t seed);

#endif
