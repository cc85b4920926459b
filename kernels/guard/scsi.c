#include <errno.h>
#include <fcntl.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check.h"
#include "scsi.h"

#define ANSWER_BYTES 512
#define SENSE_BYTES 32
#define TIMEOUT_MS 5000
#define ILLEGAL_REQUEST 5 /* sense key: the drive does not know the command (SPC-5, 4.4.8) */

/* PERSISTENT RESERVE IN (5Eh), READ KEYS (0): generation, bytes of keys that follow (SPC-5, 6.16.2). */
static void check_keys(const struct target *target, int fd)
{
    unsigned char command[10] = {0x5e, 0, 0, 0, 0, 0, 0, ANSWER_BYTES >> 8, ANSWER_BYTES & 0xff, 0};
    unsigned char answer[ANSWER_BYTES] = {0}, sense[SENSE_BYTES] = {0};
    struct sg_io_hdr header = {.interface_id = 'S', .dxfer_direction = SG_DXFER_FROM_DEV, .cmd_len = sizeof command,
                               .cmdp = command, .mx_sb_len = sizeof sense, .sbp = sense, .dxfer_len = sizeof answer,
                               .dxferp = answer, .timeout = TIMEOUT_MS};
    if (ioctl(fd, SG_IO, &header) != 0) {
        check(target, "reserved", UNKNOWN, "the drive cannot be queried: %s", strerror(errno));
        return;
    }
    int key = (sense[0] & 0x7f) >= 0x72 ? sense[1] & 0xf : sense[2] & 0xf; /* descriptor or fixed format */
    unsigned keys = ((unsigned)answer[4] << 24 | (unsigned)answer[5] << 16 | (unsigned)answer[6] << 8 | answer[7]) / 8;
    if (header.sb_len_wr > 0 && key == ILLEGAL_REQUEST)
        check(target, "reserved", SAFE, "unsupported: the drive has no reservation commands");
    else if (header.status != 0 || header.host_status != 0 || header.driver_status != 0)
        check(target, "reserved", UNKNOWN, "the drive does not report them (status %d, sense key %d)", header.status, key);
    else if (keys > 0)
        check(target, "reserved", UNSAFE, "%u hosts have registered for it: another host uses it", keys);
    else
        check(target, "reserved", SAFE, "no host has reserved it");
}

void scsi_check_reserved(const struct target *target)
{
    char path[80];
    dev_t disk = blockdev_disk(target->device);
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device/scsi_level", major(disk), minor(disk));
    if (access(path, F_OK) != 0) {
        check(target, "reserved", SAFE, "unsupported: devices of this kind have no reservations");
        return;
    }
    int fd = target_open(target, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        check(target, "reserved", UNKNOWN, "the drive cannot be queried: %s", strerror(errno));
        return;
    }
    check_keys(target, fd);
    close(fd);
}
