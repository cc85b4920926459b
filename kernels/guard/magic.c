#include <string.h>

#include "magic.h"

/* A magic number and its position. `offset` counts from the start of the device or, if `align` is set, from its end. */
struct magic {
    const char *name;
    uint64_t offset;
    uint64_t align;      /* if `offset` counts from the end: the position is rounded down to a multiple of this; otherwise 0 */
    const char *bytes;
    uint8_t length;
    uint16_t within;     /* bytes from that position to the magic number */
    bool (*confirm)(const unsigned char *magic); /* a further condition, because two bytes match by chance too often */
};

static uint32_t little(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ext2/3/4: block size up to 64 KiB, revision 0 or 1 (kernel, fs/ext4/ext4.h: s_log_block_size at 24, s_magic at 56, s_rev_level
 * at 76). */
static bool is_ext(const unsigned char *magic)
{
    return little(magic - 56 + 24) <= 6 && little(magic - 56 + 76) <= 1;
}

/* A master boot record: each of the four entries is marked 00 or 80 (UEFI 2.10, 5.2.1), and one has a type. */
static bool is_mbr(const unsigned char *magic)
{
    const unsigned char *entry = magic - 510 + 446;
    bool used = false;
    for (int i = 0; i < 4; i++, entry += 16) {
        if (entry[0] != 0 && entry[0] != 0x80)
            return false;
        used |= entry[4] != 0;
    }
    return used;
}

/* HFS+: version 4, HFSX: version 5 (Apple, TN1150). */
static bool is_hfs_plus(const unsigned char *magic)
{
    return magic[2] == 0 && (magic[3] == 4 || magic[3] == 5);
}

/* HFS: allocation blocks of a multiple of 512 bytes, in the 32 bits at 20 (Inside Macintosh: Files, 2-60). */
static bool is_hfs(const unsigned char *magic)
{
    return (magic[23] == 0 && magic[22] % 2 == 0) && (magic[20] | magic[21] | magic[22]) != 0;
}

/* minix 1 and 2: zones of one block, state below 4 (kernel, include/uapi/linux/minix_fs.h: s_log_zone_size at 10, s_state at
 * 18). */
static bool is_minix(const unsigned char *magic)
{
    return magic[-6] == 0 && magic[-5] == 0 && magic[2] < 4 && magic[3] == 0;
}

/* minix 3: block size 1024 to 4096 at 28 (the magic is at 24). */
static bool is_minix3(const unsigned char *magic)
{
    return magic[4] == 0 && (magic[5] == 4 || magic[5] == 8 || magic[5] == 16);
}

/* nilfs2: revision 2 at 0, and the bytes of the super block at 8 (kernel, include/uapi/linux/nilfs2_ondisk.h: s_magic at 6). */
static bool is_nilfs(const unsigned char *magic)
{
    return little(magic - 6) == 2;
}

/* Mac partition map: block size 512 to 4096 in big endian after the magic. */
static bool is_mac(const unsigned char *magic)
{
    return magic[3] == 0 && (magic[2] == 2 || magic[2] == 4 || magic[2] == 8 || magic[2] == 16);
}

/* Sun label: the exclusive or of the sector's 16-bit words is zero. */
static bool is_sun(const unsigned char *magic)
{
    unsigned char even = 0, odd = 0;
    for (const unsigned char *at = magic - 508; at < magic + 4; at += 2) {
        even ^= at[0];
        odd ^= at[1];
    }
    return even == 0 && odd == 0;
}

#define FRONT(name, offset, bytes) {name, offset, 0, bytes, sizeof(bytes) - 1, 0, NULL}
#define LIKELY(name, offset, bytes, confirm) {name, offset, 0, bytes, sizeof(bytes) - 1, 0, confirm}
#define BACK(name, offset, align, within, bytes) {name, offset, align, bytes, sizeof(bytes) - 1, within, NULL}
#define PAGES(name, bytes)                                                                                                \
    FRONT(name, 4096 - 10, bytes), FRONT(name, 8192 - 10, bytes), FRONT(name, 16384 - 10, bytes), FRONT(name, 65536 - 10, bytes)

#include "magics.h"

/* The position of a magic number on a device of `bytes` bytes; false if the device is too small. */
static bool place_of(const struct magic *magic, uint64_t bytes, uint64_t *place)
{
    if (magic->align && bytes < magic->offset)
        return false;
    *place = magic->align ? (bytes - magic->offset) / magic->align * magic->align + magic->within : magic->offset;
    return true;
}

static bool stands_at(const struct magic *magic, uint64_t place, const struct extent *extent)
{
    uint64_t around = place < 512 ? place : 512; /* a `confirm` reads at most 512 bytes on both sides */
    const unsigned char *at = extent_at(extent, place - around, around + 512);
    if (magic->confirm)
        return at && memcmp(at + around, magic->bytes, magic->length) == 0 && magic->confirm(at + around);
    at = extent_at(extent, place, magic->length);
    return at && memcmp(at, magic->bytes, magic->length) == 0;
}

/* ZFS: an uberblock in one of the four labels of 256 KiB, two at each end, in either byte order (OpenZFS, "On-disk format",
 * 1.2). */
static bool has_zfs(const struct extent *front, const struct extent *back, uint64_t bytes)
{
    uint64_t label = 256 << 10, end = bytes / label * label;
    for (uint64_t at = 128 << 10; at < label; at += 1024) {
        uint64_t places[] = {at, label + at, end - label + at, end - 2 * label + at};
        for (int i = 0; i < 4 && bytes >= 4 * label; i++) {
            const unsigned char *found = extent_at(i < 2 ? front : back, places[i], 8);
            if (found && (memcmp(found, "\x0c\xb1\xba\0\0\0\0", 8) == 0 || memcmp(found, "\0\0\0\0\0\xba\xb1\x0c", 8) == 0))
                return true;
        }
    }
    return false;
}

const char *magic_find(const struct extent *front, const struct extent *back, uint64_t bytes)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t place;
        if (place_of(&table[i], bytes, &place) && stands_at(&table[i], place, table[i].align ? back : front))
            return table[i].name;
    }
    return has_zfs(front, back, bytes) ? "zfs" : NULL;
}
