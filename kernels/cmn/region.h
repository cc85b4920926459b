/* The configuration registers of a mesh, mapped read-only from /dev/mem or from a file that contains an image of them. */
#ifndef CMN_REGION_H
#define CMN_REGION_H

#include <stdbool.h>
#include <stdint.h>

/* Maps `size` bytes at the physical address `base`. If this is not allowed, ends the program with a message that says how to
 * proceed. */
void region_map(uint64_t base, uint64_t size);

/* Maps a file instead. Maps the whole file if `size` is 0 or exceeds the file's size. */
void region_map_file(const char *path, uint64_t size);

/* Reads 4 or 8 bytes at an offset in a single access. Returns false and sets the value to 0 if the offset is out of range or not
 * aligned, or if the access results in an error. */
bool region_read(uint64_t offset, unsigned width, uint64_t *value);

#endif
