/* What a loop device is made of. Two of them over one file, or one over a block device, are two names of one content, and the
 * kernel takes no claim of the one for a claim of the other (drivers/block/loop.c). */
#ifndef BACKING_H
#define BACKING_H

#include <stdint.h>
#include <sys/types.h>

struct target;

struct backing {
    dev_t device;   /* that carries the file */
    uint64_t inode; /* of the file; 0: no loop device, or it did not tell */
    dev_t drive;    /* the block device that stands in the place of a file; 0: a file */
};

/* Of an open block device. */
struct backing backing_of(int fd);

/* The check `multipath` of a loop device. */
void backing_check(const struct target *target);

#endif
