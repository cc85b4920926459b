/* The control group (version 2) that a container, a service or a batch system put this process into, and its memory limit. */
#ifndef KIT_CGROUP_H
#define KIT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/sysfile.h"

#define CGROUP_PATH_MAX 384 /* a longer path is taken as unknown */

/* The group's path below /sys/fs/cgroup, empty for the root, into CGROUP_PATH_MAX bytes; false if version 2 is not in use.
 * Beside version 1 its line is the last of several. */
static inline bool cgroup_own(char *group)
{
    char line[CGROUP_PATH_MAX + 4];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "0::/", 4) == 0;
    if (file)
        fclose(file);
    char *end = found ? strchr(line, '\n') : NULL;
    if (!end)
        return false;
    *end = '\0';
    const char *path = strcmp(line + 3, "/") == 0 ? "" : line + 3;
    memcpy(group, path, strlen(path) + 1);
    return true;
}

/* Bytes of page cache of a group, which make room when memory is needed. */
static inline int64_t cgroup_cache_bytes(const char *group)
{
    char path[512], line[128];
    int64_t bytes = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "active_file ", 12) == 0 || strncmp(line, "inactive_file ", 14) == 0)
            bytes += strtoll(strchr(line, ' '), NULL, 10);
    if (file)
        fclose(file);
    return bytes;
}

/* What one group still allows; -1 if it sets no limit. */
static inline int64_t cgroup_room(const char *group)
{
    char limit[32], used[32];
    sysfile_text(limit, sizeof limit, "/sys/fs/cgroup%s/memory.max", group);
    sysfile_text(used, sizeof used, "/sys/fs/cgroup%s/memory.current", group);
    if (*limit < '0' || *limit > '9' || *used == '\0')
        return -1;
    int64_t room = strtoll(limit, NULL, 10) - strtoll(used, NULL, 10) + cgroup_cache_bytes(group);
    return room > 0 ? room : 0;
}

/* The least that this process's group and those above it allow; -1 if none sets a limit. */
static inline int64_t cgroup_available_bytes(void)
{
    char group[CGROUP_PATH_MAX];
    int64_t least = -1;
    if (!cgroup_own(group))
        return -1;
    for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
        *end = '\0';
        int64_t room = cgroup_room(group);
        if (room >= 0 && (least < 0 || room < least))
            least = room;
        if (*group == '\0')
            return least;
    }
}

#endif
