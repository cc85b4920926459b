/* The last-level cache, and the size of memory far beyond it. */
#ifndef KIT_LLC_H
#define KIT_LLC_H

#include <stdint.h>

#include "kit/sysfile.h"

#define LLC_MIB (1 << 20)
#define LLC_ASSUMED_BYTES (64 * LLC_MIB)

/* A dense chain of 4 last-level caches is far beyond the cache. At least 128 MiB, because fewer lines could be walked repeatedly
 * within the time of one size and stay in the cache. For a huge cache 2 suffice, because each line takes 50 ns to insert and to
 * verify. */
#define LLC_DENSE_FACTOR 4
#define LLC_DENSE_MIN_BYTES (128 * LLC_MIB)
#define LLC_DENSE_MODEST_BYTES (256 * LLC_MIB)
#define LLC_DENSE_HUGE_FACTOR 2

struct llc {
    int64_t bytes;
    const char *from; /* option, sysfs or assumed */
};

/* The largest data cache of `cpu` in sysfs; `asked` bytes instead if positive. */
static inline struct llc llc_find(int cpu, int64_t asked)
{
    struct llc llc = {0, "sysfs"};
    char text[32];
    if (asked > 0)
        return (struct llc){asked, "option"};
    for (int index = 0; index < 16; index++) {
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
        int64_t bytes = sysfile_scaled(text);
        llc.bytes = bytes > llc.bytes ? bytes : llc.bytes;
    }
    return llc.bytes > 0 ? llc : (struct llc){LLC_ASSUMED_BYTES, "assumed"};
}

/* Lines of the longest dense chain, one per `stride` bytes. */
static inline uint64_t llc_dense_lines(const struct llc *llc, int64_t stride)
{
    int64_t bytes = LLC_DENSE_FACTOR * llc->bytes, most = LLC_DENSE_HUGE_FACTOR * llc->bytes;
    most = most > LLC_DENSE_MODEST_BYTES ? most : LLC_DENSE_MODEST_BYTES;
    bytes = bytes < most ? bytes : most;
    bytes = bytes > LLC_DENSE_MIN_BYTES ? bytes : LLC_DENSE_MIN_BYTES;
    return (uint64_t)(bytes / stride > 2 ? bytes / stride : 2);
}

#endif
