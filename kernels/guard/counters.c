#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "counters.h"
#include "kit/sysfile.h"

#define UNIT 512 /* the Linux kernel counts in sectors of this size on every device (Documentation/block/stat.rst) */

/* reads, merged, sectors, ms; the same for writes; in flight, busy ms, queue ms; the first four for discards (since Linux 4.18). */
static bool add(dev_t device, int64_t counters[COUNTERS])
{
    char text[512];
    int64_t v[15] = {0};
    sysfile_text(text, sizeof text, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    int got = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                     " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &v[0], &v[1], &v[2], &v[3], &v[4],
                     &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12], &v[13]);
    const int64_t found[COUNTERS] = {v[0], v[2] * UNIT, v[4], v[6] * UNIT, v[11], v[13] * UNIT, v[9]};
    for (int i = 0; i < COUNTERS; i++)
        counters[i] += found[i];
    return got >= 11;
}

bool counters_read(const struct devset *set, int64_t counters[COUNTERS])
{
    bool known = true;
    memset(counters, 0, COUNTERS * sizeof *counters);
    for (size_t i = 0; i < set->count; i++)
        known &= add(set->devices[i], counters);
    return known;
}
