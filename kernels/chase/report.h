/* The lines of the output; README.md says what each member means. */
#ifndef CHASE_REPORT_H
#define CHASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "chase/measure.h"
#include "kit/timer.h"

struct sample {
    bool refined;
    uint64_t span_bytes, setup_ns, elapsed_ns;
    const struct chain *chain;
    const struct measured *measured;
};

void report_sample(const struct sample *sample, const struct timer *timer);

#endif
