/* The sample lines of a pair. */
#ifndef PINGPONG_RECORD_H
#define PINGPONG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pingpong/play.h"

const char *record_method_name(enum method method);

/* The pair and round of a sample. */
struct occasion {
    bool alone; /* measured again, without the other pairs of its round */
    size_t round;
    int64_t leader, follower, node;
};

/* Prints one sample per result and returns their number; README.md describes the members. */
size_t record_print(const struct game *game, const struct occasion *occasion);

#endif
