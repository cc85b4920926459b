/* The control group that a container, a service or a batch system put this process into, and its memory limit. */
#ifndef KIT_CGROUP_H
#define KIT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/sysfile.h"

#define CGROUP_PATH_MAX 384 /* a longer path is treated as unknown */

/* The location and the names of a version's memory files. */
struct cgroup_version {
    const char *line; /* in /proc/self/cgroup, before the path */
    const char *root, *limit, *used, *active, *inactive;
};

#define CGROUP_2 {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "active_file ", "inactive_file "}
#define CGROUP_1                                                                                                          \
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file ",         \
     "total_inactive_file "}

/* Copies the group's path below the root (empty for the root itself) to `group`, which has CGROUP_PATH_MAX bytes. Returns false if
 * `line` is not in use. If version 1 is in use as well, the line of version 2 is the last of several. */
static inline bool cgroup_own(const char *line, char *group)
{
    char text[CGROUP_PATH_MAX + 16], *path = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !path && fgets(text, sizeof text, file))
        path = strstr(text, line);
    if (file)
        fclose(file);
    char *end = path ? strchr(path, '\n') : NULL;
    if (!end || end - path >= CGROUP_PATH_MAX)
        return false;
    *end = '\0';
    path += strlen(line);
    path += strcmp(path, "/") == 0; /* the root */
    memcpy(group, path, strlen(path) + 1);
    return true;
}

/* Bytes of a group's page cache, which are freed when memory is needed. */
static inline int64_t cgroup_cache_bytes(const struct cgroup_version *version, const char *group)
{
    char path[512], line[128];
    int64_t bytes = 0;
    snprintf(path, sizeof path, "%s%s/memory.stat", version->root, group);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, version->active, strlen(version->active)) == 0 ||
            strncmp(line, version->inactive, strlen(version->inactive)) == 0)
            bytes += strtoll(strchr(line, ' '), NULL, 10);
    if (file)
        fclose(file);
    return bytes;
}

/* The bytes that one group still allows; -1 without a limit. */
static inline int64_t cgroup_room(const struct cgroup_version *version, const char *group)
{
    char limit[32], used[32];
    sysfile_text(limit, sizeof limit, "%s%s/%s", version->root, group, version->limit);
    sysfile_text(used, sizeof used, "%s%s/%s", version->root, group, version->used);
    if (*limit < '0' || *limit > '9' || *used == '\0')
        return -1;
    int64_t room = strtoll(limit, NULL, 10) - strtoll(used, NULL, 10) + cgroup_cache_bytes(version, group);
    return room > 0 ? room : 0;
}

/* The minimum that the group of this process and its parents allow; -1 without a limit. In a container, the path is often that
 * of the host; the container's group is then at the root. */
static inline int64_t cgroup_least_room(const struct cgroup_version *version)
{
    char group[CGROUP_PATH_MAX];
    int64_t least = -1;
    if (!cgroup_own(version->line, group))
        return -1;
    for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
        *end = '\0';
        int64_t room = cgroup_room(version, group);
        if (room >= 0 && (least < 0 || room < least))
            least = room;
        if (*group == '\0')
            return least;
    }
}

/* The bytes that the limits of both versions allow, because both may be in use at the same time; -1 without a limit. */
static inline int64_t cgroup_available_bytes(void)
{
    static const struct cgroup_version versions[] = {CGROUP_2, CGROUP_1};
    int64_t unified = cgroup_least_room(&versions[0]), classic = cgroup_least_room(&versions[1]);
    return unified < 0 || (classic >= 0 && classic < unified) ? classic : unified;
}

#endif
