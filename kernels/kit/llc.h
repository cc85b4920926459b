/* The last-level cache, and the number of lines with which memory is measured. */
#ifndef KIT_LLC_H
#define KIT_LLC_H

#include <stdint.h>

#include "kit/sysfile.h"

#define LLC_MIB (1 << 20)
#define LLC_ASSUMED_BYTES (64 * LLC_MIB)

/* The number of lines of the longest dense chain. In a longer chain, inserting and verifying a line would take 50 ns. The batches
 * of one size walk only a tenth of this number of lines, so that a cache of any size serves no line twice. */
#define LLC_DENSE_LINES (1 << 21)

struct llc {
    int64_t bytes;
    const char *from; /* option, sysfs or assumed */
};

/* The largest data cache of `cpu` in sysfs; `given` bytes instead if positive. */
static inline struct llc llc_find(int cpu, int64_t given)
{
    struct llc llc = {0, "sysfs"};
    char text[32];
    if (given > 0)
        return (struct llc){given, "option"};
    for (int index = 0; index < 16; index++) {
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
        int64_t bytes = sysfile_scaled(text);
        llc.bytes = bytes > llc.bytes ? bytes : llc.bytes;
    }
    return llc.bytes > 0 ? llc : (struct llc){LLC_ASSUMED_BYTES, "assumed"};
}

#endif
