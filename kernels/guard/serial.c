#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backing.h"
#include "check.h"
#include "kit/sysfile.h"
#include "serial.h"

/* Removes the blanks with which drives pad their fields. */
static void trim(char *text)
{
    size_t length = strlen(text), blanks = strspn(text, " ");
    while (length > blanks && isspace((unsigned char)text[length - 1]))
        length--;
    memmove(text, text + blanks, length - blanks);
    text[length - blanks] = '\0';
}

/* SCSI "Unit Serial Number": four bytes of heading, of which the last two are the length (SPC-5, 7.7.19). */
static void read_page_80(dev_t disk, char serial[SERIAL_MAX])
{
    char path[80];
    unsigned char page[4 + 255];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device/vpd_pg80", major(disk), minor(disk));
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(page, 1, sizeof page, file) : 0;
    if (file)
        fclose(file);
    size_t length = got > 4 ? (size_t)page[2] << 8 | page[3] : 0;
    length = got > 4 && length > got - 4 ? got - 4 : length;
    memcpy(serial, page + 4, length);
    serial[length] = '\0';
}

const char *serial_of(dev_t disk, char serial[SERIAL_MAX])
{
    static const char *const places[] = {"loop/backing_file", "device/serial", "serial", "dm/uuid", "md/uuid", "device/cid"};
    read_page_80(disk, serial);
    for (size_t i = 0; !*serial && i < sizeof places / sizeof *places; i++)
        sysfile_text(serial, SERIAL_MAX, "/sys/dev/block/%u:%u/%s", major(disk), minor(disk), places[i]);
    trim(serial);
    return serial;
}

const char *serial_worldwide(dev_t disk, char name[SERIAL_MAX])
{
    sysfile_text(name, SERIAL_MAX, "/sys/dev/block/%u:%u/wwid", major(disk), minor(disk));
    if (!*name)
        sysfile_text(name, SERIAL_MAX, "/sys/dev/block/%u:%u/device/wwid", major(disk), minor(disk));
    trim(name);
    return name;
}

void serial_check(const struct target *target)
{
    char serial[SERIAL_MAX], name[BLOCKDEV_NAME_MAX];
    serial_of(blockdev_disk(target->device), serial);
    target_name(target, name);
    bool needed = target->write && !target->surveyed;
    if (!*serial)
        check(target, "serial", UNKNOWN, "%s reports no serial number: it cannot be distinguished from other drives", name);
    else if (!*target->serial)
        check(target, "serial", needed ? UNSAFE : SAFE, "%s reports %s%s", name, serial, needed ? ", and none is expected" : "");
    else if (strcmp(serial, target->serial) != 0)
        check(target, "serial", UNSAFE, "%s reports %s, but %s is expected: it is a different drive", name, serial, target->serial);
    else
        check(target, "serial", SAFE, "%s", serial);
}

/* The controllers of a namespace's NVMe subsystem, which the Linux kernel uses as paths to one block device. */
static int controllers_of(dev_t disk)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device", major(disk), minor(disk));
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += strncmp(entry->d_name, "nvme", 4) == 0 && entry->d_name[4 + strspn(entry->d_name + 4, "0123456789")] == '\0';
    if (dir)
        closedir(dir);
    return count;
}

void serial_check_paths(const struct target *target)
{
    static struct devset all;
    char own[SERIAL_MAX], other[SERIAL_MAX], name[BLOCKDEV_NAME_MAX];
    dev_t disk = blockdev_disk(target->device);
    if (major(disk) == LOOP_MAJOR) {
        backing_check(target);
        return;
    }
    if (!*serial_worldwide(disk, own)) {
        check(target, "multipath", SAFE, "devices of this kind have only one path");
        return;
    }
    if (all.count == 0)
        blockdev_all(&all);
    for (size_t i = 0; i < all.count; i++) {
        dev_t device = all.devices[i];
        /* such as nvme0c1n1, the device of a path */
        bool path = strchr(blockdev_name(device, name), 'c') != NULL && strncmp(name, "nvme", 4) == 0;
        if (path || device == disk || blockdev_disk(device) != device || strcmp(serial_worldwide(device, other), own) != 0)
            continue;
        check(target, "multipath", UNSAFE, "%s is the same drive (%s); use the device that combines the paths", name, own);
        return;
    }
    int controllers = controllers_of(disk);
    if (all.partial)
        check(target, "multipath", UNKNOWN, "more block devices than can be compared");
    else if (controllers > 1)
        check(target, "multipath", SAFE, "%d controllers, which the Linux kernel combines into this one device", controllers);
    else
        check(target, "multipath", SAFE, "no other device has the same identity (%s)", own);
}
