/* Which registers of which nodes to read, as --registers names them. */
#ifndef CMN_WANTED_H
#define CMN_WANTED_H

#include <stddef.h>
#include <stdint.h>

#define WANTED_MAX 4096

struct wanted {
    uint32_t part, type, offset;
    unsigned width; /* bytes */
};

/* Takes `PART/TYPE:OFFSET,OFFSET;PART/TYPE:...`, all numbers hexadecimal; an offset with a w behind it is of a register of 32
 * bits. Ends the kernel if it is anything else. Returns how many there are. */
size_t wanted_parse(const char *text, struct wanted *wanted);

#endif
