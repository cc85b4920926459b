#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/raid/md_u.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit/fail.h"
#include "kit/out.h"
#include "kit/sysfile.h"
#include "raid.h"
#include "superblock.h"

#define LAST_NUMBER 127 /* mdadm numbers unnamed arrays downward from here */
#define PAUSE_NS 100000000
#define STOP_TRIES 600 /* the array is in use until the program has ended, and the program may have to wait for a drive */
#define CLAIM_TRIES 50 /* udev opens an array when it appears, and members when they change */

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

/* Names the set after its members, so that it has the same identity each time. FNV-1a with two offsets. */
static void choose_uuid(struct raid *raid)
{
    uint64_t half[2] = {0xcbf29ce484222325, 0x84222325cbf29ce4};
    for (size_t i = 0; i < raid->count; i++)
        for (const char *at = raid->members[i].serial; *at; at++)
            for (int k = 0; k < 2; k++)
                half[k] = (half[k] ^ (unsigned char)*at) * 0x100000001b3;
    snprintf(raid->uuid, sizeof raid->uuid, "%08x:%08x:%08x:%08x", (unsigned)(half[0] >> 32), (unsigned)half[0],
             (unsigned)(half[1] >> 32), (unsigned)half[1]);
}

static void choose_name(struct raid *raid)
{
    char path[64];
    for (int number = LAST_NUMBER; number >= 0; number--) {
        snprintf(raid->name, sizeof raid->name, "md%d", number);
        snprintf(path, sizeof path, "/sys/block/%s", raid->name);
        if (access(path, F_OK) != 0)
            return;
    }
    fail(EXIT_ENVIRONMENT, "no free number for a RAID set: md0 to md%d exist", LAST_NUMBER);
}

/* mdadm and the md driver claim the members themselves, so this process gives up its claims. It keeps the devices open and
 * locked, so that udev does not assemble anything from them. If another process claims a member now, mdadm fails before it
 * writes anything. */
static void yield_claims(struct target *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        close(members[i].handle);
        int fd = target_open(&members[i], O_RDWR | O_NONBLOCK);
        members[i].handle = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_HANDLE + TARGETS_MAX);
        if (members[i].handle < 0)
            fail(EXIT_ENVIRONMENT, "%s can no longer be opened: %s", members[i].path, strerror(errno));
        close(fd);
        flock(members[i].handle, LOCK_EX | LOCK_NB);
    }
}

/* Whether there is an array of this name, all of whose devices are members of the set. With `all`, no member may be missing. */
static bool is_ours(const struct raid *raid, bool all)
{
    char path[64];
    struct devset slaves, members;
    devset_clear(&slaves);
    devset_clear(&members);
    snprintf(path, sizeof path, "/sys/block/%s/slaves", raid->name);
    blockdev_add_entries(path, "dev", &slaves);
    for (size_t i = 0; i < raid->count; i++)
        devset_add(&members, raid->members[i].device);
    for (size_t i = 0; i < slaves.count; i++)
        if (!devset_has(&members, slaves.devices[i]))
            return false;
    return all ? slaves.count == members.count : slaves.count > 0;
}

static void stop_array(const struct raid *raid)
{
    char path[32];
    snprintf(path, sizeof path, "/dev/%s", raid->name);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        ioctl(fd, STOP_ARRAY, NULL);
        close(fd);
    }
}

/* Waits until the process that runs the program has ended or closes the pipe, then removes the set. */
__attribute__((noreturn)) static void remove_later(const struct raid *raid, int release, int removed)
{
    char byte;
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (read(release, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < STOP_TRIES && is_ours(raid, false); i++) {
        stop_array(raid);
        if (is_ours(raid, false))
            pause_shortly();
    }
    if (is_ours(raid, false)) {
        fprintf(stderr, "guard: /dev/%s cannot be stopped; run mdadm --stop /dev/%s\n", raid->name, raid->name);
        _exit(EXIT_ENVIRONMENT);
    }
    bool erased = true;
    for (size_t i = 0; i < raid->count; i++)
        erased &= superblock_erase(&raid->members[i]);
    _exit(erased && write(removed, "", 1) == 1 ? 0 : EXIT_ENVIRONMENT);
}

/* Creates a pipe with both ends above the descriptors that the program inherits. */
static void make_pipe(int ends[2])
{
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0)
        fail(EXIT_ENVIRONMENT, "cannot create a pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, FIRST_HANDLE + TARGETS_MAX);
        if (ends[i] < 0)
            fail(EXIT_ENVIRONMENT, "cannot create a pipe: %s", strerror(errno));
        close(made[i]);
    }
}

/* Starts the remover before the set exists, so that a set never outlives both processes. The remover's parent ends at once, because
 * this process kills its own children when the program has ended. */
