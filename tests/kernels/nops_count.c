/* Runs a loop of 2 steps with each of several numbers of NOPs under a single-stepping tracer, and counts the NOPs that are executed. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nops.h"

#define STEPS 2

__attribute__((noinline)) static void stepped(uint64_t count)
{
    uint64_t rounds = count / NOPS_ROUND, entry = count % NOPS_ROUND, left, n, steps = STEPS, units = 1;
    __asm__ volatile(NOPS_PREPARE NOPS_STEP NOPS_RUN NOPS_STEP_AGAIN
                     : [entry] "+&r"(entry), [left] "=&r"(left), [n] "=&r"(n), [steps] "+&r"(steps)
                     : [rounds] "r"(rounds), [units] "r"(units)
                     : "cc", "memory");
}

/* Returns the number of one-byte NOPs that the child executes between two of its own stops. */
static uint64_t count_nops(uint64_t count, uint64_t *others)
{
    int status;
    uint64_t nops = 0;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        stepped(count);
        _exit(0);
    }
    *others = 0;
    waitpid(child, &status, 0);
    while (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        long code = ptrace(PTRACE_PEEKTEXT, child, (void *)registers.rip, NULL);
        if ((code & 0xff) == 0x90)
            nops++;
        else
            ++*others;
    }
    return nops;
}

int main(void)
{
    static const uint64_t counts[] = {0, 1, 2, 10, 63, 64, 65, 127, 128, 500, 900};
    uint64_t frame, unused, rest;
    count_nops(0, &frame);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t nops = count_nops(counts[i], &unused);
        rest = unused - frame - STEPS * 2 * (counts[i] / NOPS_ROUND);
        if (nops != STEPS * counts[i] || rest != 0) {
            printf("%llu asked, %llu executed, %lld others\n", (unsigned long long)(STEPS * counts[i]), (unsigned long long)nops,
                   (long long)rest);
            return 1;
        }
    }
    puts("ok");
    return 0;
}
