/* A program given by the user, run on the latency CPU while the load threads are at work. */
#ifndef LOAD_WORKLOAD_H
#define LOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct workload {
    char *const *command; /* ends with NULL */
    int64_t cpu;
    pid_t keeper; /* the process that started it and ends what it leaves behind */
    int told;     /* where the keeper writes how it ended */
    uint64_t started_ns;
};

/* Starts it, bound to its CPU, with nothing on its input and its output thrown away. When it ends, or this program does, all
 * processes that it started are killed. */
void workload_start(struct workload *workload);

/* Whether it has ended, and how long it took if so. Ends the program with 3 if it failed, or
 * could not be started. */
bool workload_ended(struct workload *workload, uint64_t *taken_ns);

#endif
