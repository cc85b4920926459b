#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check.h"
#include "nvme.h"
#include "scsi.h"

#define IDENTIFY_BYTES 4096
#define SMART_BYTES 512
#define TIMEOUT_MS 5000
#define RESERVATIONS_SUPPORTED 0x20 /* bit 5 of ONCS, bytes 520-521 of the controller's identity (5.17.2.1) */
#define REPORT_BYTES 4096

static bool is_nvme(dev_t disk)
{
    char name[BLOCKDEV_NAME_MAX];
    return strncmp(blockdev_name(disk, name), "nvme", 4) == 0;
}

static int open_disk(dev_t disk)
{
    char name[BLOCKDEV_NAME_MAX], path[BLOCKDEV_NAME_MAX + 8];
    snprintf(path, sizeof path, "/dev/%s", blockdev_name(disk, name));
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Identify (06h): CNS 1 is the controller, CNS 0 the namespace. */
static bool identify(int fd, uint32_t cns, uint32_t namespace, unsigned char answer[IDENTIFY_BYTES])
{
    struct nvme_admin_cmd command = {.opcode = 0x06, .nsid = namespace, .addr = (uint64_t)(uintptr_t)answer,
                                     .data_len = IDENTIFY_BYTES, .cdw10 = cns, .timeout_ms = TIMEOUT_MS};
    return ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command) == 0;
}

/* Get Log Page (02h): page 2 is SMART, for the whole drive; the length counts from 0 in units of four bytes. */
static bool read_smart(int fd, unsigned char answer[SMART_BYTES])
{
    struct nvme_admin_cmd command = {.opcode = 0x02, .nsid = 0xffffffff, .addr = (uint64_t)(uintptr_t)answer,
                                     .data_len = SMART_BYTES, .cdw10 = 0x02 | (SMART_BYTES / 4 - 1) << 16,
                                     .timeout_ms = TIMEOUT_MS};
    return ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command) == 0;
}

static void print_hex(struct out *out, const char *key, const unsigned char *bytes, size_t count, bool known)
{
    if (!known) {
        out_null(out, key);
        return;
    }
    out_key(out, key);
    putchar('"');
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
    putchar('"');
}

void nvme_print(struct out *out, dev_t disk)
{
    unsigned char answer[IDENTIFY_BYTES] __attribute__((aligned(4096)));
    int fd = is_nvme(disk) ? open_disk(disk) : -1, namespace = fd >= 0 ? ioctl(fd, NVME_IOCTL_ID) : -1;
    print_hex(out, "nvme_id_ctrl", answer, IDENTIFY_BYTES, fd >= 0 && identify(fd, 1, 0, answer));
    print_hex(out, "nvme_id_ns", answer, IDENTIFY_BYTES, namespace > 0 && identify(fd, 0, (uint32_t)namespace, answer));
    print_hex(out, "nvme_smart", answer, SMART_BYTES, fd >= 0 && read_smart(fd, answer));
    if (fd >= 0)
        close(fd);
}

/* The names of the other namespaces of the same controller or subsystem, each after a blank. */
static void other_namespaces(dev_t disk, char *names, size_t size)
{
    char path[64], own[BLOCKDEV_NAME_MAX];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device", major(disk), minor(disk));
    blockdev_name(disk, own);
    names[0] = '\0';
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t digits = strspn(entry->d_name + (strncmp(entry->d_name, "nvme", 4) == 0 ? 4 : 0), "0123456789");
        size_t used = strlen(names);
        if (digits > 0 && entry->d_name[4 + digits] == 'n' && strcmp(entry->d_name, own) != 0)
            snprintf(names + used, size - used, " %s", entry->d_name);
    }
    if (dir)
        closedir(dir);
}

void nvme_check_namespaces(const struct target *target, bool whole_drive)
{
    char names[512];
    dev_t disk = blockdev_disk(target->device);
    bool partition = disk != target->device;
    other_namespaces(disk, names, sizeof names);
    if (whole_drive && partition)
        check(target, "namespaces", UNSAFE, "the program changes the whole drive, and the target is a partition of it");
    else if (!is_nvme(disk))
        check(target, "namespaces", SAFE, "devices of this kind have no namespaces");
    else if (!*names)
        check(target, "namespaces", SAFE, "the only namespace of its drive");
    else
        check(target, "namespaces", whole_drive ? UNSAFE : SAFE, "other namespaces on the same drive:%s%s", names, whole_drive
              ? "; the program changes the whole drive" : "");
}

/* Reservation Report (0Eh): the generation in bytes 0-3, the type in byte 4, registered controllers in bytes 5-6 (NVM Command Set
 * 1.0, 7.5). */
void nvme_check_reserved(const struct target *target)
{
    unsigned char answer[IDENTIFY_BYTES] __attribute__((aligned(4096)));
    dev_t disk = blockdev_disk(target->device);
    if (!is_nvme(disk)) {
        scsi_check_reserved(target);
        return;
    }
    int fd = open_disk(disk), namespace = fd >= 0 ? ioctl(fd, NVME_IOCTL_ID) : -1;
    if (namespace <= 0 || !identify(fd, 1, 0, answer)) {
        check(target, "reserved", UNKNOWN, "the drive does not identify itself: %s", strerror(errno));
    } else if (!(answer[520] & RESERVATIONS_SUPPORTED)) {
        check(target, "reserved", SAFE, "unsupported: the drive has no reservation commands");
    } else {
        struct nvme_passthru_cmd command = {.opcode = 0x0e, .nsid = (uint32_t)namespace, .addr = (uint64_t)(uintptr_t)answer,
                                            .data_len = REPORT_BYTES, .cdw10 = REPORT_BYTES / 4 - 1, .timeout_ms = TIMEOUT_MS};
        int status = ioctl(fd, NVME_IOCTL_IO_CMD, &command), users = answer[5] | answer[6] << 8;
        if (status != 0)
            check(target, "reserved", UNKNOWN, "reservations cannot be read: %s",
                  status < 0 ? strerror(errno) : "refused by the drive");
        else if (answer[4] != 0 || users > 0)
            check(target, "reserved", UNSAFE, "%d hosts have registered for it (reservation of type %d): another host uses it",
                  users, answer[4]);
        else
            check(target, "reserved", SAFE, "no host has reserved it");
    }
    if (fd >= 0)
        close(fd);
}
