/* The pages of a mapping according to /proc/self/smaps. */
#ifndef KIT_SMAPS_H
#define KIT_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct smaps {
    bool found;
    int64_t page_bytes; /* KernelPageSize; the smallest one if the range spans several mappings */
    int64_t huge_bytes; /* AnonHugePages, or bytes in pages of the pools */
};

static inline void smaps_add(struct smaps *sum, const char *line, bool pool)
{
    unsigned long long kb;
    if (sscanf(line, "KernelPageSize: %llu kB", &kb) == 1) {
        if (!sum->found || (int64_t)kb * 1024 < sum->page_bytes)
            sum->page_bytes = (int64_t)kb * 1024;
        sum->found = true;
    } else if (!pool && sscanf(line, "AnonHugePages: %llu kB", &kb) == 1) {
        sum->huge_bytes += (int64_t)kb * 1024;
    } else if (pool && (sscanf(line, "Private_Hugetlb: %llu kB", &kb) == 1 || sscanf(line, "Shared_Hugetlb: %llu kB", &kb) == 1)) {
        sum->huge_bytes += (int64_t)kb * 1024;
    }
}

/* Sums over the mappings that overlap start .. start + bytes. `pool` selects the kind of huge pages. */
static inline struct smaps smaps_read(const void *start, size_t bytes, bool pool)
{
    struct smaps sum = {false, -1, 0};
    char line[512];
    bool inside = false;
    unsigned long long first = (uintptr_t)start, last = first + bytes;
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long long low, high;
        if (sscanf(line, "%llx-%llx ", &low, &high) == 2)
            inside = low < last && high > first;
        else if (inside)
            smaps_add(&sum, line, pool);
    }
    if (file)
        fclose(file);
    return sum;
}

#endif
