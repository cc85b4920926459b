/* Block devices as /sys lists them: their names and numbers, disks and partitions, and sets of them. */
#ifndef BLOCKDEV_H
#define BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DEVSET_MAX 4096 /* enough for the disks, paths and partitions of a large machine */
#define BLOCKDEV_NAME_MAX 64

struct devset {
    size_t count;
    bool partial; /* whether some are missing: there are too many, or something could not be read */
    dev_t devices[DEVSET_MAX];
};

/* Empties the set. An initialiser would write all of its 32 KiB. */
void devset_clear(struct devset *set);
bool devset_has(const struct devset *set, dev_t device);
void devset_add(struct devset *set, dev_t device);
bool devset_meet(const struct devset *a, const struct devset *b);

/* The Linux kernel's name of a block device, such as nvme0n1p2; empty if the device does not exist. */
const char *blockdev_name(dev_t device, char name[BLOCKDEV_NAME_MAX]);

/* The number of the device with this name; 0 if it does not exist. */
dev_t blockdev_number(const char *name);

/* The disk of a partition; for any other device, the device itself. */
dev_t blockdev_disk(dev_t device);

/* Adds the device of each entry of a folder in which `file` exists; entries are links to devices or their folders. */
void blockdev_add_entries(const char *folder, const char *file, struct devset *set);

void blockdev_add_partitions(dev_t disk, struct devset *set);

/* All block devices of this machine, including partitions. */
void blockdev_all(struct devset *set);

/* The file or device that backs a loop device; empty for any other device. */
const char *blockdev_backing(const char *name, char *path, size_t size);

#endif
