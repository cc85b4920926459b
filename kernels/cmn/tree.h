/* The tree of nodes that a mesh describes itself by: the root, below it the crosspoints, below each of them its devices. */
#ifndef CMN_TREE_H
#define CMN_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "wanted.h"

/* Prints a line for the mesh and one for each node, with the registers that are wanted of it. `root` is the offset of the root.
 * Ends the kernel if there is no root. Returns how many nodes were read. */
int64_t tree_print(uint64_t root, const struct wanted *wanted, size_t count);

#endif
