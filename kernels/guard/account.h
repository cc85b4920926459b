/* CPU time in nanoseconds as the Linux kernel accounts it: of the program and its children, and of the whole machine including
 * kernel threads. The ticks of /proc/stat miss a quarter of a load that sleeps often. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>

struct account {
    char folder[512]; /* of the program's group; empty if it cannot be created */
    int unified;      /* whether it is a group of version 2 */
};

/* Creates a group below that of this process and moves a process into it. */
struct account account_open(pid_t pid);

/* Total CPU times; -1 if they cannot be read. */
int64_t account_program_ns(const struct account *account);
int64_t account_host_ns(void);

/* Kills the processes in the group and removes it. */
void account_close(const struct account *account);

#endif
