#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "superblock.h"

#define SUPERBLOCK_AT 4096 /* metadata 1.2 (include/uapi/linux/raid/md_p.h) */
#define SUPERBLOCK_BYTES 4096
#define NAME_AT 32
#define NAME_BYTES 32
#define CLAIM_TRIES 50 /* udev opens members when they change */
#define PAUSE_NS 100000000

bool superblock_is_ours(const struct extent *extent)
{
    const unsigned char *superblock = extent_at(extent, SUPERBLOCK_AT, SUPERBLOCK_BYTES);
    return superblock && memcmp(superblock, "\xfc\x4e\x2b\xa9", 4) == 0 &&
           memmem(superblock + NAME_AT, NAME_BYTES, SUPERBLOCK_NAME, strlen(SUPERBLOCK_NAME)) != NULL;
}

bool superblock_left_on(const struct target *target)
{
    struct extent block;
    int fd = target_open(target, O_RDONLY | O_NONBLOCK | O_DIRECT);
    bool found = fd >= 0 && extent_read(fd, SUPERBLOCK_AT, SUPERBLOCK_BYTES, &block);
    if (found) {
        found = superblock_is_ours(&block);
        extent_free(&block);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

bool superblock_erase(const struct target *member)
{
    int fd = -1;
    struct extent block;
    for (int i = 0; i < CLAIM_TRIES && (fd = target_open(member, O_RDWR | O_EXCL | O_DIRECT | O_SYNC)) < 0; i++)
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    bool done = fd >= 0 && extent_read(fd, SUPERBLOCK_AT, SUPERBLOCK_BYTES, &block);
    if (done) {
        bool ours = superblock_is_ours(&block);
        memset(block.content, 0, SUPERBLOCK_BYTES);
        done = !ours || pwrite(fd, block.content, SUPERBLOCK_BYTES, SUPERBLOCK_AT) == SUPERBLOCK_BYTES;
        extent_free(&block);
    }
    if (!done)
        fprintf(stderr, "guard: the superblock of %s cannot be erased: %s; run mdadm --zero-superblock %s\n", member->path,
                strerror(errno), member->path);
    if (fd >= 0)
        close(fd);
    return done;
}
