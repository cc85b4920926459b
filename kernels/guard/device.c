#include <dirent.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"
#include "kit/out.h"
#include "kit/sysfile.h"
#include "links.h"
#include "mounts.h"
#include "nvme.h"
#include "serial.h"

static void print_text(struct out *out, const char *key, const char *text)
{
    if (*text)
        out_text(out, key, text);
    else
        out_null(out, key);
}

/* Prints a file of the disk; null if it does not exist. */
static void print_file(struct out *out, const char *key, dev_t disk, const char *file)
{
    char text[256];
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/%s", major(disk), minor(disk), file);
    text[strlen(text) - strspn(text, " ")] = '\0';
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' '; end--)
        text[end - 1] = '\0';
    print_text(out, key, text);
}

static void print_number(struct out *out, const char *key, dev_t disk, const char *file)
{
    char text[64], *end;
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/%s", major(disk), minor(disk), file);
    int64_t value = strtoll(text, &end, 10);
    if (end == text)
        out_null(out, key);
    else
        out_integer(out, key, value);
}

/* The scheduler in use is in brackets; a device with a single scheduler has only the word. */
static void print_scheduler(struct out *out, dev_t disk)
{
    char text[256];
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/queue/scheduler", major(disk), minor(disk));
    char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
    if (end)
        *end = '\0';
    print_text(out, "scheduler", end ? begin + 1 : text);
}

/* The first file of this name on the path from the disk up to the root of /sys/devices. */
static void find_above(dev_t disk, const char *file, char text[128])
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(disk), minor(disk));
    text[0] = '\0';
    if (!realpath(link, path))
        return;
    for (char *slash; !*text && (slash = strrchr(path, '/')) && slash > path + strlen("/sys/devices"); *slash = '\0')
        sysfile_text(text, 128, "%s/%s", path, file);
}

/* Prints how the drive is attached. An NVMe drive reports this itself; for other drives, it follows from the devices on the path to
 * the drive. */
static void print_transport(struct out *out, dev_t disk)
{
    static const struct {
        const char *part, *name;
    } kinds[] = {{"/usb", "usb"}, {"/end_device-", "sas"}, {"/ata", "sata"}, {"/mmc", "mmc"}, {"/virtio", "virtio"},
                 {"/vbd-", "xen"}, {"/rport-", "fc"}, {"/session", "iscsi"}, {"/block/loop", "loop"}, {"/block/dm-", "dm"},
                 {"/block/md", "md"}, {"/block/zram", "memory"}, {"/block/ram", "memory"}, {"/pmem", "pmem"},
                 {"/nbd", "network"}, {"/rbd", "network"}};
    char text[64], link[64], path[PATH_MAX];
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/device/transport", major(disk), minor(disk));
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(disk), minor(disk));
    if (!realpath(link, path))
        path[0] = '\0';
    for (size_t i = 0; !*text && i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(path, kinds[i].part))
            snprintf(text, sizeof text, "%s", kinds[i].name);
    print_text(out, "transport", text);
}

static void print_above(struct out *out, dev_t disk)
{
    char text[128];
    find_above(disk, "numa_node", text);
    if (*text)
        out_integer(out, "numa_node", atoi(text));
    else
        out_null(out, "numa_node");
    find_above(disk, "current_link_speed", text);
    print_text(out, "link_speed", text);
    find_above(disk, "current_link_width", text);
    print_text(out, "link_width", text);
    find_above(disk, "max_link_speed", text);
    print_text(out, "link_speed_max", text);
    find_above(disk, "max_link_width", text);
    print_text(out, "link_width_max", text);
}

