/* The superblock that identifies the members of a RAID set created by guard. */
#ifndef SUPERBLOCK_H
#define SUPERBLOCK_H

#include <stdbool.h>

#include "extent.h"
#include "target.h"

#define SUPERBLOCK_NAME "asct-scratch" /* of guard's sets */

/* Whether a range of a target contains such a superblock. */
bool superblock_is_ours(const struct extent *extent);

/* Whether a target contains such a superblock. */
bool superblock_left_on(const struct target *target);

/* Overwrites the superblock of a member. In the meantime, the member is claimed so that nobody else uses it. On failure, prints
 * why to stderr and returns false. */
bool superblock_erase(const struct target *member);

#endif
