/* Mounted file systems, as /proc/self/mountinfo lists them. */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "blockdev.h"

struct mount {
    dev_t device;                 /* the number from stat; has no device name for btrfs and others */
    char *point, *type, *source;
};

struct mounts {
    bool known; /* whether the whole list could be read */
    size_t count;
    struct mount *list;
};

/* Read on the first call. */
const struct mounts *mounts_get(void);

/* Adds the block devices directly below the file system `device`. Adds none if there are none (tmpfs, 9p, overlay). */
void mounts_add_devices(dev_t device, struct devset *set);

/* The mount of the file system whose files have the device number `device`; NULL if it is not listed (another namespace). */
const struct mount *mounts_of(dev_t device);

#endif
