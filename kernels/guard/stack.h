/* Stacks of block devices: partitions on disks, LVM and md on partitions, a loop device on the device below its file. */
#ifndef STACK_H
#define STACK_H

#include "blockdev.h"

/* Adds a device and all devices below it. With `through_files`, also those below the file of a loop device. */
void stack_add_below(dev_t device, bool through_files, struct devset *set);

/* The physical disks in a set from stack_add_below. */
void stack_drives(const struct devset *set, struct devset *drives);

#endif
