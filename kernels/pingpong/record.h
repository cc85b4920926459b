/* The sample lines of a pair. */
#ifndef PINGPONG_RECORD_H
#define PINGPONG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pingpong/play.h"

const char *record_method_name(enum method method);

/* Where and when a pair played. */
struct occasion {
    bool alone; /* measured again, without the others of its round */
    size_t round;
    int64_t leader, follower, node;
};

/* Prints one sample a result; README.md says what each member means. Returns how many. */
size_t record_print(const struct game *game, const struct occasion *occasion);

#endif
