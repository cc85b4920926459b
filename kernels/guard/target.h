/* A target: what is asked of it, and what was found. */
#ifndef TARGET_H
#define TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backing.h"
#include "stack.h"

#define TARGETS_MAX 64
#define FIRST_HANDLE 100 /* the program has target i open as descriptor FIRST_HANDLE + i */

struct target {
    bool write, overwrite, dirty;
    bool surveyed;              /* nobody asked for it: what would be said if it were to be written */
    const char *serial, *path;  /* serial: empty when none is expected */

    char real[PATH_MAX];        /* where the path leads to */
    int node;                   /* O_PATH of what was found there; -1 if nothing was */
    int handle;                 /* what the program inherits; -1 until it is claimed */
    struct stat found;
    bool block;
    dev_t device;               /* the block device; of a file the one that its file system tells, which may be unnamed */
    struct backing backing;     /* of a loop device */
    uint64_t bytes;
    uint32_t sector;            /* logical block; 512 of a file */
    struct devset family;       /* the device and its partitions: what a write may destroy */
    struct devset counted;      /* devices whose counters tell what the target did: itself, or those of the file system */
    struct devset drives;       /* at the bottom */
};

/* Reads the file of targets (README.md): ends the program at the first line that is wrong. Returns how many there are. */
size_t targets_read(const char *path, struct target *targets);

/* Makes it one that nothing but the path is known of, to be written. */
void target_blank(struct target *target, const char *path);

/* Finds what the path leads to, and opens it without opening the device (O_PATH). The checks `identity`, `kind`. */
bool target_find(struct target *target);

/* Opens what was found, whatever the path means by now; -1 with errno. */
int target_open(const struct target *target, int flags);

/* Whether a regular file has the content of the target: it is the target, or a loop device is made of it. */
bool target_is_file(const struct target *target, dev_t device, uint64_t inode);

/* The device node's name, such as sda1, of a block device that was found. */
const char *target_name(const struct target *target, char *name);

#endif
