/* The configuration registers of a mesh: mapped read only from /dev/mem, or from a file that holds an image of them. */
#ifndef CMN_REGION_H
#define CMN_REGION_H

#include <stdbool.h>
#include <stdint.h>

/* Maps `size` bytes at the physical address `base`; ends the kernel with the way out if that is refused. */
void region_map(uint64_t base, uint64_t size);

/* Maps a file instead; all of it if `size` is 0, or more than there is. */
void region_map_file(const char *path, uint64_t size);

/* Reads 4 or 8 bytes at an offset, in one access of that width. False, and 0, if it lies outside, is not aligned, or if the
 * access is answered by an error. */
bool region_read(uint64_t offset, unsigned width, uint64_t *value);

#endif
