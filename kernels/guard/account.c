#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "kit/cgroup.h"

#define CLASSIC "/sys/fs/cgroup/cpuacct"
#define UNIFIED "/sys/fs/cgroup"
#define NAME "asct-guard-"
#define CLOSE_TRIES 200 /* a killed process leaves its group only when it has ended */
#define CLOSE_PAUSE_NS 10000000

/* Reads the number after `key` from a file of a control group. */
static int64_t number_of(const char *folder, const char *file, const char *key)
{
    char path[600], line[128];
    int64_t value = -1;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "re");
    while (stream && value < 0 && fgets(line, sizeof line, stream))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoll(line + strlen(key), NULL, 10);
    if (stream)
        fclose(stream);
    return value;
}

static int64_t usage_of(const char *folder, int unified)
{
    if (!unified)
        return number_of(folder, "cpuacct.usage", "");
    int64_t us = number_of(folder, "cpu.stat", "usage_usec ");
    return us < 0 ? -1 : us * 1000;
}

static bool enter(const struct account *account, pid_t pid)
{
    char path[600], text[24];
    snprintf(path, sizeof path, "%s/cgroup.procs", account->folder);
    int length = snprintf(text, sizeof text, "%d", (int)pid), fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, (size_t)length) == length;
    if (fd >= 0)
        close(fd);
    return done;
}

/* Removes the groups of guards that were killed together with the process that would have removed the group. A group
 * that contains processes cannot be removed. */
static void remove_abandoned(const char *parent)
{
    DIR *directory = opendir(parent);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        int owner = 0;
        if (sscanf(entry->d_name, NAME "%d", &owner) == 1 && owner > 0 && kill(owner, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    if (directory)
        closedir(directory);
}

static bool open_in(struct account *account, const char *root, const char *line, pid_t pid)
{
    char group[CGROUP_PATH_MAX], parent[CGROUP_PATH_MAX + sizeof CLASSIC];
    if (!cgroup_own(line, group))
        return false;
    snprintf(parent, sizeof parent, "%s%s", root, group);
    remove_abandoned(parent);
    snprintf(account->folder, sizeof account->folder, "%s/" NAME "%d", parent, (int)getpid());
    if (mkdir(account->folder, 0755) != 0)
        return false;
    if (enter(account, pid) && usage_of(account->folder, account->unified) >= 0)
        return true;
    account_close(account);
    return false;
}

struct account account_open(pid_t pid)
{
    struct account account = {"", 0};
    if (open_in(&account, CLASSIC, "cpuacct:", pid))
        return account;
    account.unified = 1;
    if (!open_in(&account, UNIFIED, "0::", pid))
        account.folder[0] = '\0';
    return account;
}

int64_t account_program_ns(const struct account *account)
{
    return *account->folder ? usage_of(account->folder, account->unified) : -1;
}

int64_t account_host_ns(void)
{
    int64_t classic = usage_of(CLASSIC, 0);
    return classic < 0 ? usage_of(UNIFIED, 1) : classic;
}

static void kill_all(const struct account *account)
{
    char path[600], line[32];
    snprintf(path, sizeof path, "%s/cgroup.procs", account->folder);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (atoi(line) > 1 && atoi(line) != getpid())
            kill(atoi(line), SIGKILL);
    if (file)
        fclose(file);
}

void account_close(const struct account *account)
{
    if (!*account->folder)
        return;
    for (int i = 0; i < CLOSE_TRIES && rmdir(account->folder) != 0 && errno == EBUSY; i++) {
        kill_all(account);
        nanosleep(&(struct timespec){0, CLOSE_PAUSE_NS}, NULL);
    }
}
