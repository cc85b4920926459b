/* The line of the output for the measurement of one loop; README.md describes its members. */
#ifndef STREAM_RECORD_H
#define STREAM_RECORD_H

#include "stream/bench.h"

void record_print(const struct bench *bench, struct sample *sample);

#endif
