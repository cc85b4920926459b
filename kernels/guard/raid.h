/* A RAID set over the targets, which exists only while the program runs. */
#ifndef RAID_H
#define RAID_H

#include <stdint.h>

#include "target.h"

struct raid_orders {
    const char *level, *mdadm; /* `none` or a level; the path of mdadm */
    int64_t chunk_bytes;       /* 0: mdadm's default */
};

struct raid {
    const struct raid_orders *orders;
    const struct target *members;
    size_t count;
    struct target target; /* the array, for the program */
    char name[16];        /* such as md127 */
    char uuid[36];        /* of the set, as mdadm writes it */
    int release, removed; /* write end of the pipe to the remover, and read end of the pipe from it */
};

/* Creates the set from members that passed all checks and are claimed, and claims the array. Ends this process on failure, after
 * removing what was created. */
void raid_make(struct raid *raid, const struct raid_orders *orders, struct target *members, size_t count);

/* Prints the line `device` of the array. */
void raid_print(const struct raid *raid, const char *when);

/* Stops the array and erases the superblocks. Ends this process if the array is still there. */
void raid_remove(struct raid *raid);

#endif
