/* Block devices and what they are built on: partitions on disks, LVM and md on partitions, a loop device on the device below its file. */
#ifndef STACK_H
#define STACK_H

#include "blockdev.h"

/* Adds a device and all devices below it. Through files: also those that carry the file of a loop device. */
void stack_add_below(dev_t device, bool through_files, struct devset *set);

/* Of a set that stack_add_below made: the disks at the bottom. */
void stack_drives(const struct devset *set, struct devset *drives);

#endif