/* The highest temperature in the hwmon folders of `parent`, which may contain them in a folder or directly. */
static int64_t hwmon_below(const char *parent)
{
    char text[32];
    int64_t found = INT64_MIN;
    DIR *dir = opendir(parent);
    for (struct dirent *entry; dir && found == INT64_MIN && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        sysfile_text(text, sizeof text, "%s/%s/temp1_input", parent, entry->d_name);
        found = *text ? strtoll(text, NULL, 10) : found;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* The temperature, which the drivers nvme and drivetemp have reported since Linux 5.5 (Documentation/hwmon). */
static int64_t temperature_of(dev_t disk)
{
    static const char *const places[] = {"device", "device/hwmon", "device/device", "device/device/hwmon"};
    int64_t found = INT64_MIN;
    char path[96];
    for (size_t i = 0; found == INT64_MIN && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(disk), minor(disk), places[i]);
        found = hwmon_below(path);
    }
    return found;
}

int64_t device_temperature(const struct devset *drives)
{
    int64_t highest = INT64_MIN;
    for (size_t i = 0; i < drives->count; i++) {
        int64_t found = temperature_of(drives->devices[i]);
        highest = found > highest ? found : highest;
    }
    return highest;
}

static void print_drive(struct out *out, dev_t disk)
{
    char text[SERIAL_MAX];
    int64_t temperature = temperature_of(disk);
    print_file(out, "model", disk, "device/model");
    print_file(out, "vendor", disk, "device/vendor");
    print_text(out, "serial", serial_of(disk, text));
    print_text(out, "worldwide", serial_worldwide(disk, text));
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/device/firmware_rev", major(disk), minor(disk));
    print_file(out, "firmware", disk, *text ? "device/firmware_rev" : "device/rev");
    print_number(out, "sectors", disk, "size");
    print_number(out, "logical_block", disk, "queue/logical_block_size");
    print_number(out, "physical_block", disk, "queue/physical_block_size");
    print_file(out, "write_cache", disk, "queue/write_cache");
    print_scheduler(out, disk);
    print_number(out, "queue_requests", disk, "queue/nr_requests");
    print_number(out, "request_max_kb", disk, "queue/max_sectors_kb");
    print_number(out, "discard_max_bytes", disk, "queue/discard_max_bytes");
    print_number(out, "discard_granularity", disk, "queue/discard_granularity");
    print_file(out, "zoned", disk, "queue/zoned");
    print_number(out, "rotational", disk, "queue/rotational");
    print_number(out, "removable", disk, "removable");
    print_number(out, "read_only", disk, "ro");
    print_transport(out, disk);
    print_above(out, disk);
    if (temperature == INT64_MIN)
        out_null(out, "temperature_mc");
    else
        out_integer(out, "temperature_mc", temperature);
    nvme_print(out, disk);
}

/* The persistent names that udev gave a device. */
static void print_links(struct out *out, dev_t device)
{
    struct links links;
    links_of(device, &links);
    out_array(out, "links");
    for (size_t i = 0; i < links.count; i++) {
        out_next(out);
        out_quoted(links.paths[i]);
    }
    out_close_array(out);
}

static void print_names(struct out *out, const char *key, const struct devset *set)
{
    char name[BLOCKDEV_NAME_MAX];
    out_array(out, key);
    for (size_t i = 0; i < set->count; i++) {
        out_next(out);
        out_quoted(blockdev_name(set->devices[i], name));
    }
    out_close_array(out);
}

static void print_file_system(struct out *out, const struct target *target)
{
    const struct mount *mount = mounts_of(target->device);
    print_text(out, "file_system", mount ? mount->type : "");
    print_text(out, "mounted_on", mount ? mount->point : "");
    out_integer(out, "allocated", (int64_t)target->found.st_blocks * 512);
    out_integer(out, "names", (int64_t)target->found.st_nlink);
}

/* The current size, which may differ from the first one, because a file may be truncated while it is in use. If no descriptor is
 * held, the size that was read first. */
static int64_t bytes_now(const struct target *target)
{
    struct stat found;
    uint64_t bytes = target->bytes;
    if (target->handle >= 0 && target->block && ioctl(target->handle, BLKGETSIZE64, &bytes) != 0)
        return (int64_t)target->bytes;
    if (target->handle >= 0 && !target->block && fstat(target->handle, &found) == 0)
        return (int64_t)found.st_size;
    return (int64_t)bytes;
}

void device_print(const struct target *target, const char *when)
{
    char name[BLOCKDEV_NAME_MAX];
    struct out out = out_begin("device");
    out_text(&out, "when", when);
    out_text(&out, "path", target->path);
    out_text(&out, "real", target->real);
    out_text(&out, "kind", target->block ? "block" : "file");
    out_integer(&out, "bytes", bytes_now(target));
    if (target->block) {
        out_text(&out, "name", target_name(target, name));
        out_bool(&out, "partition", blockdev_disk(target->device) != target->device);
        print_links(&out, target->device);
    } else {
        print_file_system(&out, target);
    }
    print_names(&out, "family", &target->family);
    print_names(&out, "counted", &target->counted);
    print_names(&out, "drives", &target->drives);
    if (target->block)
        print_drive(&out, blockdev_disk(target->device));
    else if (target->drives.count == 1)
        print_drive(&out, target->drives.devices[0]);
    out_end();
}
