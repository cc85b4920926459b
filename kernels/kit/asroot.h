/* A measurement kernel that runs as root through sudo, and ends when the account's process that started it ends.
 *
 * A process started by sudo belongs to root: the account cannot send it signals, and it continues even if the process that started
 * it ends. Therefore, the kernel is started twice. With `--sudo FILES` as its first options, it runs under the account: it creates
 * FILES, so that the account can read what root writes there, and restarts itself through `sudo -n` with `--lifeline` as the first
 * option. The lifeline is the standard input of the new process: a pipe whose other end is open only in the account's process. When
 * that end closes (because of a signal, SIGKILL, or the end of the parent), the process running as root receives SIGTERM. This
 * requires neither a thread nor polling, so it does not affect the measurement. */
#ifndef KIT_ASROOT_H
#define KIT_ASROOT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/fail.h"

#define ASROOT_FILES_MAX 32

/* Creates the files of a list `a,b,c` that do not exist; `made` lists them. */
static inline size_t asroot_make(char *list, const char **made)
{
    size_t count = 0;
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            fail(EXIT_ENVIRONMENT, "--sudo: %s cannot be created: %s", name, strerror(errno));
        if (file < 0)
            continue;
        close(file);
        if (count == ASROOT_FILES_MAX)
            fail(EXIT_USAGE, "--sudo: more than %d files", ASROOT_FILES_MAX);
        made[count++] = name;
    }
    return count;
}

/* Removes created files to which nothing was written. */
static inline void asroot_unmake(const char **made, size_t count)
{
    struct stat found;
    for (size_t i = 0; i < count; i++)
        if (stat(made[i], &found) == 0 && found.st_size == 0)
            unlink(made[i]);
}

/* `PROGRAM --sudo FILES OPTION...` becomes `sudo -n -- PROGRAM --lifeline OPTION...`. */
__attribute__((noreturn)) static inline void asroot_become(char **argv, int lifeline)
{
    size_t count = 0;
    while (argv[3 + count])
        count++;
    char **words = calloc(count + 6, sizeof *words);
    if (!words || dup2(lifeline, STDIN_FILENO) < 0)
        fail(EXIT_ENVIRONMENT, "--sudo: %s", strerror(errno));
    char *head[] = {"sudo", "-n", "--", argv[0], "--lifeline"};
    memcpy(words, head, sizeof head);
    memcpy(words + 5, argv + 3, count * sizeof *words);
    execvp(words[0], words);
    fail(EXIT_ENVIRONMENT, "sudo cannot be run: %s", strerror(errno));
}

/* Waits for the child and returns its status; a signal to end closes the lifeline. */
static inline int asroot_wait(pid_t child, int lifeline, const sigset_t *awaited)
{
    int status = 0;
    for (;;) {
        int got = sigwaitinfo(awaited, NULL);
        if (got == SIGCHLD && waitpid(child, &status, WNOHANG) == child)
            return status;
        if (got > 0 && got != SIGCHLD && lifeline >= 0) {
            close(lifeline);
            lifeline = -1;
        }
    }
}

/* The process that runs under the account, until the program ends. */
__attribute__((noreturn)) static inline void asroot_run(char **argv)
{
    static const int awaited[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    const char *made[ASROOT_FILES_MAX];
    int ends[2];
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof awaited / sizeof *awaited; i++) {
        signal(awaited[i], SIG_DFL);
        sigaddset(&set, awaited[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &before);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    size_t count = asroot_make(argv[2], made);
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail(EXIT_ENVIRONMENT, "--sudo: cannot create a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        fail(EXIT_ENVIRONMENT, "--sudo: cannot create a process: %s", strerror(errno));
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        asroot_become(argv, ends[0]);
    }
    close(ends[0]);
    int status = asroot_wait(child, ends[1], &set);
    asroot_unmake(made, count);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        raise(WTERMSIG(status));
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ENVIRONMENT);
}

/* The process that runs as root receives SIGTERM once the other end of its standard input is closed. */
static inline void asroot_hold(void)
{
    struct stat input;
    struct pollfd end = {STDIN_FILENO, 0, 0};
    if (fstat(STDIN_FILENO, &input) != 0 || !S_ISFIFO(input.st_mode))
        fail(EXIT_ENVIRONMENT, "--lifeline: standard input is not a pipe");
    if (fcntl(STDIN_FILENO, F_SETOWN, getpid()) != 0 || fcntl(STDIN_FILENO, F_SETSIG, SIGTERM) != 0 ||
        fcntl(STDIN_FILENO, F_SETFL, O_ASYNC) != 0)
        fail(EXIT_ENVIRONMENT, "--lifeline: %s", strerror(errno));
    if (poll(&end, 1, 0) > 0)
        fail(EXIT_ENVIRONMENT, "--lifeline: standard input has ended");
}

/* Handles the options before those of the kernel and returns their number of words. `argv` ends with NULL. */
static inline int asroot_take(char **argv)
{
    if (argv[0] && argv[1] && strcmp(argv[1], "--sudo") == 0) {
        if (!argv[2])
            fail(EXIT_USAGE, "--sudo needs a value");
        asroot_run(argv);
    }
    if (!argv[0] || !argv[1] || strcmp(argv[1], "--lifeline") != 0)
        return 0;
    asroot_hold();
    return 1;
}

#endif
