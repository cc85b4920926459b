#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "content.h"
#include "extent.h"
#include "kit/numbers.h"
#include "kit/out.h"
#include "magic.h"
#include "superblock.h"

#define WINDOW ((uint64_t)(1 << 20) + 65536) /* read at both ends: the innermost signature is at 1 MiB */
#define WHOLE_BYTES ((uint64_t)256 << 20)    /* a target of at most this size is read completely */
#define CHUNK_BYTES ((uint64_t)1 << 20)
#define PLACES 32 /* number of positions that are read between the ends of a larger target */
#define PLACE_BYTES ((uint64_t)65536)

/* Opens a target so that reads of a device bypass the page cache, because the content of the medium is what counts. */
static int open_content(const struct target *target)
{
    return target_open(target, O_RDONLY | O_NONBLOCK | (target->block ? O_DIRECT : 0));
}

/* Returns `place` if the range contains anything but zeros, -1 if it contains only zeros, and -2 if it cannot be read. */
static int64_t data_in(int fd, uint64_t place, uint64_t length)
{
    struct extent extent;
    if (!extent_read(fd, place, length, &extent))
        return -2;
    bool zero = extent_is_zero(&extent);
    extent_free(&extent);
    return zero ? -1 : (int64_t)place;
}

/* Returns the offset of data other than zeros between the ends, -1 if none was found, or -2 if it cannot be read. */
static int64_t find_data(const struct target *target, int fd, uint64_t seed)
{
    if (target->bytes <= 2 * WINDOW)
        return -1;
    uint64_t end = target->bytes - WINDOW;
    int64_t found = -1;
    if (target->bytes <= WHOLE_BYTES) {
        for (uint64_t place = WINDOW; place < end && found == -1; place += CHUNK_BYTES)
            found = data_in(fd, place, end - place < CHUNK_BYTES ? end - place : CHUNK_BYTES);
        return found;
    }
    for (uint64_t i = 0; i < PLACES && found == -1; i++) {
        uint64_t place = WINDOW + random_below(random_at(seed, i), end - WINDOW) / PLACE_BYTES * PLACE_BYTES;
        found = data_in(fd, place, PLACE_BYTES);
    }
    return found;
}

/* Tells how much of a target was read. The line is printed only if the data check passed without reading the rest. */
static void print_sampled(const struct target *target)
{
    struct out out = out_begin("sampled");
    out_text(&out, "path", target->path);
    out_integer(&out, "bytes", (int64_t)(2 * WINDOW + PLACES * PLACE_BYTES));
    out_end();
}

static void check_data(const struct target *target, int fd, const char *signature, bool ends_zero, uint64_t seed)
{
    if (signature) {
        check(target, "data", SAFE, "known content: %s", signature);
        return;
    }
    if (target->overwrite || target->dirty) {
        check(target, "data", SAFE, target->overwrite ? "the content may be overwritten" : "the content was written by this job");
        return;
    }
    int64_t place = ends_zero ? find_data(target, fd, seed) : 0;
    if (place == -2)
        check(target, "data", UNKNOWN, "it cannot be read: %s", strerror(errno));
    else if (place >= 0)
        check(target, "data", UNSAFE, "it contains unknown data, at %s%" PRId64,
              place ? "byte " : "one of its ends, byte ", place);
    else if (target->bytes <= WHOLE_BYTES)
        check(target, "data", SAFE, "zeros, read completely");
    else {
        check(target, "data", SAFE, "zeros at both ends and in a sample of %d places of 64 KiB; the rest was not read", PLACES);
        print_sampled(target);
    }
}

static void check_signature(const struct target *target, const char *found)
{
    if (!found)
        check(target, "signature", SAFE, "none");
    else if (target->overwrite)
        check(target, "signature", SAFE, "%s, which may be overwritten", found);
    else
        check(target, "signature", UNSAFE, "it contains %s", found);
}

static void unreadable(const struct target *target)
{
    int why = errno;
    check(target, "signature", UNKNOWN, "it cannot be read: %s", strerror(why));
    check(target, "data", UNKNOWN, "it cannot be read: %s", strerror(why));
}

void content_check(const struct target *target, uint64_t seed)
{
    if (target->dirty && target_is_private(target)) { /* reading the file before each program takes milliseconds */
        check(target, "signature", SAFE, "not read: this job wrote the file");
        check(target, "data", SAFE, "the content was written by this job");
        return;
    }
    struct extent front, back;
    uint64_t bytes = target->bytes, length = bytes < WINDOW ? bytes : WINDOW;
    int fd = open_content(target);
    if (fd < 0 || !extent_read(fd, 0, length, &front)) {
        unreadable(target);
    } else {
        if (!extent_read(fd, bytes - length, length, &back)) {
            unreadable(target);
        } else {
            const char *signature = magic_find(&front, &back, bytes);
            if (superblock_is_ours(&front))
                signature = "linux_raid_member, left by asct (stop its array with mdadm --stop, then run mdadm --zero-superblock)";
            check_signature(target, signature);
            check_data(target, fd, signature, extent_is_zero(&front) && extent_is_zero(&back), seed);
            extent_free(&back);
        }
        extent_free(&front);
    }
    if (fd >= 0)
        close(fd);
}
