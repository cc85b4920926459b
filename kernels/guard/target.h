/* A target: the request, and what was found. */
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
    bool surveyed;              /* found by a scan: checked as if it were to be written */
    const char *serial, *path;  /* serial: empty if none is expected */

    char real[PATH_MAX];        /* the path with links resolved */
    int node;                   /* O_PATH descriptor of the file; -1 if it does not exist */
    int handle;                 /* the descriptor that the program inherits; -1 until it is claimed */
    struct stat found;
    bool block;
    dev_t device;               /* the block device; for a file, the device of its file system, which may have no name */
    struct backing backing;     /* the backing of a loop device */
    uint64_t bytes;
    uint32_t sector;            /* size of a logical block; 512 for a file */
    struct devset family;       /* the device and its partitions, which a write may destroy */
    struct devset counted;      /* devices whose counters are those of the target: itself, or those below the file system */
    struct devset drives;       /* the physical disks */
};

/* Reads the file of targets (README.md) and returns their number; ends the program at the first invalid line. */
size_t targets_read(const char *path, struct target *targets);

/* Initializes a target to be written, of which only the path is known. */
void target_blank(struct target *target, const char *path);

/* The checks `identity` and `kind`: resolves the path and opens it without opening the device (O_PATH). */
bool target_find(struct target *target);

/* Opens the file that was found, even if its path has been replaced since; -1 with errno on failure. */
int target_open(const struct target *target, int flags);

/* Whether a regular file contains the target's data: it is the target, or the file behind a loop device. */
bool target_is_file(const struct target *target, dev_t device, uint64_t inode);

/* Whether no other account can have opened a file: it has one name, in a folder that only this account may enter. */
bool target_is_private(const struct target *target);

/* The name of the device node, such as sda1, of a block device that was found. */
const char *target_name(const struct target *target, char *name);

#endif
