#include "stream/sets.h"

#include "kit/numbers.h"
#include "kit/width.h"

#define WIDTH_LENGTH 8

static enum vector_isa isa_of(const char *choice)
{
    char word[WIDTH_LENGTH];
    snprintf(word, sizeof word, "%.*s", (int)opts_word_length(choice), choice);
    return width_pick(word);
}

/* Copies the next label of `a,b,c`; returns the rest. */
static const char *take_label(struct set *set, const char *labels)
{
    size_t length = strcspn(labels, ",");
    if (length == 0 || length >= SETS_LABEL_MAX)
        fail(EXIT_USAGE, "--labels: each size in --sizes needs a label of 1 to %d characters", SETS_LABEL_MAX - 1);
    snprintf(set->label, sizeof set->label, "%.*s", (int)length, labels);
    return labels + length + (labels[length] == ',');
}

void sets_settle(struct set *sets, const struct opt_list *sizes, const struct opt_words *widths, const char *labels)
{
    const char *rest = labels;
    if (widths->count != 1 && widths->count != sizes->count)
        fail(EXIT_USAGE, "--width: %zu widths for %zu sizes; give one, or one for each size", widths->count, sizes->count);
    for (size_t i = 0; i < sizes->count; i++) {
        sets[i].size = (uint64_t)sizes->values[i];
        sets[i].isa = isa_of(widths->values[widths->count == 1 ? 0 : i]);
        if (*labels)
            rest = take_label(&sets[i], rest);
    }
    if (*rest)
        fail(EXIT_USAGE, "--labels: more labels than sizes");
}

void sets_order(struct value *values, const struct set *sets, size_t count, const struct opt_words *traffic, uint64_t seed)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < traffic->count; k++)
            values[total++] = (struct value){&sets[i], traffic_find(traffic->values[k])};
    for (size_t left = total; seed != 0 && left > 1; left--) { /* Fisher and Yates, in the form of Durstenfeld */
        size_t other = random_below(random_at(seed, left), left);
        struct value moved = values[left - 1];
        values[left - 1] = values[other];
        values[other] = moved;
    }
}
