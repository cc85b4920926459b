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
    static size_t order[OPTS_LIST_MAX * OPTS_WORDS_MAX];
    size_t total = count * traffic->count;
    random_order(order, total, seed);
    for (size_t i = 0; i < total; i++)
        values[i] = (struct value){&sets[order[i] / traffic->count], traffic_find(traffic->values[order[i] % traffic->count])};
}
