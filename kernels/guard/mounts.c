#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kit/fail.h"
#include "kit/sysfile.h"
#include "mounts.h"

/* Blank, tab, newline and backslash are written as \ooo in mountinfo (proc(5)). */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool escaped = from[0] == '\\' && strspn(from + 1, "01234567") >= 3;
        *to = escaped ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
}

/* `36 35 98:0 /root /point options optional... - type source options`. */
static bool read_line(char *line, struct mount *mount)
{
    unsigned high, low;
    int point, source;
    char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*d %*d %u:%u %*s %n", &high, &low, &point) != 2)
        return false;
    char *type = rest + 3, *end = strchr(type, ' ');
    if (!end)
        return false;
    source = (int)(end + 1 - type);
    *end = '\0';
    type[source + (int)strcspn(type + source, " \n")] = '\0';
    line[point + (int)strcspn(line + point, " ")] = '\0';
    *mount = (struct mount){makedev(high, low), strdup(line + point), strdup(type), strdup(type + source)};
    if (!mount->point || !mount->type || !mount->source)
        fail(EXIT_ENVIRONMENT, "not enough memory for the list of mounts");
    unescape(mount->point);
    unescape(mount->source);
    return true;
}

static void add_mount(struct mounts *mounts, struct mount mount)
{
    if ((mounts->count & (mounts->count - 1)) == 0) { /* grows at each power of two */
        size_t room = mounts->count ? 2 * mounts->count : 1;
        mounts->list = realloc(mounts->list, room * sizeof *mounts->list);
        if (!mounts->list)
            fail(EXIT_ENVIRONMENT, "not enough memory for the list of mounts");
    }
    mounts->list[mounts->count++] = mount;
}

const struct mounts *mounts_get(void)
{
    static struct mounts mounts;
    static bool done;
    char *line = NULL;
    size_t size = 0;
    if (done)
        return &mounts;
    done = true;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    mounts.known = file != NULL;
    while (file && getline(&line, &size, file) > 0) {
        struct mount mount;
        if (read_line(line, &mount))
            add_mount(&mounts, mount);
        else
            mounts.known = false;
    }
    if (file)
        fclose(file);
    free(line);
    return &mounts;
}

const struct mount *mounts_of(dev_t device)
{
    const struct mounts *mounts = mounts_get();
    for (size_t i = mounts->count; i-- > 0;) /* the last mount hides those before it */
        if (mounts->list[i].device == device)
            return &mounts->list[i];
    return NULL;
}

/* A btrfs of several devices names one of them as its source; /sys/fs/btrfs/<uuid>/devices lists all. */
static void add_btrfs(const char *name, struct devset *set)
{
    char path[PATH_MAX];
    DIR *all = opendir("/sys/fs/btrfs");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        snprintf(path, sizeof path, "/sys/fs/btrfs/%s/devices/%s", entry->d_name, name);
        if (entry->d_name[0] == '.' || access(path, F_OK) != 0)
            continue;
        snprintf(path, sizeof path, "/sys/fs/btrfs/%s/devices", entry->d_name);
        DIR *members = opendir(path);
        for (struct dirent *member; members && (member = readdir(members));)
            devset_add(set, blockdev_number(member->d_name));
        if (members)
            closedir(members);
    }
    if (all)
        closedir(all);
}

void mounts_add_devices(dev_t device, struct devset *set)
{
    char name[BLOCKDEV_NAME_MAX];
    struct stat found;
    const struct mount *mount = mounts_of(device);
    if (!*blockdev_name(device, name)) {
        if (!mount || mount->source[0] != '/' || stat(mount->source, &found) != 0 || !S_ISBLK(found.st_mode))
            return;
        device = found.st_rdev;
    }
    devset_add(set, device);
    if (mount && strcmp(mount->type, "btrfs") == 0)
        add_btrfs(blockdev_name(device, name), set);
}
