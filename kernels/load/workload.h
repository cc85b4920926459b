/* A program supplied by the user, which runs on the latency CPU while the load threads are active. */
#ifndef LOAD_WORKLOAD_H
#define LOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct workload {
    char *const *command; /* ends with NULL */
    int64_t cpu;
    pid_t keeper; /* the process that started it and kills the processes it leaves behind */
    int told;     /* pipe from the keeper with the result */
    uint64_t started_ns;
};

/* Starts the workload bound to its CPU, with empty input and discarded output. When it or this program ends, all processes that
 * it started are killed. */
void workload_start(struct workload *workload);

/* Returns whether the workload has ended, and stores its duration. Ends the program with 3 if the workload failed or could not be
 * started. */
bool workload_ended(struct workload *workload, uint64_t *taken_ns);

#endif
