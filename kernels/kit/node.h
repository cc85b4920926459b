/* Binding memory to a NUMA node without libnuma. */
#ifndef KIT_NODE_H
#define KIT_NODE_H

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit/fail.h"
#include "kit/sysfile.h"

#define NODE_MAX 1024
#define NODE_LONG_BITS (8 * sizeof(unsigned long))

__attribute__((noreturn)) static inline void node_refuse(int64_t node, const char *why)
{
    char online[128];
    sysfile_text(online, sizeof online, "/sys/devices/system/node/has_memory");
    fail(EXIT_ENVIRONMENT, "memory cannot be bound to node %lld: %s (nodes with memory: %s)", (long long)node, why,
         *online ? online : "unknown");
}

/* Ends the program with 3 if the system has no such node; a negative one means not bound. */
static inline void node_require(int64_t node)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", (int)node);
    if (node >= 0 && access("/sys/devices/system/node", F_OK) == 0 && access(path, F_OK) != 0)
        node_refuse(node, "the node does not exist");
}

/* Binds a range that has not been accessed yet to `node`; ends the program with 3 if that fails. */
static inline void node_bind(void *start, size_t bytes, int64_t node)
{
    unsigned long mask[NODE_MAX / NODE_LONG_BITS] = {0};
    mask[(size_t)node / NODE_LONG_BITS] = 1ul << ((size_t)node % NODE_LONG_BITS);
    if (syscall(SYS_mbind, start, bytes, MPOL_BIND, mask, NODE_MAX + 1, MPOL_MF_STRICT) != 0)
        node_refuse(node, strerror(errno));
}

/* Reads the nodes of 16 pages of a populated range; ends the program with 3 if one is on another node. */
static inline void node_check(char *start, size_t bytes, int64_t node)
{
    for (size_t i = 0; i < 16; i++) {
        int found = -1;
        char *address = start + bytes / 16 * i;
        if (syscall(SYS_get_mempolicy, &found, NULL, 0ul, address, MPOL_F_NODE | MPOL_F_ADDR) == 0 && found != node)
            fail(EXIT_ENVIRONMENT, "memory bound to node %lld was allocated on node %d", (long long)node, found);
    }
}

/* `node`; if negative, the node of the current CPU, or -1 if the system has only one. */
static inline int64_t node_or_here(int64_t node)
{
    char several[128];
    unsigned here = 0;
    if (node >= 0)
        return node;
    sysfile_text(several, sizeof several, "/sys/devices/system/node/has_memory");
    return strpbrk(several, ",-") && syscall(SYS_getcpu, NULL, &here, NULL) == 0 ? (int64_t)here : -1;
}

/* Available bytes of the system, or of the node if there are several; -1 if unknown. */
static inline int64_t node_available_bytes(int64_t node)
{
    char path[64], online[128];
    int64_t free_bytes, cached;
    sysfile_text(online, sizeof online, "/sys/devices/system/node/has_memory");
    if (node < 0 || !strpbrk(online, ",-"))
        return sysfile_kb("/proc/meminfo", "MemAvailable:");
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", (int)node);
    free_bytes = sysfile_kb(path, "MemFree:");
    cached = sysfile_kb(path, "Inactive(file):");
    return free_bytes < 0 ? -1 : free_bytes + (cached > 0 ? cached : 0);
}

#endif
