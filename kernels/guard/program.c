#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit/fail.h"
#include "program.h"

#define ORPHANS_TRIES 200 /* limited, because a process that waits for a drive cannot be killed */
#define ORPHANS_PAUSE_NS 10000000

static sigset_t awaited(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Creates a pipe with both ends above the program's descriptors, so that these do not replace them. */
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

static pid_t make_process(void)
{
    pid_t pid = fork();
    if (pid < 0)
        fail(EXIT_ENVIRONMENT, "cannot create a process: %s", strerror(errno));
    return pid;
}

static bool redirect(int fd, const char *path, int flags)
{
    int opened = open(path, flags, 0644);
    bool done = opened >= 0 && dup2(opened, fd) == fd;
    if (opened > fd)
        close(opened);
    return done;
}

/* Prepares the new process and starts the program in it. */
static bool settle(const struct target *targets, size_t count, const char *stdout_file)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    if (sigprocmask(SIG_SETMASK, &none, NULL) != 0 || !redirect(STDIN_FILENO, "/dev/null", O_RDONLY) ||
        !redirect(STDOUT_FILENO, stdout_file, O_WRONLY | O_CREAT | O_TRUNC))
        return false;
    for (size_t i = 0; i < count; i++)
        if (dup2(targets[i].handle, FIRST_HANDLE + (int)i) < 0)
            return false;
    return true;
}

__attribute__((noreturn)) static void become(char **argv, const struct target *targets, size_t count, const char *stdout_file,
                                             pid_t parent, int go, int failed)
{
    char byte;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || read(go, &byte, 1) != 1)
        _exit(EXIT_ENVIRONMENT);
    if (settle(targets, count, stdout_file))
        execvp(argv[0], argv);
    int why = errno;
    _exit(write(failed, &why, sizeof why) == sizeof why ? EXIT_ENVIRONMENT : EXIT_SELF_CHECK);
}

/* Waits for the message that the program has ended. If this process disappears without sending the message, kills the program and
 * its children. The claims are held until then, because the keeper has inherited the descriptors. */
__attribute__((noreturn)) static void keep(const struct program *program, int released)
{
    char byte;
    setsid();
    redirect(STDIN_FILENO, "/dev/null", O_RDWR);
    dup2(STDIN_FILENO, STDOUT_FILENO);
    dup2(STDIN_FILENO, STDERR_FILENO);
    if (read(released, &byte, 1) != 1) {
        kill(-program->pid, SIGKILL);
        account_close(&program->account);
    }
    _exit(0);
}

struct program program_prepare(char **argv, const struct target *targets, size_t count, const char *stdout_file)
{
    struct program program = {0};
    int go[2], failed[2], release[2];
    sigset_t set = awaited();
    pid_t self = getpid();
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody waits for the result any more, so stop writing to the drive */
    make_pipe(go);
    make_pipe(failed);
    program.pid = make_process();
    if (program.pid == 0) {
        close(go[1]);
        become(argv, targets, count, stdout_file, self, go[0], failed[1]);
    }
    setpgid(program.pid, program.pid);
    close(go[0]);
    close(failed[1]);
    program.go = go[1];
    program.failed = failed[0];
    program.account = account_open(program.pid);
    make_pipe(release);
    program.keeper = make_process();
    if (program.keeper == 0) {
        close(release[1]);
        close(program.go);
        keep(&program, release[0]);
    }
    close(release[0]);
    program.release = release[1];
    return program;
}

void program_begin(struct program *program)
{
    int why = 0;
    if (write(program->go, "", 1) != 1)
        fail(EXIT_ENVIRONMENT, "the program's process no longer exists: %s", strerror(errno));
    if (read(program->failed, &why, sizeof why) == sizeof why)
        fail(EXIT_ENVIRONMENT, "the program cannot be run: %s", strerror(why));
    close(program->go);
    close(program->failed);
}

/* Whether the program has ended. Its orphans become children of this process, which reaps them. */
static bool has_ended(const struct program *program)
{
    for (;;) {
        siginfo_t child = {0};
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0)
            return false;
        if (child.si_pid == program->pid)
            return true;
        waitpid(child.si_pid, NULL, 0);
    }
}

enum event program_wait(struct program *program, int64_t ns)
{
    sigset_t set = awaited();
    struct timespec time = {ns > 0 ? ns / 1000000000 : 0, ns > 0 ? ns % 1000000000 : 0};
    int got = sigtimedwait(&set, NULL, &time);
    if (got == SIGINT)
        return EVENT_INTERRUPT;
    if (got == SIGTERM || got == SIGHUP)
        return EVENT_TERMINATE;
    return got == SIGCHLD && has_ended(program) ? EVENT_ENDED : EVENT_NONE;
}

void program_signal(const struct program *program, int signal)
{
    kill(-program->pid, signal);
}

/* Kills orphans that left the group and the control group and became children of this process (proc(5): children). */
static void end_orphans(void)
{
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1)
        kill(pid, SIGKILL);
    if (file)
        fclose(file);
}

/* The number of the group is not reused until its first process is reaped. */
void program_reap(struct program *program)
{
    int status = 0;
    program_signal(program, SIGKILL);
    account_close(&program->account);
    waitpid(program->pid, &status, 0);
    program->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (write(program->release, "", 1) != 1)
        kill(program->keeper, SIGKILL);
    waitpid(program->keeper, NULL, 0);
    pid_t gone = 1;
    for (int i = 0; i < ORPHANS_TRIES && gone >= 0; i++) {
        end_orphans();
        while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        nanosleep(&(struct timespec){0, gone == 0 ? ORPHANS_PAUSE_NS : 0}, NULL);
    }
}
