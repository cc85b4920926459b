#include "chase/quiet.h"

#define NEAR_NS 8                 /* a first- or second-level cache; a third-level one takes longer */
#define TOLERANCE 1.01            /* range of the latencies of one cache */
#define TOLERANCE_OF_BATCHES 1.02 /* range of the batches of one size; larger at the edge of a cache */
#define ROUNDS_MAX 5              /* each repeats a disturbed size at most once */

bool quiet_is_near(const struct record *record)
{
    return record->measured.fastest_ns < NEAR_NS;
}

bool quiet_is_disturbed(const struct record *record, double ceiling_ns)
{
    double median_ns = record->measured.load_ns.median;
    return median_ns > ceiling_ns * TOLERANCE || median_ns > record->measured.fastest_ns * TOLERANCE_OF_BATCHES;
}

void quiet_look_again(struct bench *bench, struct record *record, uint64_t *patience_ns)
{
    uint64_t before_ns = record->elapsed_ns;
    bench_again(bench, record);
    uint64_t taken_ns = record->elapsed_ns - before_ns;
    *patience_ns -= taken_ns < *patience_ns ? taken_ns : *patience_ns;
}

void quiet_settle(struct bench *bench, struct record *const *records, size_t count, uint64_t *patience_ns)
{
    bool looked = true;
    for (int round = 0; round < ROUNDS_MAX && looked; round++) {
        looked = false;
        double ceiling = count > 0 ? records[count - 1]->measured.load_ns.median : 0;
        for (size_t i = count; i-- > 0 && *patience_ns > 0;) {
            if (quiet_is_disturbed(records[i], ceiling)) {
                quiet_look_again(bench, records[i], patience_ns);
                looked = true;
            }
            if (records[i]->measured.load_ns.median < ceiling)
                ceiling = records[i]->measured.load_ns.median;
        }
    }
}
