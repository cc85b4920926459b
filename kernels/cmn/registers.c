#include "registers.h"

#include <stdbool.h>
#include <string.h>

#include "kit/fail.h"

#define PART_MAX 0xfff
#define TYPE_MAX 0xffff
#define OFFSET_MAX 0xffff /* a node has 64 KiB of registers at most */

/* Parses a hexadecimal number of at most `most` at `*text`, and advances `*text` past it. */
static bool take_number(const char **text, uint32_t most, uint32_t *value)
{
    const char *digits = "0123456789abcdef", *found, *start = *text;
    for (*value = 0; **text && (found = strchr(digits, **text)); (*text)++) {
        *value = *value * 16 + (uint32_t)(found - digits);
        if (*value > most)
            return false;
    }
    return *text > start;
}

static bool take_word(const char **text, char word)
{
    bool found = **text == word;
    *text += found;
    return found;
}

/* Parses one `PART/TYPE:OFFSET,...`; returns false if it is malformed. */
static bool take_group(const char **text, struct node_register *registers, size_t *count)
{
    struct node_register one = {0};
    if (!take_number(text, PART_MAX, &one.part) || !take_word(text, '/') || !take_number(text, TYPE_MAX, &one.type) ||
        !take_word(text, ':'))
        return false;
    do {
        if (!take_number(text, OFFSET_MAX, &one.offset))
            return false;
        one.width = take_word(text, 'w') ? 4 : 8;
        if (one.offset % one.width != 0)
            fail(EXIT_USAGE, "--registers: offset %x is not a multiple of %u bytes", one.offset, one.width);
        if (*count == REGISTERS_MAX)
            fail(EXIT_USAGE, "--registers: more than %d registers", REGISTERS_MAX);
        registers[(*count)++] = one;
    } while (take_word(text, ','));
    return true;
}

size_t registers_parse(const char *text, struct node_register *registers)
{
    size_t count = 0;
    if (*text == '\0')
        return 0;
    for (const char *at = text;; at++) {
        if (!take_group(&at, registers, &count) || (*at && *at != ';'))
            fail(EXIT_USAGE, "--registers: expected PART/TYPE:OFFSET,... in hexadecimal, but found: %.32s", *at ? at : "(the end)");
        if (!*at)
            return count;
    }
}
