/* Mounted file systems, as /proc/self/mountinfo lists them. */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "blockdev.h"

struct mount {
    dev_t device;                 /* as stat gives it; without a name for btrfs and others */
    char *point, *type, *source;
};

struct mounts {
    bool known; /* the list could be read whole */
    size_t count;
    struct mount *list;
};

/* Read once. */
const struct mounts *mounts_get(void);

/* Adds the block devices that carry the file system `device`, those right below it. Adds none if none is known (tmpfs, 9p, overlay). */
void mounts_add_devices(dev_t device, struct devset *set);

/* The mount of a file system whose files have the number `device`; NULL if it is in no list (another name space). */
const struct mount *mounts_of(dev_t device);

#endif