static void start_remover(struct raid *raid)
{
    int release[2], removed[2];
    make_pipe(release);
    make_pipe(removed);
    pid_t pid = fork();
    if (pid < 0)
        fail(EXIT_ENVIRONMENT, "cannot create a process: %s", strerror(errno));
    if (pid == 0) {
        close(release[1]);
        close(removed[0]);
        pid_t remover = fork();
        if (remover == 0)
            remove_later(raid, release[0], removed[1]);
        _exit(remover < 0 ? EXIT_ENVIRONMENT : 0);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        fail(EXIT_ENVIRONMENT, "cannot create the process that removes the RAID set");
    close(release[0]);
    close(removed[1]);
    raid->release = release[1];
    raid->removed = removed[0];
}

/* The arguments of mdadm. Members are named by their open descriptors. */
static void become_mdadm(const struct raid *raid)
{
    static char node[32], level[16], devices[24], chunk[32], uuid[48], paths[TARGETS_MAX][32];
    const char *arguments[TARGETS_MAX + 16];
    bool redundant = strcmp(raid->orders->level, "0") != 0;
    size_t count = 0;
    snprintf(node, sizeof node, "/dev/%s", raid->name);
    snprintf(level, sizeof level, "--level=%s", raid->orders->level);
    snprintf(devices, sizeof devices, "--raid-devices=%zu", raid->count);
    snprintf(chunk, sizeof chunk, "--chunk=%" PRId64, raid->orders->chunk_bytes / 1024);
    snprintf(uuid, sizeof uuid, "--uuid=%s", raid->uuid);
    const char *first[] = {raid->orders->mdadm, "--create", node, "--run", "--quiet", "--metadata=1.2", "--homehost=any",
                           "--name=" SUPERBLOCK_NAME, level, devices, uuid};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        arguments[count++] = first[i];
    if (redundant) {
        arguments[count++] = "--assume-clean";
        arguments[count++] = "--bitmap=none";
    }
    if (raid->orders->chunk_bytes > 0)
        arguments[count++] = chunk;
    for (size_t i = 0; i < raid->count; i++) {
        snprintf(paths[i], sizeof paths[i], "/proc/self/fd/%d", raid->members[i].handle);
        fcntl(raid->members[i].handle, F_SETFD, 0);
        arguments[count++] = paths[i];
    }
    arguments[count] = NULL;
    execv(raid->orders->mdadm, (char **)(uintptr_t)arguments);
}

static bool run_mdadm(const struct raid *raid)
{
    int status = 0;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, STDIN_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        if (getppid() == parent)
            become_mdadm(raid);
        fprintf(stderr, "guard: %s cannot be run: %s\n", raid->orders->mdadm, strerror(errno));
        _exit(EXIT_ENVIRONMENT);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool claim_array(struct raid *raid)
{
    int fd = -1;
    char path[32];
    snprintf(path, sizeof path, "/dev/%s", raid->name);
    for (int i = 0; i < CLAIM_TRIES && (fd = open(path, O_RDWR | O_EXCL | O_NONBLOCK | O_CLOEXEC)) < 0; i++)
        pause_shortly();
    if (fd < 0)
        return false;
    raid->target.handle = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_HANDLE + TARGETS_MAX);
    close(fd);
    return raid->target.handle >= 0 && ioctl(raid->target.handle, BLKGETSIZE64, &raid->target.bytes) == 0;
}

void raid_make(struct raid *raid, const struct raid_orders *orders, struct target *members, size_t count)
{
    raid->orders = orders;
    raid->members = members;
    raid->count = count;
    target_blank(&raid->target, raid->name);
    choose_uuid(raid);
    choose_name(raid);
    yield_claims(members, count);
    start_remover(raid);
    bool made = run_mdadm(raid);
    if (made && is_ours(raid, true) && claim_array(raid)) {
        devset_add(&raid->target.counted, blockdev_number(raid->name));
        return;
    }
    raid_remove(raid);
    fail(EXIT_ENVIRONMENT, made ? "the RAID set that mdadm created cannot be opened" : "mdadm cannot create the RAID set");
}

void raid_print(const struct raid *raid, const char *when)
{
    char text[64], path[32];
    struct out out = out_begin("device");
    snprintf(path, sizeof path, "/dev/%s", raid->name);
    out_text(&out, "when", when);
    out_text(&out, "path", path);
    out_text(&out, "real", path);
    out_text(&out, "kind", "block");
    out_integer(&out, "bytes", (int64_t)raid->target.bytes);
    out_text(&out, "raid_level", raid->orders->level);
    sysfile_text(text, sizeof text, "/sys/block/%s/md/chunk_size", raid->name);
    out_integer(&out, "raid_chunk", atoll(text));
    sysfile_text(text, sizeof text, "/sys/block/%s/md/sync_action", raid->name);
    out_text(&out, "raid_sync", *text ? text : "idle");
    sysfile_text(text, sizeof text, "/sys/block/%s/queue/logical_block_size", raid->name);
    out_integer(&out, "logical_block", atoll(text));
    out_array(&out, "members");
    for (size_t i = 0; i < raid->count; i++) {
        out_next(&out);
        out_quoted(raid->members[i].path);
    }
    out_close_array(&out);
    out_end();
}

void raid_remove(struct raid *raid)
{
    char byte;
    if (raid->target.handle >= 0)
        close(raid->target.handle);
    close(raid->release);
    if (read(raid->removed, &byte, 1) != 1)
        fail(EXIT_ENVIRONMENT, "the RAID set could not be removed; see stderr");
}
