#include "load/workload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/affinity.h"
#include "kit/fail.h"
#include "kit/timer.h"

#define ORPHANS_MS 2000 /* time after which processes that cannot be killed, such as those of another user, are ignored */

/* The keeper's message: why the workload could not be started, or 0 with its status and the time of its end. */
struct ending {
    int error, status;
    uint64_t ns;
};

static void tell(int to, struct ending ending)
{
    if (write(to, &ending, sizeof ending) != sizeof ending)
        _exit(126);
}

/* Sends SIGKILL to the children of this process; false if they cannot be listed. */
static bool kill_children(void)
{
    char text[4096];
    int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length < 0)
        return false;
    text[length] = '\0';
    char *at = text, *end;
    for (long child = strtol(at, &end, 10); *end == ' '; at = end + 1, child = strtol(at, &end, 10))
        kill((pid_t)child, SIGKILL); /* a number cut off at the end of the text is read completely the next time */
    return true;
}

/* Kills all processes that the workload started: orphans become children of the keeper. */
static void end_orphans(void)
{
    for (int ms = 0; ms < ORPHANS_MS && kill_children(); ms++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0)
            return;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Becomes the workload, on the CPU in `set`. Only system calls are allowed here and in the keeper, because another thread may have
 * held a lock at the time of the fork. */
__attribute__((noreturn)) static void become(const struct workload *workload, const cpu_set_t *set, size_t size, int told)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && sched_setaffinity(0, size, set) == 0)
        execvp(workload->command[0], workload->command);
    tell(told, (struct ending){errno, 0, 0});
    _exit(127);
}

/* The keeper: leads a session, so that a signal to the group of this program leaves it time to clean up. */
__attribute__((noreturn)) static void keep(const struct workload *workload, const cpu_set_t *set, size_t size, pid_t parent,
                                           int told)
{
    sigset_t awaited;
    int status = 0, number = 0;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pid_t child = getppid() == parent ? fork() : -1, ended = 0;
    if (child == 0)
        become(workload, set, size, told);
    if (child < 0)
        tell(told, (struct ending){errno, 0, 0});
    while (child > 0 && number != SIGTERM && ended != child) {
        sigwait(&awaited, &number);
        do
            ended = waitpid(-1, &status, WNOHANG);
        while (ended > 0 && ended != child);
    }
    if (ended == child)
        tell(told, (struct ending){0, status, timer_monotonic_ns()});
    end_orphans();
    _exit(0);
}

void workload_start(struct workload *workload)
{
    int told[2];
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    pid_t parent = getpid();
    if (!set || pipe2(told, O_CLOEXEC) != 0)
        fail(EXIT_ENVIRONMENT, "the workload cannot be started: %s", strerror(errno));
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)workload->cpu, size, set);
    workload->started_ns = timer_monotonic_ns();
    workload->keeper = fork();
    if (workload->keeper == 0)
        keep(workload, set, size, parent, told[1]);
    if (workload->keeper < 0)
        fail(EXIT_ENVIRONMENT, "the workload %s cannot be started: %s", workload->command[0], strerror(errno));
    workload->told = told[0];
    close(told[1]);
    CPU_FREE(set);
}

bool workload_ended(struct workload *workload, uint64_t *taken_ns)
{
    struct ending ending;
    if (waitpid(workload->keeper, NULL, WNOHANG) == 0)
        return false;
    if (read(workload->told, &ending, sizeof ending) != sizeof ending)
        fail(EXIT_ENVIRONMENT, "the workload %s was lost: the process that waited for it was killed", workload->command[0]);
    close(workload->told);
    if (ending.error)
        fail(EXIT_ENVIRONMENT, "the workload %s cannot be started: %s", workload->command[0], strerror(ending.error));
    if (WIFSIGNALED(ending.status))
        fail(EXIT_ENVIRONMENT, "the workload %s was terminated by signal %d", workload->command[0], WTERMSIG(ending.status));
    if (WEXITSTATUS(ending.status) != 0)
        fail(EXIT_ENVIRONMENT, "the workload %s ended with status %d", workload->command[0], WEXITSTATUS(ending.status));
    *taken_ns = ending.ns - workload->started_ns;
    return true;
}
