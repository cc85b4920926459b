/* Block devices and what stands upon what, as /sys tells it: partitions upon disks, LVM and md upon partitions, a loop device upon
 * the device below its file. */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DEVSET_MAX 4096 /* disks, their paths and partitions of a large machine */
#define STACK_NAME_MAX 64

struct devset {
    size_t count;
    bool partial; /* there were more, or something could not be read */
    dev_t devices[DEVSET_MAX];
};

/* Makes it empty, in place of an initialiser that would fill all of it. */
void devset_clear(struct devset *set);
bool devset_has(const struct devset *set, dev_t device);
void devset_add(struct devset *set, dev_t device);
bool devset_meet(const struct devset *a, const struct devset *b);

/* The kernel's name of a block device, such as nvme0n1p2; empty if there is no such device. */
const char *stack_name(dev_t device, char name[STACK_NAME_MAX]);

/* The device of a kernel's name; 0 if there is none. */
dev_t stack_device(const char *name);

/* The whole disk of a partition, else the device itself. */
dev_t stack_disk(dev_t device);

void stack_add_partitions(dev_t disk, struct devset *set);

/* Adds a device and all below it. Through files: also what carries the file that a loop device is made of. */
void stack_add_below(dev_t device, bool through_files, struct devset *set);

/* Of a set that stack_add_below made: the disks at the bottom. */
void stack_drives(const struct devset *set, struct devset *drives);

/* The file or device that a loop device is made of; empty if it is none. */
const char *stack_backing(const char *name, char *path, size_t size);

/* All block devices of this machine, partitions as well. */
void stack_all(struct devset *set);

#endif
