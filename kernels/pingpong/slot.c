#include "pingpong/slot.h"

#include "kit/numbers.h"
#include "line.h"

#define PAGE 4096                                 /* distance of addresses; at least a base page of the usual size */
#define WORD_STEP (SLOT_KINDS * TEAM_LINE)        /* one line of each kind */
#define WORD_PLACES (PAGE / WORD_STEP)

_Static_assert(sizeof(struct control) <= PAGE, "the control lines fit into the first page");

struct layout layout_make(size_t addresses, const struct ring *ring, uint64_t seed)
{
    struct layout layout = {.addresses = addresses, .ring = ring, .seed = seed};
    layout.ring_at = (1 + addresses) * PAGE;
    layout.bytes = (layout.ring_at + ring_span(ring) + PAGE - 1) / PAGE * PAGE;
    return layout;
}

struct control *slot_control(const struct slot *slot)
{
    return (struct control *)slot->start;
}

exchange_word *slot_word(const struct slot *slot, size_t address, unsigned kind)
{
    uint64_t index = slot->serial * slot->layout->addresses + address;
    uint64_t place = random_below(random_at(slot->layout->seed, index), WORD_PLACES);
    return (exchange_word *)(slot->start + (1 + address) * PAGE + place * WORD_STEP + kind * TEAM_LINE);
}

char *slot_ring(const struct slot *slot)
{
    return slot->start + slot->layout->ring_at;
}

void slot_prepare(const struct slot *slot)
{
    const struct layout *layout = slot->layout;
    struct control *control = slot_control(slot);
    atomic_init(&control->turn, 0);
    atomic_init(&control->plan, 0);
    atomic_init(&control->lost[0], false);
    atomic_init(&control->lost[1], false);
    atomic_init(&control->settled, false);
    line_flush(&control->turn);
    line_flush(&control->plan);
    line_flush(control->lost);
    for (size_t i = 0; i < SLOT_KINDS * layout->addresses; i++) {
        exchange_word *word = slot_word(slot, i / SLOT_KINDS, i % SLOT_KINDS);
        atomic_init(word, 0);
        line_flush(word);
    }
    ring_flush(layout->ring, slot_ring(slot));
    line_flush_wait();
}
