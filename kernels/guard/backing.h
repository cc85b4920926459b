/* The file or device behind a loop device. Two loop devices on the same file share their content, and so do a loop device and the
 * block device below it, but the Linux kernel does not relate their claims (drivers/block/loop.c). */
#ifndef BACKING_H
#define BACKING_H

#include <stdint.h>
#include <sys/types.h>

struct target;

struct backing {
    dev_t device;   /* the device below the file's file system */
    uint64_t inode; /* inode of the file; 0: not a loop device, or unknown */
    dev_t drive;    /* the block device that is used instead of a file; 0: a file */
};

/* Reads the backing of an open block device. */
struct backing backing_of(int fd);

/* The check `multipath` for a loop device. */
void backing_check(const struct target *target);

#endif
