#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "kit/sysfile.h"
#include "mounts.h"
#include "superblock.h"
#include "use.h"

static const char *const system_places[] = {"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", ".", "/proc/self/exe"};

/* Whether the devices below `device` include one that the target would overwrite. */
static bool stands_on(dev_t device, const struct target *target, struct devset *below)
{
    devset_clear(below);
    stack_add_below(device, true, below);
    return devset_meet(below, &target->family);
}

/* Whether a file is the target, or its file system is on the target. */
static bool file_stands_on(const struct stat *file, const struct target *target, struct devset *below)
{
    struct devset carriers;
    devset_clear(&carriers);
    if (S_ISREG(file->st_mode) && target_is_file(target, file->st_dev, file->st_ino))
        return true;
    if (S_ISBLK(file->st_mode))
        devset_add(&carriers, file->st_rdev);
    else if (target->block)
        mounts_add_devices(file->st_dev, &carriers);
    for (size_t i = 0; i < carriers.count; i++)
        if (stands_on(carriers.devices[i], target, below))
            return true;
    return false;
}

static void check_mounted(const struct target *target)
{
    const struct mounts *mounts = mounts_get();
    struct devset below;
    char name[BLOCKDEV_NAME_MAX];
    for (size_t i = 0; i < mounts->count; i++) {
        struct devset carriers;
        devset_clear(&carriers);
        mounts_add_devices(mounts->list[i].device, &carriers);
        for (size_t k = 0; k < carriers.count; k++)
            if (stands_on(carriers.devices[k], target, &below)) {
                check(target, "mounted", UNSAFE, "%s (%s) is mounted on %s; unmount it", blockdev_name(carriers.devices[k], name),
                      mounts->list[i].type, mounts->list[i].point);
                return;
            }
    }
    if (mounts->known)
        check(target, "mounted", SAFE, "nothing is mounted on it");
    else
        check(target, "mounted", UNKNOWN, "/proc/self/mountinfo cannot be read completely");
}

/* Compares the disks below a path with those below the target. A loop device writes only to its own file. */
static void check_system(const struct target *target)
{
    struct devset own, below, carriers;
    struct stat place;
    devset_clear(&own);
    stack_add_below(target->device, false, &own);
    for (size_t i = 0; i < sizeof system_places / sizeof *system_places; i++) {
        if (stat(system_places[i], &place) != 0)
            continue;
        devset_clear(&carriers);
        devset_clear(&below);
        mounts_add_devices(place.st_dev, &carriers);
        for (size_t k = 0; k < carriers.count; k++)
            stack_add_below(carriers.devices[k], true, &below);
        if (devset_meet(&below, &own)) {
            check(target, "system", UNSAFE, "it is the disk of %s; select another disk", system_places[i][0] == '.'
                  ? "the work folder" : i + 1 == sizeof system_places / sizeof *system_places ? "this program" : system_places[i]);
            return;
        }
    }
    check(target, "system", own.partial ? UNKNOWN : SAFE, own.partial ? "more devices below it than can be followed"
          : "not the disk of /, /boot, /usr, /var, the work folder or this program");
}

/* /proc/swaps: a header line, then `name type size used priority`. */
static void check_swap(const struct target *target)
{
    char line[PATH_MAX + 128], path[PATH_MAX];
    struct devset below;
    struct stat found;
    FILE *file = fopen("/proc/swaps", "re");
    if (!file) {
        check(target, "swap", errno == ENOENT ? SAFE : UNKNOWN, "/proc/swaps: %s", strerror(errno));
        return;
    }
    bool heading = fgets(line, sizeof line, file) != NULL, unknown = false;
    while (heading && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%4095s", path) != 1 || stat(path, &found) != 0) {
            unknown = true;
        } else if (file_stands_on(&found, target, &below)) {
            check(target, "swap", UNSAFE, "it is used as swap space (%s); run swapoff first", path);
            fclose(file);
            return;
        }
    }
    fclose(file);
    if (unknown || !heading)
        check(target, "swap", UNKNOWN, "cannot parse a line of /proc/swaps: %s", heading ? path : "the first");
    else
        check(target, "swap", SAFE, "it is not used as swap space");
}

/* Any block device on top of the target: LVM, dm, md, or a loop device over the target or over a file on it. */
static void check_holders(const struct target *target)
{
    static struct devset all;
    struct devset below;
    char name[BLOCKDEV_NAME_MAX], path[PATH_MAX];
    struct stat found;
    if (all.count == 0)
        blockdev_all(&all);
    for (size_t i = 0; i < all.count; i++) {
        blockdev_name(all.devices[i], name);
        bool same = !target->block && *blockdev_backing(name, path, sizeof path) && stat(path, &found) == 0 &&
                    file_stands_on(&found, target, &below);
        if (!same && (devset_has(&target->family, all.devices[i]) || !stands_on(all.devices[i], target, &below)))
            continue;
        check(target, "holders", UNSAFE, "%s is built on it; remove that first", name);
        return;
    }
    check(target, "holders", all.partial || all.count == 0 ? UNKNOWN : SAFE, all.partial || all.count == 0
          ? "not all block devices in /sys/class/block could be listed" : "no other device is built on it");
}

/* Whether a line of /proc/mdstat (`md0 : active raid1 sdb1[1] sda1[0]`) lists a device of the family as a member. */
static bool is_member(char *line, const struct target *target)
{
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        char *bracket = strchr(word, '[');
        if (!bracket)
            continue;
        *bracket = '\0';
        if (devset_has(&target->family, blockdev_number(word)))
            return true;
    }
    return false;
}

static void check_raid(const struct target *target)
{
    char line[4096], array[64];
    FILE *file = fopen("/proc/mdstat", "re");
    if (!file) {
        check(target, "raid", errno == ENOENT ? SAFE : UNKNOWN, "/proc/mdstat: %s", strerror(errno));
        return;
    }
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "md%60[^ ] : ", array) == 1 && is_member(line, target)) {
            bool left = superblock_left_on(target);
            check(target, "raid", UNSAFE, "it is a member of the array md%s%s; run mdadm --stop /dev/md%s%s", array,
                  left ? ", which asct created but could not remove because it was killed" : "", array,
                  left ? ", then mdadm --zero-superblock on each member" : " first");
            fclose(file);
            return;
        }
    }
    fclose(file);
    check(target, "raid", SAFE, "not a member of an md array");
}

void use_check(const struct target *target)
{
    if (target->block) {
        check_mounted(target);
        check_system(target);
    }
    check_swap(target);
    check_holders(target);
    if (target->block)
        check_raid(target);
}
