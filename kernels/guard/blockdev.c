#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "blockdev.h"
#include "kit/sysfile.h"

void devset_clear(struct devset *set)
{
    set->count = 0;
    set->partial = false;
}

bool devset_has(const struct devset *set, dev_t device)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->devices[i] == device)
            return true;
    return false;
}

void devset_add(struct devset *set, dev_t device)
{
    if (device == 0 || devset_has(set, device))
        return;
    if (set->count == DEVSET_MAX)
        set->partial = true;
    else
        set->devices[set->count++] = device;
}

bool devset_meet(const struct devset *a, const struct devset *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (devset_has(b, a->devices[i]))
            return true;
    return false;
}

const char *blockdev_name(dev_t device, char name[BLOCKDEV_NAME_MAX])
{
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(device), minor(device));
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *base = strrchr(target, '/');
    snprintf(name, BLOCKDEV_NAME_MAX, "%s", base ? base + 1 : "");
    return name;
}

/* Reads `major:minor`. */
static dev_t number_in(const char *path)
{
    char text[32];
    unsigned high, low;
    sysfile_text(text, sizeof text, "%s", path);
    return sscanf(text, "%u:%u", &high, &low) == 2 ? makedev(high, low) : 0;
}

dev_t blockdev_number(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/class/block/%.64s/dev", name);
    return number_in(path);
}

dev_t blockdev_disk(dev_t device)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(device), minor(device));
    if (access(path, F_OK) != 0)
        return device;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/../dev", major(device), minor(device));
    dev_t disk = number_in(path);
    return disk ? disk : device;
}

void blockdev_add_entries(const char *folder, const char *file, struct devset *set)
{
    char path[PATH_MAX];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", folder, entry->d_name, file);
        if (access(path, F_OK) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/dev", folder, entry->d_name);
        devset_add(set, number_in(path));
    }
    if (dir)
        closedir(dir);
}

void blockdev_add_partitions(dev_t disk, struct devset *set)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(disk), minor(disk));
    blockdev_add_entries(path, "partition", set);
}

void blockdev_all(struct devset *set)
{
    blockdev_add_entries("/sys/class/block", "dev", set);
}

const char *blockdev_backing(const char *name, char *path, size_t size)
{
    sysfile_text(path, (int)size, "/sys/class/block/%s/loop/backing_file", name);
    return path;
}
