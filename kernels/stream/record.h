/* A line of the output for what was seen of one loop; README.md says what each member means. */
#ifndef STREAM_RECORD_H
#define STREAM_RECORD_H

#include "stream/bench.h"

void record_print(const struct bench *bench, struct sample *sample);

#endif
