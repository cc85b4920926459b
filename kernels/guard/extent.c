#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extent.h"

#define ALIGNMENT 65536 /* no block device has a larger logical block */

bool extent_read(int fd, uint64_t start, uint64_t length, struct extent *extent)
{
    *extent = (struct extent){start, length, NULL};
    if (posix_memalign((void **)&extent->content, ALIGNMENT, length ? length : 1) != 0) {
        errno = ENOMEM;
        return false;
    }
    for (uint64_t done = 0; done < length;) {
        ssize_t got = pread(fd, extent->content + done, length - done, (off_t)(start + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? ENODATA : errno;
            extent_free(extent);
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

void extent_free(struct extent *extent)
{
    free(extent->content);
    extent->content = NULL;
    extent->length = 0;
}

const unsigned char *extent_at(const struct extent *extent, uint64_t offset, size_t length)
{
    if (offset < extent->start || offset - extent->start > extent->length ||
        extent->length - (offset - extent->start) < length)
        return NULL;
    return extent->content + (offset - extent->start);
}

bool extent_is_zero(const struct extent *extent)
{
    return extent->length == 0 ||
           (extent->content[0] == 0 && memcmp(extent->content, extent->content + 1, extent->length - 1) == 0);
}
