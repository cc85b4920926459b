/* The table of a kernel's options, printed as JSON by `--describe` and as text by `--help`. */
#ifndef KIT_OPTTABLE_H
#define KIT_OPTTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit/out.h"

#define OPTS_ABI 1
#define OPTS_LIST_MAX 1024
#define OPTS_WORDS_MAX 64

enum opt_type { OPT_INTEGER, OPT_CHOICE, OPT_INTEGERS, OPT_CHOICES, OPT_TEXT };

struct opt_list {
    size_t count;
    int64_t values[OPTS_LIST_MAX];
};

struct opt_words {
    size_t count;
    const char *values[OPTS_WORDS_MAX]; /* each points into the table's choices */
};

struct opt {
    const char *name, *unit, *fallback, *help;
    enum opt_type type;
    int64_t min, max;     /* of an integer, or of each in a list */
    const char *choices;  /* the words from which one or several can be chosen, separated by blanks */
    void *value;          /* int64_t, const char * (choice, text), struct opt_list or struct opt_words */
    bool given;
};

struct opts {
    const char *kernel, *version, *about;
    struct opt *table;
    size_t count;
};

static inline const char *opts_type_name(enum opt_type type)
{
    static const char *const names[] = {"integer", "choice", "integers", "choices", "text"};
    return names[type];
}

static inline void opts_describe_one(const struct opt *opt)
{
    struct out out = {false};
    putchar('{');
    out_text(&out, "name", opt->name);
    out_text(&out, "type", opts_type_name(opt->type));
    out_text(&out, "unit", opt->unit);
    if (opt->type == OPT_INTEGER)
        out_integer(&out, "default", strtoll(opt->fallback, NULL, 10));
    else
        out_text(&out, "default", opt->fallback);
    if (opt->type == OPT_CHOICE || opt->type == OPT_CHOICES) {
        out_text(&out, "choices", opt->choices);
    } else if (opt->type != OPT_TEXT) {
        out_integer(&out, "min", opt->min);
        out_integer(&out, "max", opt->max);
    }
    out_text(&out, "help", opt->help);
    putchar('}');
}

static inline void opts_describe(const struct opts *opts)
{
    struct out out = out_begin("describe");
    out_integer(&out, "abi", OPTS_ABI);
    out_text(&out, "kernel", opts->kernel);
    out_text(&out, "version", opts->version);
    out_text(&out, "about", opts->about);
    out_key(&out, "options");
    for (size_t i = 0; i < opts->count; i++) {
        putchar(i ? ',' : '[');
        opts_describe_one(&opts->table[i]);
    }
    putchar(']');
    out_end();
}

static inline void opts_help(const struct opts *opts)
{
    printf("%s %s: %s\n\n", opts->kernel, opts->version, opts->about);
    for (size_t i = 0; i < opts->count; i++) {
        const struct opt *opt = &opts->table[i];
        printf("  --%-18s %s", opt->name, opt->help);
        if (opt->type == OPT_CHOICE || opt->type == OPT_CHOICES)
            printf(" (%s)", opt->choices);
        printf(" [%s%s%s]\n", *opt->fallback ? opt->fallback : "none", *opt->unit ? " " : "", opt->unit);
    }
    printf("  --%-18s %s\n", "sudo FILES",
           "first option only: run as root through `sudo -n`; FILES (a,b,c or empty) are created first");
    printf("  --%-18s %s\n  --%-18s %s\n", "describe", "print the options as JSON", "help", "print this help");
}

#endif
