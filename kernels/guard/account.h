/* The CPU time in nanoseconds that the Linux kernel accounts to the program and its children, and to the whole machine,
 * including kernel threads. The ticks in /proc/stat miss a quarter of the time of a load that sleeps often. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>

struct account {
    char folder[512]; /* folder of the program's control group; empty if the group cannot be created */
    int unified;      /* whether the group uses version 2 of control groups */
};

/* Creates a control group below the control group of this process, and moves a process into the new group. */
struct account account_open(pid_t pid);

/* Total CPU times; -1 if they cannot be read. */
int64_t account_program_ns(const struct account *account);
int64_t account_host_ns(void);

/* Kills the processes in the group and removes it. */
void account_close(const struct account *account);

#endif
