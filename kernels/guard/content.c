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
#include "magic.h"

#define WINDOW ((uint64_t)(1 << 20) + 65536) /* read at both ends: the innermost signature is at 1 MiB */
#define PLACES 32                            /* number of places that are read between them */
#define PLACE_BYTES ((uint64_t)65536)

/* Reads a device around the page cache, because the content of the medium counts. */
static int open_content(const struct target *target)
{
    return target_open(target, O_RDONLY | O_NONBLOCK | (target->block ? O_DIRECT : 0));
}

/* The offset of data other than zeros: 0 at an end, otherwise a place between them; -1 if there is none, -2 if unreadable. */
static int64_t find_data(const struct target *target, int fd, uint64_t seed)
{
    uint64_t bytes = target->bytes;
    for (uint64_t i = 0; i < PLACES && bytes > 2 * WINDOW; i++) {
        struct extent extent;
        uint64_t place = WINDOW + random_below(random_at(seed, i), bytes - 2 * WINDOW) / PLACE_BYTES * PLACE_BYTES;
        if (!extent_read(fd, place, PLACE_BYTES, &extent))
            return -2;
        bool zero = extent_is_zero(&extent);
        extent_free(&extent);
        if (!zero)
            return (int64_t)place;
    }
    return -1;
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
        check(target, "data", UNSAFE, "it contains unknown data, at %s%" PRId64 ": set `overwrite: true` to allow overwriting it",
              place ? "byte " : "one of its ends, byte ", place);
    else
        check(target, "data", SAFE, "zeros at both ends and at all other offsets that were checked");
}

static void check_signature(const struct target *target, const char *found)
{
    if (!found)
        check(target, "signature", SAFE, "none");
    else if (target->overwrite)
        check(target, "signature", SAFE, "%s, which may be overwritten", found);
    else
        check(target, "signature", UNSAFE, "%s: `overwrite: true` allows destroying it", found);
}

static void unreadable(const struct target *target)
{
    int why = errno;
    check(target, "signature", UNKNOWN, "it cannot be read: %s", strerror(why));
    check(target, "data", UNKNOWN, "it cannot be read: %s", strerror(why));
}

void content_check(const struct target *target, uint64_t seed)
{
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
            check_signature(target, signature);
            check_data(target, fd, signature, extent_is_zero(&front) && extent_is_zero(&back), seed);
            extent_free(&back);
        }
        extent_free(&front);
    }
    if (fd >= 0)
        close(fd);
}
