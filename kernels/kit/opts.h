/* Options `--name value`, read from the command line into the variables of a table. */
#ifndef KIT_OPTS_H
#define KIT_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kit/asroot.h"
#include "kit/fail.h"
#include "kit/opttable.h"
#include "kit/out.h"

static inline bool opts_integer(const char *text, size_t length, int64_t *value)
{
    char digits[24], *end;
    if (length == 0 || length >= sizeof digits || strspn(text, "-0123456789") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return errno == 0 && *end == '\0';
}

static inline void opts_check(const struct opt *opt, const char *text, size_t length, int64_t *value)
{
    if (!opts_integer(text, length, value))
        fail(EXIT_USAGE, "--%s: `%.*s` is not an integer", opt->name, (int)length, text);
    if (*value < opt->min || *value > opt->max)
        fail(EXIT_USAGE, "--%s: %lld is not between %lld and %lld", opt->name, (long long)*value, (long long)opt->min,
             (long long)opt->max);
}

static inline void opts_take_list(const struct opt *opt, const char *text)
{
    struct opt_list *list = opt->value;
    list->count = 0;
    if (*text == '\0')
        return;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (list->count == OPTS_LIST_MAX)
            fail(EXIT_USAGE, "--%s: more than %d values", opt->name, OPTS_LIST_MAX);
        opts_check(opt, text, length, &list->values[list->count++]);
        if (text[length] == '\0')
            return;
        text += length + 1;
    }
}

/* The position in the choices of a word with `length` characters; NULL if it is not one of them. */
static inline const char *opts_choice(const char *choices, const char *text, size_t length)
{
    for (const char *word = choices; *word; word += strspn(word, " ")) {
        size_t end = strcspn(word, " ");
        if (end == length && strncmp(word, text, end) == 0)
            return word;
        word += end;
    }
    return NULL;
}

/* Length of a word of the choices. */
static inline size_t opts_word_length(const char *word)
{
    return strcspn(word, " ");
}

/* Whether a word of the choices is `name`. */
static inline bool opts_word_is(const char *word, const char *name)
{
    return opts_word_length(word) == strlen(name) && strncmp(word, name, strlen(name)) == 0;
}

__attribute__((noreturn)) static inline void opts_no_choice(const struct opt *opt, const char *text, size_t length)
{
    fail(EXIT_USAGE, "--%s: %.*s is not one of: %s", opt->name, (int)length, text, opt->choices);
}

/* `a,b,c`, each one of the choices; an empty text is an empty list. */
static inline void opts_take_words(const struct opt *opt, const char *text)
{
    struct opt_words *words = opt->value;
    for (words->count = 0; *text; text += *text == ',') {
        size_t length = strcspn(text, ",");
        const char *word = opts_choice(opt->choices, text, length);
        if (!word)
            opts_no_choice(opt, text, length);
        if (words->count == OPTS_WORDS_MAX)
            fail(EXIT_USAGE, "--%s: more than %d words", opt->name, OPTS_WORDS_MAX);
        words->values[words->count++] = word;
        text += length;
    }
}

static inline void opts_take(const struct opt *opt, const char *text)
{
    if (opt->type == OPT_INTEGER)
        opts_check(opt, text, strlen(text), opt->value);
    else if (opt->type == OPT_INTEGERS)
        opts_take_list(opt, text);
    else if (opt->type == OPT_CHOICES)
        opts_take_words(opt, text);
    else if (opt->type == OPT_TEXT || opts_choice(opt->choices, text, strlen(text)))
        *(const char **)opt->value = text;
    else
        opts_no_choice(opt, text, strlen(text));
}

/* The edit distance, used to suggest a name; names that are too long for the row count as completely different. */
static inline size_t opts_distance(const char *a, const char *b)
{
    size_t row[32], width = strlen(b);
    if (width >= 32)
        return width;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t above = row[j], best = corner + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = above;
        }
    }
    return row[width];
}

__attribute__((noreturn)) static inline void opts_unknown(const struct opts *opts, const char *word)
{
    const char *name = word + strspn(word, "-"), *close = NULL;
    size_t nearest = strlen(name) / 2 < 3 ? strlen(name) / 2 + 1 : 4; /* half of the letters must match */
    char names[1024] = "";
    for (size_t i = 0; i < opts->count; i++) {
        size_t distance = opts_distance(name, opts->table[i].name);
        if (distance < nearest) {
            nearest = distance;
            close = opts->table[i].name;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, " --%s", opts->table[i].name);
    }
    if (close)
        fail(EXIT_USAGE, "unknown option %s, did you mean --%s? Valid options:%s", word, close, names);
    fail(EXIT_USAGE, "unknown option %s; valid options:%s", word, names);
}

static inline struct opt *opts_find(const struct opts *opts, const char *word)
{
    for (size_t i = 0; i < opts->count; i++)
        if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, opts->table[i].name) == 0)
            return &opts->table[i];
    return NULL;
}

static inline void opts_inform(const struct opts *opts, const char *word)
{
    if (strcmp(word, "--describe") == 0)
        opts_describe(opts);
    else if (strcmp(word, "--help") == 0)
        opts_help(opts);
    else
        return;
    exit(0);
}

/* Fills all values, defaults first. Ends the program with 2 at the first error, with 0 after --describe and --help. From then on,
 * the program ends as soon as the runner's shell that started it has ended, because nobody would be waiting for the result. */
static inline void opts_parse(const struct opts *opts, int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (size_t i = 0; i < opts->count; i++)
        opts_take(&opts->table[i], opts->table[i].fallback);
    for (int i = 1 + asroot_take(argv); i < argc; i += 2) {
        opts_inform(opts, argv[i]);
        struct opt *opt = opts_find(opts, argv[i]);
        if (!opt)
            opts_unknown(opts, argv[i]);
        if (opt->given)
            fail(EXIT_USAGE, "--%s is specified twice", opt->name);
        if (i + 1 == argc)
            fail(EXIT_USAGE, "--%s needs a value", opt->name);
        opts_take(opt, argv[i + 1]);
        opt->given = true;
    }
}

/* The member `options` of the meta line: the values of all options. */
static inline void opts_echo(const struct opts *opts, struct out *out)
{
    out_object(out, "options");
    for (size_t i = 0; i < opts->count; i++) {
        const struct opt *opt = &opts->table[i];
        if (opt->type == OPT_INTEGER) {
            out_integer(out, opt->name, *(const int64_t *)opt->value);
        } else if (opt->type == OPT_CHOICE || opt->type == OPT_TEXT) {
            out_text(out, opt->name, *(const char *const *)opt->value);
        } else if (opt->type == OPT_CHOICES) {
            const struct opt_words *words = opt->value;
            out_words(out, opt->name, words->values, words->count);
        } else {
            const struct opt_list *list = opt->value;
            out_integers(out, opt->name, list->values, list->count);
        }
    }
    out_close_object(out);
}

/* The members that the meta line of every kernel has. */
static inline struct out opts_begin_meta(const struct opts *opts, const char *arch)
{
    struct out out = out_begin("meta");
    out_integer(&out, "abi", OPTS_ABI);
    out_text(&out, "kernel", opts->kernel);
    out_text(&out, "version", opts->version);
    out_text(&out, "arch", arch);
#ifdef __clang__
    out_text(&out, "compiler", "clang " __clang_version__);
#else
    out_text(&out, "compiler", "gcc " __VERSION__);
#endif
    return out;
}

#endif
