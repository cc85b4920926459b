/* JSON Lines on stdout: integers, texts, booleans, null, arrays of integers. One write per line, so that a killed kernel leaves
 * complete lines. */
#ifndef KIT_OUT_H
#define KIT_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kit/fail.h"

struct out {
    bool comma; /* whether a member was written in the innermost object */
};

/* Call this before anything is printed. The buffer is large enough for the longest line. */
static inline void out_open(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

static inline void out_quoted(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static inline void out_key(struct out *out, const char *key)
{
    if (out->comma)
        putchar(',');
    out_quoted(key);
    putchar(':');
    out->comma = true;
}

static inline void out_text(struct out *out, const char *key, const char *value)
{
    out_key(out, key);
    out_quoted(value);
}

static inline void out_integer(struct out *out, const char *key, int64_t value)
{
    out_key(out, key);
    printf("%lld", (long long)value);
}

static inline void out_bool(struct out *out, const char *key, bool value)
{
    out_key(out, key);
    fputs(value ? "true" : "false", stdout);
}

static inline void out_null(struct out *out, const char *key)
{
    out_key(out, key);
    fputs("null", stdout);
}

static inline void out_integers(struct out *out, const char *key, const int64_t *values, size_t count)
{
    out_key(out, key);
    putchar('[');
    for (size_t i = 0; i < count; i++)
        printf(i ? ",%lld" : "%lld", (long long)values[i]);
    putchar(']');
}

/* Words that end at a blank, as in a list of choices. They require no escaping. */
static inline void out_words(struct out *out, const char *key, const char *const *words, size_t count)
{
    out_key(out, key);
    putchar('[');
    for (size_t i = 0; i < count; i++)
        printf(i ? ",\"%.*s\"" : "\"%.*s\"", (int)strcspn(words[i], " "), words[i]);
    putchar(']');
}

static inline void out_object(struct out *out, const char *key)
{
    out_key(out, key);
    putchar('{');
    out->comma = false;
}

static inline void out_close_object(struct out *out)
{
    putchar('}');
    out->comma = true;
}

/* Between out_array and out_close_array, out_next starts each object or value. */
static inline void out_array(struct out *out, const char *key)
{
    out_key(out, key);
    putchar('[');
    out->comma = false;
}

static inline void out_next(struct out *out)
{
    if (out->comma)
        putchar(',');
    out->comma = true;
}

static inline void out_close_array(struct out *out)
{
    putchar(']');
    out->comma = true;
}

/* Starts a line of type `t`. */
static inline struct out out_begin(const char *t)
{
    struct out out = {false};
    putchar('{');
    out_text(&out, "t", t);
    return out;
}

/* Ends and writes the line; ends the kernel if the reader is gone or the disk is full. */
static inline void out_end(void)
{
    fputs("}\n", stdout);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail(EXIT_ENVIRONMENT, "cannot write to standard output: %s", strerror(errno));
}

/* The line `ready`: the set-up is complete and the measurement starts. */
static inline void out_ready(void)
{
    out_begin("ready");
    out_end();
}

#endif
