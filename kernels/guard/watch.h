/* Runs the program, and samples the machine in the meantime. */
#ifndef WATCH_H
#define WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "program.h"
#include "settle.h"
#include "target.h"

struct orders {
    int64_t sample_ms;
    int64_t stop_ppm, stop_min_ms, stop_min_ios;
    int64_t max_write_bytes; /* 0: no limit */
    const struct target *array; /* the RAID set over the targets; NULL: there is none */
};

/* Prints `ready`, the samples and `exit`. */
void watch(struct program *program, const struct target *targets, size_t count, const struct orders *orders);

#endif
