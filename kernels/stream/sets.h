/* What is measured: working sets, each with a width of its loads and stores, and the order of their values. */
#ifndef STREAM_SETS_H
#define STREAM_SETS_H

#include "kit/opts.h"
#include "kit/traffic.h"
#include "vector.h"

#define SETS_LABEL_MAX 32

struct set {
    uint64_t size; /* bytes per thread, all arrays together */
    enum vector_isa isa;
    char label[SETS_LABEL_MAX]; /* name for the samples; empty if none was given */
};

/* A value: a working set with a traffic pattern. */
struct value {
    const struct set *set;
    const struct traffic *traffic;
};

/* Combines --sizes, --width and --labels: one width for all, or one for each size. Ends the program with 2 if the lists do not
 * match, and with 3 if the processor does not support a width. */
void sets_settle(struct set *sets, const struct opt_list *sizes, const struct opt_words *widths, const char *labels);

/* Lists every set with every traffic pattern in a random order, or as given if `seed` is 0. `values` has sets x traffic items. */
void sets_order(struct value *values, const struct set *sets, size_t count, const struct opt_words *traffic, uint64_t seed);

#endif
