#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check.h"
#include "claim.h"
#include "content.h"
#include "device.h"
#include "kit/sysfile.h"
#include "nvme.h"
#include "scan.h"
#include "serial.h"
#include "use.h"

/* Whether nothing is attached to the device, such as a loop device without a file. Such devices are skipped. */
static bool is_empty(dev_t device)
{
    char size[32];
    sysfile_text(size, sizeof size, "/sys/dev/block/%u:%u/size", major(device), minor(device));
    return strcmp(size, "0") == 0;
}

static void look_at(struct target *target, uint64_t seed)
{
    serial_check(target);
    claim_check(target);
    claim_try(target);
    device_print(target, "scan");
    use_check(target);
    use_check_open(target);
    content_check(target, seed);
    nvme_check_namespaces(target, false);
    serial_check_paths(target);
    nvme_check_reserved(target);
}

void scan(uint64_t seed)
{
    static struct devset all;
    static struct target target;
    char path[PATH_MAX], name[BLOCKDEV_NAME_MAX];
    blockdev_all(&all);
    for (size_t i = 0; i < all.count; i++) {
        if (is_empty(all.devices[i]))
            continue;
        snprintf(path, sizeof path, "/dev/%s", blockdev_name(all.devices[i], name));
        target_blank(&target, path);
        target.surveyed = true;
        if (target_find(&target))
            look_at(&target, seed);
        if (target.node >= 0)
            close(target.node);
        check_forget();
    }
}
