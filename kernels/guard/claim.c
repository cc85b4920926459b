#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "claim.h"
#include "kit/fail.h"
#include "kit/sysfile.h"

#define LOCK_TRIES 50 /* udev holds the lock while it probes a device that was just closed */
#define LOCK_PAUSE_NS 100000000

static void check_block_size(struct target *target)
{
    int sector = 0, fd = target_open(target, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, BLKGETSIZE64, &target->bytes) != 0 || ioctl(fd, BLKSSZGET, &sector) != 0)
        check(target, "size", UNKNOWN, "it cannot be opened for reading: %s", strerror(errno));
    else if (target->bytes == 0 || sector <= 0)
        check(target, "size", UNSAFE, "0 bytes: no medium, or nothing is attached");
    else
        check(target, "size", SAFE, "%" PRIu64 " bytes in blocks of %d", target->bytes, sector);
    target->sector = (uint32_t)sector;
    if (fd < 0)
        return;
    target->backing = backing_of(fd);
    close(fd);
}

/* Whether the unallocated part of a sparse file fits into the free space. */
static void check_file_size(const struct target *target)
{
    struct statvfs space;
    uint64_t placed = (uint64_t)target->found.st_blocks * 512, missing = target->bytes > placed ? target->bytes - placed : 0;
    if (statvfs(target->real, &space) != 0)
        check(target, "size", UNKNOWN, "the free space of its file system is unknown: %s", strerror(errno));
    else if (target->write && missing > (uint64_t)space.f_bavail * space.f_frsize)
        check(target, "size", UNSAFE, "%" PRIu64 " bytes are not on the disk yet and only %" PRIu64 " are free", missing,
              (uint64_t)space.f_bavail * space.f_frsize);
    else
        check(target, "size", SAFE, "%" PRIu64 " bytes, %" PRIu64 " of them on the disk", target->bytes, placed);
}

static void check_read_only(const struct target *target)
{
    char ro[8];
    if (!target->block) {
        bool may = access(target->real, W_OK) == 0;
        check(target, "read-only", may ? SAFE : UNSAFE, "%s", may ? "it is writable" : strerror(errno));
        return;
    }
    sysfile_text(ro, sizeof ro, "/sys/dev/block/%u:%u/ro", major(target->device), minor(target->device));
    if (strcmp(ro, "0") == 0)
        check(target, "read-only", SAFE, "it is writable");
    else if (strcmp(ro, "1") == 0)
        check(target, "read-only", UNSAFE, "the device is read-only (write-protect switch, or blockdev --setro)");
    else
        check(target, "read-only", UNKNOWN, "/sys does not report it");
}

static void check_removable(const struct target *target)
{
    char text[8];
    dev_t disk = blockdev_disk(target->device);
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/removable", major(disk), minor(disk));
    if (strcmp(text, "0") == 0)
        check(target, "removable", SAFE, "the medium is not removable");
    else if (strcmp(text, "1") == 0)
        check(target, "removable", target->overwrite ? SAFE : UNSAFE,
              "the medium is removable, and the serial number is that of its reader");
    else
        check(target, "removable", UNKNOWN, "/sys does not report it");
}

void claim_check(struct target *target)
{
    if (target->block)
        check_block_size(target);
    else
        check_file_size(target);
    if (!target->write)
        return;
    check_read_only(target);
    if (target->block)
        check_removable(target);
}

/* Finds the name of the partition that another process has claimed, or the name of the disk if there is no such partition. */
static void find_claimed(const struct target *target, char name[BLOCKDEV_NAME_MAX])
{
    char path[BLOCKDEV_NAME_MAX + 8];
    for (size_t i = 0; i < target->family.count; i++) {
        if (target->family.devices[i] == target->device)
            continue;
        snprintf(path, sizeof path, "/dev/%s", blockdev_name(target->family.devices[i], name));
        int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
        else if (errno == EBUSY)
            return;
    }
    target_name(target, name);
}

/* Opens a block device exclusively: the Linux kernel then refuses to mount it or its partitions, to use it as swap space, or to
 * add it to an array. Claims of a disk and of its partitions exclude each other (block/bdev.c, bd_may_claim). */
static int open_claimed(const struct target *target, int mode)
{
    char name[BLOCKDEV_NAME_MAX];
    int fd = target_open(target, mode | (target->block ? O_EXCL : 0) | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    if (errno == EBUSY) {
        find_claimed(target, name);
        check(target, "exclusive", UNSAFE, "%s is in use: a file system, swap, LVM, RAID or another program holds it", name);
    } else {
        check(target, "exclusive", errno == EROFS || errno == ETXTBSY ? UNSAFE : UNKNOWN, "it cannot be opened: %s",
              strerror(errno));
    }
    return -1;
}

/* udev does not probe a locked device (systemd.io, "Locking Block Device Access"); partitioning tools respect the lock as well. */
static bool lock(const struct target *target, int fd)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
            check(target, "exclusive", errno == EWOULDBLOCK ? UNSAFE : UNKNOWN, "another program has locked it: %s",
                  strerror(errno));
            return false;
        }
        nanosleep(&(struct timespec){0, LOCK_PAUSE_NS}, NULL);
    }
    return true;
}

/* Moves a descriptor above the numbers that the program inherits. */
static int moved_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_HANDLE + TARGETS_MAX);
    if (moved < 0)
        fail(EXIT_ENVIRONMENT, "cannot obtain a handle: %s", strerror(errno));
    close(fd);
    return moved;
}

void claim(struct target *target)
{
    int fd = target->write ? open_claimed(target, O_RDWR) : target_open(target, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        if (!target->write)
            check(target, "exclusive", UNSAFE, "it cannot be opened for reading: %s", strerror(errno));
        return;
    }
    target->handle = moved_up(fd);
    if (target->write && lock(target, target->handle))
        check(target, "exclusive", SAFE, "claimed and locked until the program ends");
}

void claim_try(const struct target *target)
{
    int fd = open_claimed(target, O_RDONLY);
    if (fd < 0)
        return;
    close(fd);
    check(target, "exclusive", SAFE, "it can be claimed");
}
