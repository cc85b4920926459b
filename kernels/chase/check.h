/* The self-check, which is also the warm pass: one walk over every line of the chain. */
#ifndef CHASE_CHECK_H
#define CHASE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "chase/chain.h"

/* Walks the whole chain in several places at once, since one walk after the other line would take seconds in DRAM. True if it is
 * one cycle that visits all its lines once and stays inside the memory. */
bool check_chain(const struct chain *chain);

#endif
