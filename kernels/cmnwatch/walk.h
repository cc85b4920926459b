/* A load on one CPU that reads a range far larger than the CPU's caches, with one load instruction per 64 bytes. */
#ifndef CMNWATCH_WALK_H
#define CMNWATCH_WALK_H

#include <stddef.h>
#include <stdint.h>

struct range {
    char *start;
    size_t bytes, line_bytes;
    size_t at; /* where the next walk continues, so that it reads the least recently used lines */
};

/* The result of a walk: the number of lines read, and its duration. */
struct walked {
    int64_t lines, ns;
};

/* Maps and populates a range. Ends the program with 3 if there is too little memory. */
struct range range_map(size_t bytes);

/* Binds a thread to `cpu`, lets it read for `window_ns`, and waits for it. Ends the program with 3 if the CPU cannot be used. */
struct walked walk(struct range *range, int64_t cpu, int64_t window_ns);

#endif
