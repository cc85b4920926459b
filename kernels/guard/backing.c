#include <fcntl.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "backing.h"
#include "check.h"
#include "target.h"

#define LOOKS 20 /* a device that is being detached still has a backing file in /sys */
#define PAUSE_NS 50000000

/* Decodes a device number of the Linux kernel (include/linux/kdev_t.h, new_encode_dev). */
static dev_t unpacked(uint64_t packed)
{
    return makedev(packed >> 8 & 0xfff, (packed & 0xff) | (packed >> 12 & 0xfff00));
}

struct backing backing_of(int fd)
{
    struct loop_info64 info;
    if (ioctl(fd, LOOP_GET_STATUS64, &info) != 0)
        return (struct backing){0, 0, 0};
    return (struct backing){unpacked(info.lo_device), info.lo_inode, unpacked(info.lo_rdevice)};
}

/* Whether another loop device shares the content of the target; UNKNOWN if that device's backing file cannot be determined. */
static enum verdict compare(const char *name, const struct backing *own)
{
    char path[BLOCKDEV_NAME_MAX + 8];
    snprintf(path, sizeof path, "/dev/%s", name);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return UNKNOWN;
    struct backing other = backing_of(fd);
    close(fd);
    if (other.inode == 0)
        return UNKNOWN;
    return other.device == own->device && other.inode == own->inode ? UNSAFE : SAFE;
}

/* The same once the device is no longer being detached; SAFE if it has no backing file. */
static enum verdict compare_settled(const char *name, const struct backing *own)
{
    char path[PATH_MAX];
    for (int i = 0; i < LOOKS; i++) {
        if (!*blockdev_backing(name, path, sizeof path))
            return SAFE;
        enum verdict verdict = compare(name, own);
        if (verdict != UNKNOWN)
            return verdict;
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
    return UNKNOWN;
}

void backing_check(const struct target *target)
{
    static struct devset all;
    char name[BLOCKDEV_NAME_MAX];
    dev_t disk = blockdev_disk(target->device);
    const struct backing *own = &target->backing;
    if (own->inode == 0) {
        check(target, "multipath", UNKNOWN, "the Linux kernel does not report its backing file");
        return;
    }
    if (own->drive) {
        check(target, "multipath", UNSAFE,
              "it is backed by the block device %s, which can be used at the same time; name that device instead",
              blockdev_name(own->drive, name));
        return;
    }
    if (all.count == 0)
        blockdev_all(&all);
    for (size_t i = 0; i < all.count; i++) {
        dev_t device = all.devices[i];
        if (device == disk || major(device) != LOOP_MAJOR || blockdev_disk(device) != device)
            continue;
        enum verdict verdict = compare_settled(blockdev_name(device, name), own);
        if (verdict != SAFE) {
            check(target, "multipath", verdict, verdict == UNSAFE ? "%s uses the same file; detach it (losetup -d)"
                  : "the backing file of %s is not visible", name);
            return;
        }
    }
    check(target, "multipath", all.partial ? UNKNOWN : SAFE, all.partial ? "more block devices than can be compared"
          : "no other loop device uses its file");
}
