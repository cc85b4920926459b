/* The persistent names that udev gives a device. */
#ifndef LINKS_H
#define LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LINKS_FOLDER "/dev/disk/by-id/"
#define LINKS_MAX 16

struct links {
    size_t count;
    char paths[LINKS_MAX][300];
};

void links_of(dev_t device, struct links *links);

/* Whether a path identifies the same drive after a restart: it is one of those names, or a loop device, which is identified by
 * its file. */
bool links_lasting(const char *path);

#endif
