/* Numbers and words from /proc and /sys. */
#ifndef KIT_SYSFILE_H
#define KIT_SYSFILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of a file without its newline; an empty text if it cannot be read. */
__attribute__((format(printf, 3, 4))) static inline void sysfile_text(char *text, int size, const char *format, ...)
{
    char path[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    text[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(text, size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* The number at the start of `text`, times 1024 or 1048576 if K or M follows; -1 if there is none. */
static inline int64_t sysfile_scaled(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text)
        return -1;
    return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

/* Whether `number` is in a list such as 0-3,8. */
static inline bool sysfile_lists(const char *list, int64_t number)
{
    for (const char *at = list; *at;) {
        char *end;
        int64_t first = strtoll(at, &end, 10), last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        if (number >= first && number <= last)
            return true;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return false;
}

/* The kB value of the line with `key` (and its colon) in `path`, in bytes; -1 if there is none. */
static inline int64_t sysfile_kb(const char *path, const char *key)
{
    char line[256];
    int64_t bytes = -1;
    FILE *file = fopen(path, "re");
    while (file && bytes < 0 && fgets(line, sizeof line, file)) {
        const char *found = strstr(line, key);
        if (found)
            bytes = strtoll(found + strlen(key), NULL, 10) * 1024;
    }
    if (file)
        fclose(file);
    return bytes;
}

#endif
