/* CPU time by the kernel's own accounts in nanoseconds, of the program with all that it starts, and of the whole machine with the
 * kernel's threads. Ticks of /proc/stat miss a quarter of a load that sleeps often. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>

struct account {
    char folder[512]; /* of the program's own group; empty if none may be made */
    int unified;      /* version 2 */
};

/* Makes a group below this process's own and puts a process into it. */
struct account account_open(pid_t pid);

/* Totals; -1 where they cannot be read. */
int64_t account_program_ns(const struct account *account);
int64_t account_host_ns(void);

/* Ends what is still in the group, and takes it away. */
void account_close(const struct account *account);

#endif
