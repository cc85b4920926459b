/* The last-level cache, and the number of lines with which memory is measured. */
#ifndef KIT_LLC_H
#define KIT_LLC_H

#include <stdint.h>

#include "kit/sysfile.h"

#define LLC_MIB (1 << 20)
#define LLC_ASSUMED_BYTES (64 * LLC_MIB)

/* The number of lines of the longest dense chain. Inserting and verifying a line of a longer one would take 50 ns. This is ten
 * times the number of lines that the batches of one size walk, so that the cache serves no line twice, whatever its size. */
#define LLC_DENSE_LINES (1 << 21)

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

#endif
