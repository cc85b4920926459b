/* A load of one CPU that its caches do not hold: it reads a line of every 64 bytes of a range far larger than they are. */
#ifndef CMNWATCH_WALK_H
#define CMNWATCH_WALK_H

#include <stddef.h>
#include <stdint.h>

struct range {
    char *start;
    size_t bytes, line_bytes;
    size_t at; /* where the next walk goes on, so that it meets lines that were read longest ago */
};

/* What a walk did: lines read, and how long it took. */
struct walked {
    int64_t lines, ns;
};

/* Maps and populates a range; too little memory ends the program with 3. */
struct range range_map(size_t bytes);

/* Binds a thread to `cpu`, lets it read for `window_ns`, and waits for it. A CPU that may not be used ends the program with 3. */
struct walked walk(struct range *range, int64_t cpu, int64_t window_ns);

#endif
