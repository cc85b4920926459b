/* The program. It leads a process group, which is killed when this process ends for any reason. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "account.h"
#include "target.h"

struct program {
    pid_t pid, keeper;
    int go, release;         /* write ends of the pipes to the program and to the keeper */
    int failed;              /* read end: the reason why the program could not be started */
    struct account account;
    int status;              /* exit status, or the negated number of the signal that killed it */
};

enum event { EVENT_NONE, EVENT_ENDED, EVENT_INTERRUPT, EVENT_TERMINATE };

/* Creates the process of the program, which waits to start, and the keeper, which kills it if this process disappears. */
struct program program_prepare(char **argv, const struct target *targets, size_t count, const char *stdout_file);

/* Starts the program. Ends this process if that fails. */
void program_begin(struct program *program);

/* Waits until the program has ended, a signal has arrived, or the time has passed. Does not reap the program. */
enum event program_wait(struct program *program, int64_t ns);

void program_signal(const struct program *program, int signal);

/* Kills the processes that the program left behind, and reads the program's exit status. */
void program_reap(struct program *program);

#endif
