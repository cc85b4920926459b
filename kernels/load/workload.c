#include "load/workload.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/affinity.h"
#include "kit/fail.h"
#include "kit/timer.h"

/* Between fork and exec, when other threads may have held any lock: system calls only. `set` has the one CPU. */
static void become(const struct workload *workload, const cpu_set_t *set, size_t size, pid_t parent, int errors)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && sched_setaffinity(0, size, set) == 0)
        execvp(workload->command[0], workload->command);
    int error = errno;
    if (write(errors, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

void workload_start(struct workload *workload)
{
    int errors[2], error = 0;
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    pid_t parent = getpid();
    if (!set || pipe2(errors, O_CLOEXEC) != 0)
        fail(EXIT_ENVIRONMENT, "the workload cannot be started: %s", strerror(errno));
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)workload->cpu, size, set);
    workload->started_ns = timer_monotonic_ns();
    workload->pid = fork();
    if (workload->pid == 0)
        become(workload, set, size, parent, errors[1]);
    close(errors[1]);
    if (workload->pid < 0 || read(errors[0], &error, sizeof error) > 0) /* a successful exec closes the pipe */
        fail(EXIT_ENVIRONMENT, "the workload %s cannot be started: %s", workload->command[0],
             strerror(workload->pid < 0 ? errno : error));
    close(errors[0]);
    CPU_FREE(set);
}

bool workload_ended(struct workload *workload, uint64_t *taken_ns)
{
    int status;
    pid_t ended = waitpid(workload->pid, &status, WNOHANG);
    if (ended == 0)
        return false;
    if (ended < 0)
        fail(EXIT_ENVIRONMENT, "the workload %s is lost: %s", workload->command[0], strerror(errno));
    *taken_ns = timer_monotonic_ns() - workload->started_ns;
    if (WIFSIGNALED(status))
        fail(EXIT_ENVIRONMENT, "the workload %s was ended by signal %d", workload->command[0], WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail(EXIT_ENVIRONMENT, "the workload %s ended with status %d", workload->command[0], WEXITSTATUS(status));
    return true;
}
