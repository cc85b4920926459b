/* The program: a process group of its own, that ends with this one whatever ends it. */
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
    int go, release;         /* writing ends: to the program, to the keeper */
    int failed;              /* reading end: why the program could not be started */
    struct account account;
    int status;              /* exit status, or negative the signal that ended it */
};

enum event { EVENT_NONE, EVENT_ENDED, EVENT_INTERRUPT, EVENT_TERMINATE };

/* Makes its process, which waits to begin, and the keeper that ends it should this process vanish. */
struct program program_prepare(char **argv, const struct target *targets, size_t count, const char *stdout_file);

/* Lets it begin. Ends this process if it cannot be started. */
void program_begin(struct program *program);

/* Waits until the program has ended, a signal came, or so much time has passed. An ended program is still to be reaped. */
enum event program_wait(struct program *program, int64_t ns);

void program_signal(const struct program *program, int signal);

/* Ends what it left behind and takes its status. */
void program_reap(struct program *program);

#endif
