/* The registers to read from each type of node, as specified by --registers. */
#ifndef CMN_REGISTERS_H
#define CMN_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#define REGISTERS_MAX 4096

struct node_register {
    uint32_t part, type, offset;
    unsigned width; /* bytes */
};

/* Parses `PART/TYPE:OFFSET,OFFSET;PART/TYPE:...`, in which all numbers are hexadecimal. A `w` after an offset marks a 32-bit
 * register. Ends the program if the text is malformed. Returns the number of items. */
size_t registers_parse(const char *text, struct node_register *registers);

#endif
