/* A range of a device's content. */
#ifndef EXTENT_H
#define EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
    uint64_t start, length; /* in bytes */
    unsigned char *content;
};

/* Reads the range, bypassing the page cache; false with errno on failure. The caller frees the content. */
bool extent_read(int fd, uint64_t start, uint64_t length, struct extent *extent);

void extent_free(struct extent *extent);

/* The `length` bytes at `offset` of the device; NULL if some of them are outside the extent. */
const unsigned char *extent_at(const struct extent *extent, uint64_t offset, size_t length);

bool extent_is_zero(const struct extent *extent);

#endif
