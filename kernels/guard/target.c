#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "kit/fail.h"
#include "links.h"
#include "mounts.h"
#include "target.h"

#define FIELDS 5

void target_blank(struct target *target, const char *path)
{
    memset(target, 0, sizeof *target);
    target->write = true;
    target->serial = "";
    target->path = path;
    target->node = target->handle = -1;
}

/* Parses 0 or 1; ends the program for anything else. */
static bool flag_of(const char *text, const char *what, size_t number)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        fail(EXIT_USAGE, "--targets: line %zu: %s must be 0 or 1, not %s", number, what, text);
    return *text == '1';
}

/* access, overwrite, dirty, serial, path. */
static void read_line(char *line, size_t number, struct target *target)
{
    char *fields[FIELDS], *rest = line;
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = i < FIELDS - 1 ? strsep(&rest, "\t") : rest;
        if (!fields[i] || !*fields[i])
            fail(EXIT_USAGE, "--targets: line %zu has no field %zu (fields: access, overwrite, dirty, serial, path)", number,
                 i + 1);
    }
    target_blank(target, strdup(fields[4]));
    if (strcmp(fields[0], "read") != 0 && strcmp(fields[0], "write") != 0)
        fail(EXIT_USAGE, "--targets: line %zu: access must be read or write, not %s", number, fields[0]);
    target->write = *fields[0] == 'w';
    target->overwrite = flag_of(fields[1], "overwrite", number);
    target->dirty = flag_of(fields[2], "dirty", number);
    target->serial = strcmp(fields[3], "-") == 0 ? "" : strdup(fields[3]);
    if (!target->path || !target->serial)
        fail(EXIT_ENVIRONMENT, "not enough memory for the targets");
}

size_t targets_read(const char *path, struct target *targets)
{
    char *line = NULL;
    size_t size = 0, count = 0;
    ssize_t length;
    FILE *file = fopen(path, "re");
    if (!file)
        fail(EXIT_USAGE, "--targets: %s cannot be read: %s", path, strerror(errno));
    while ((length = getline(&line, &size, file)) > 0) {
        if (count == TARGETS_MAX)
            fail(EXIT_USAGE, "--targets: more than %d targets", TARGETS_MAX);
        if (line[length - 1] != '\n' || strlen(line) != (size_t)length)
            fail(EXIT_USAGE, "--targets: line %zu is not a complete line of text", count + 1);
        line[length - 1] = '\0';
        read_line(line, count + 1, &targets[count]);
        count++;
    }
    fclose(file);
    free(line);
    return count;
}

const char *target_name(const struct target *target, char *name)
{
    return blockdev_name(target->device, name);
}

bool target_is_file(const struct target *target, dev_t device, uint64_t inode)
{
    if (target->block)
        return inode != 0 && target->backing.device == device && target->backing.inode == inode;
    return target->found.st_dev == device && target->found.st_ino == inode;
}

int target_open(const struct target *target, int flags)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/fd/%d", target->node);
    return open(path, flags | O_CLOEXEC);
}

/* Whether a device to be written is specified by a persistent name. A scanned device only needs to have such a name. */
static bool named_well(const struct target *target)
{
    struct links links = {0};
    if (target->surveyed)
        links_of(target->device, &links);
    return links.count > 0 || links_lasting(target->path);
}

/* The Linux kernel resolves the path once, with its rules against links planted by others (proc(5): protected_symlinks); the
 * real path then comes from the descriptor. */
static bool resolve(struct target *target)
{
    char handle[48];
    target->node = open(target->path, O_PATH | O_CLOEXEC);
    if (target->node < 0) {
        check(target, "identity", errno == ENOENT || errno == ENOTDIR ? UNSAFE : UNKNOWN, "%s: %s; nothing is created",
              target->path, strerror(errno));
        return false;
    }
    snprintf(handle, sizeof handle, "/proc/self/fd/%d", target->node);
    ssize_t length = readlink(handle, target->real, sizeof target->real - 1);
    target->real[length > 0 ? length : 0] = '\0';
    if (length <= 0 || fstat(target->node, &target->found) != 0) {
        check(target, "identity", UNKNOWN, "%s: %s", target->path, strerror(errno));
        return false;
    }
    return true;
}

/* A device node is accepted only if a device with its number exists. */
static bool take_block(struct target *target)
{
    char name[BLOCKDEV_NAME_MAX];
    target->block = true;
    target->device = target->found.st_rdev;
    if (!*target_name(target, name)) {
        check(target, "identity", UNKNOWN, "%s: no such device in /sys/dev/block", target->real);
        return false;
    }
    devset_add(&target->family, target->device);
    if (blockdev_disk(target->device) == target->device)
        blockdev_add_partitions(target->device, &target->family);
    devset_add(&target->counted, target->device);
    if (target->write && !named_well(target))
        check(target, "identity", UNSAFE, "%s may be a different drive after a reboot; specify it as " LINKS_FOLDER "..., or a "
              "loop device as /dev/loopN", target->path);
    else
        check(target, "identity", SAFE, "%s is %s", target->path, name);
    check(target, "kind", SAFE, blockdev_disk(target->device) == target->device ? "a whole block device" : "a partition");
    return true;
}

static bool take_file(struct target *target)
{
    bool special = strncmp(target->real, "/dev/", 5) == 0 && strncmp(target->real, "/dev/shm/", 9) != 0;
    special |= strncmp(target->real, "/proc/", 6) == 0 || strncmp(target->real, "/sys/", 5) == 0;
    target->device = target->found.st_dev;
    target->bytes = (uint64_t)target->found.st_size;
    target->sector = 512;
    mounts_add_devices(target->device, &target->counted);
    check(target, "identity", SAFE, "%s", target->real);
    if (special)
        check(target, "kind", UNSAFE, "a file in a system folder for devices or settings: is the device name mistyped?");
    else
        check(target, "kind", SAFE, "a regular file");
    return !special;
}

bool target_find(struct target *target)
{
    bool good = false;
    if (!resolve(target))
        return false;
    if (S_ISBLK(target->found.st_mode))
        good = take_block(target);
    else if (S_ISREG(target->found.st_mode))
        good = take_file(target);
    else
        check(target, "kind", UNSAFE, "neither a block device nor a regular file");
    for (size_t i = 0; i < target->counted.count; i++) {
        struct devset below;
        devset_clear(&below);
        stack_add_below(target->counted.devices[i], true, &below);
        stack_drives(&below, &target->drives);
    }
    return good;
}

bool target_is_private(const struct target *target)
{
    char folder[PATH_MAX];
    struct stat found;
    snprintf(folder, sizeof folder, "%s", target->real);
    char *end = strrchr(folder, '/');
    if (target->block || target->found.st_nlink != 1 || !end || end == folder)
        return false;
    *end = '\0';
    return stat(folder, &found) == 0 && found.st_uid == geteuid() && (found.st_mode & 077) == 0;
}
