/* Every block device of the machine, looked at as if it were to be written. */
#ifndef SCAN_H
#define SCAN_H

#include <stdint.h>

void scan(uint64_t seed);

#endif
