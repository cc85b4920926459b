/* The tree of nodes with which a mesh describes itself: the root, the crosspoints below it, and the devices below each
 * crosspoint. */
#ifndef CMN_TREE_H
#define CMN_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "registers.h"

/* Prints one line for the mesh and one for each node, with the requested registers of that node. `root` is the offset of the root.
 * Ends the program if there is no root. Returns the number of nodes that were read. */
int64_t tree_print(uint64_t root, const struct node_register *registers, size_t count);

#endif
