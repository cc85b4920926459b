#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "kit/sysfile.h"
#include "use.h"

#define LOOKS 20             /* udev briefly opens a device that was just closed */
#define PAUSE_NS 100000000

struct seen {
    char who[64];            /* `1234 (qemu)`; empty if there is none */
    int unread;              /* number of processes whose descriptors cannot be listed */
};

static bool is_target(const struct statx *found, const struct target *target)
{
    if (S_ISBLK(found->stx_mode))
        return target->block && devset_has(&target->family, makedev(found->stx_rdev_major, found->stx_rdev_minor));
    return S_ISREG(found->stx_mode) && target_is_file(target, makedev(found->stx_dev_major, found->stx_dev_minor), found->stx_ino);
}

/* Searches /proc/<process>/fd. A process that has ended in the meantime has no open files. The descriptors are compared without
 * contacting a file server, which may not respond. */
static void look_at(const char *process, const struct target *target, struct seen *seen)
{
    char path[300], name[40];
    struct statx found;
    snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *dir = opendir(path);
    if (!dir) {
        seen->unread += errno != ENOENT && errno != ESRCH;
        return;
    }
    for (struct dirent *entry; !*seen->who && (entry = readdir(dir));)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            statx(dirfd(dir), entry->d_name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &found) == 0 &&
            is_target(&found, target)) {
            sysfile_text(name, sizeof name, "/proc/%s/comm", process);
            snprintf(seen->who, sizeof seen->who, "%.10s (%s)", process, name);
        }
    closedir(dir);
}

static struct seen look(const struct target *target)
{
    struct seen seen = {"", 0};
    DIR *all = opendir("/proc");
    if (!all)
        seen.unread = 1;
    for (struct dirent *entry; all && !*seen.who && (entry = readdir(all));)
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
            look_at(entry->d_name, target, &seen);
    if (all)
        closedir(all);
    return seen;
}

void use_check_open(const struct target *target)
{
    struct seen seen = look(target);
    for (int i = 1; i < LOOKS && *seen.who; i++) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        seen = look(target);
    }
    if (*seen.who)
        check(target, "open-elsewhere", UNSAFE, "process %s has it open; end that process first", seen.who);
    else if (seen.unread && target_is_private(target))
        check(target, "open-elsewhere", SAFE, "no process of this account has it open, and no other account can enter its folder");
    else if (seen.unread)
        check(target, "open-elsewhere", UNKNOWN,
              "the open files of %d other processes are not visible to this account, only to root", seen.unread);
    else
        check(target, "open-elsewhere", SAFE, "no other process has it open");
}
