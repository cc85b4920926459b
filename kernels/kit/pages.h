/* Kinds of pages: base pages, transparent huge pages, and those of the two pools. */
#ifndef KIT_PAGES_H
#define KIT_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/sysfile.h"

#define ARENA_KINDS "auto 4k thp 2m 1g"

enum arena_kind { ARENA_BASE, ARENA_THP, ARENA_2M, ARENA_1G };

static inline const char *arena_kind_name(enum arena_kind kind)
{
    static const char *const names[] = {"4k", "thp", "2m", "1g"};
    return names[kind];
}

static inline int64_t arena_page_bytes(enum arena_kind kind)
{
    char text[32];
    if (kind == ARENA_2M)
        return 1 << 21;
    if (kind == ARENA_1G)
        return 1 << 30;
    if (kind == ARENA_BASE)
        return sysconf(_SC_PAGESIZE);
    sysfile_text(text, sizeof text, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    return *text ? strtoll(text, NULL, 10) : 1 << 21;
}

/* Whether pages of the kind come from a pool; others are allocated when memory is accessed. */
static inline bool arena_is_pool(enum arena_kind kind)
{
    return kind == ARENA_2M || kind == ARENA_1G;
}

/* Whether transparent pages are available; writes the reason if not. */
static inline bool arena_has_thp(char *why, size_t size)
{
    char text[64];
    sysfile_text(text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled");
    snprintf(why, size, "transparent huge pages are %s", *text ? "disabled" : "not supported by this system");
    return *text && !strstr(text, "[never]");
}

#endif
