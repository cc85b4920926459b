#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.h"
#include "stack.h"

/* Adds the devices below the file or device behind a loop device. A device that has been removed from /dev is found by its name. */
static void add_backing(dev_t device, bool through_files, struct devset *set)
{
    char name[BLOCKDEV_NAME_MAX], path[PATH_MAX];
    struct stat found;
    if (!*blockdev_backing(blockdev_name(device, name), path, sizeof path))
        return;
    char *removed = strstr(path, " (deleted)");
    if (strncmp(path, "/dev/", 5) == 0 && removed)
        *removed = '\0';
    if (stat(path, &found) == 0 && S_ISBLK(found.st_mode))
        devset_add(set, found.st_rdev);
    else if (strncmp(path, "/dev/", 5) == 0 && blockdev_number(path + 5))
        devset_add(set, blockdev_number(path + 5));
    else if (through_files && stat(path, &found) == 0)
        mounts_add_devices(found.st_dev, set);
}

void stack_add_below(dev_t device, bool through_files, struct devset *set)
{
    char path[96];
    size_t next = set->count;
    devset_add(set, device);
    for (; next < set->count; next++) {
        dev_t at = set->devices[next];
        devset_add(set, blockdev_disk(at));
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/slaves", major(at), minor(at));
        blockdev_add_entries(path, "dev", set);
        add_backing(at, through_files, set);
    }
}

void stack_drives(const struct devset *set, struct devset *drives)
{
    for (size_t i = 0; i < set->count; i++) {
        struct devset below;
        devset_clear(&below);
        stack_add_below(set->devices[i], true, &below);
        if (below.count == 1)
            devset_add(drives, set->devices[i]);
    }
}
