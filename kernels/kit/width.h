/* The words of --width: bytes of one load or store. */
#ifndef KIT_WIDTH_H
#define KIT_WIDTH_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kit/fail.h"
#include "vector.h"

#define WIDTH_WORDS "auto 16 32 64 sve"

/* Whether an instruction set of the processor matches the word. A number is the length of its registers. */
static inline bool width_matches(const char *word, enum vector_isa isa)
{
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%u", vector_bytes(isa));
    return strcmp(word, "auto") == 0 || strcmp(word, vector_word(isa)) == 0 || strcmp(word, bytes) == 0;
}

/* The instruction set for a word; `auto` takes the widest. Ends the program with 3 if the processor does not support the word. */
static inline enum vector_isa width_pick(const char *word)
{
    int best = -1;
    char offered[64] = "";
    for (int isa = 0; isa < VECTOR_ISAS; isa++) {
        size_t used = strlen(offered);
        if (vector_bytes((enum vector_isa)isa) == 0)
            continue;
        snprintf(offered + used, sizeof offered - used, " %s", vector_word((enum vector_isa)isa));
        /* If two have the same width (NEON, and SVE with 16 bytes), `auto` selects the later one, and a number the first one,
         * which all processors have. */
        if (width_matches(word, (enum vector_isa)isa) && (best < 0 || strcmp(word, "auto") == 0))
            best = isa;
    }
    if (best < 0)
        fail(EXIT_ENVIRONMENT, "this CPU does not support loads and stores of width %s; supported:%s", word, offered);
    return (enum vector_isa)best;
}

#endif
