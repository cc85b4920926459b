#include "chase/check.h"

#define LANES 16          /* walks at a time: what a core keeps in flight */
#define SEGMENTS_MAX 256  /* more than lanes, so that short and long stretches even out */
#define LINES_A_SEGMENT 64

/* A stretch of the cycle from one marked line to the next. */
struct segment {
    uint64_t lines;
    uint64_t follower; /* the segment that begins where this one ends */
};

struct lane {
    const struct node *node;
    uint64_t segment, lines;
};

struct walk {
    const struct chain *chain;
    uint64_t count, started, total;
    struct segment segments[SEGMENTS_MAX];
};

static void mark_lines(const struct walk *walk, bool set)
{
    for (uint64_t i = 0; i < walk->count; i++)
        chain_line(walk->chain, i * (walk->chain->lines / walk->count))->mark = set ? i + 1 : 0;
}

static bool start_next(struct walk *walk, struct lane *lane)
{
    if (walk->started == walk->count)
        return false;
    uint64_t i = walk->started++;
    *lane = (struct lane){chain_line(walk->chain, i * (walk->chain->lines / walk->count)), i, 0};
    return true;
}

/* One load. Returns false if the lane has nothing more to walk; sets `total` beyond all lines at a stray pointer. */
static bool step(struct walk *walk, struct lane *lane)
{
    lane->node = lane->node->next;
    lane->lines++;
    if (!chain_holds(walk->chain, lane->node) || ++walk->total > walk->chain->lines) {
        walk->total = UINT64_MAX - LANES;
        return false;
    }
    if (lane->node->mark == 0)
        return true;
    walk->segments[lane->segment] = (struct segment){lane->lines, lane->node->mark - 1};
    return start_next(walk, lane);
}

static void walk_all(struct walk *walk)
{
    struct lane lanes[LANES];
    unsigned active = 0;
    while (active < LANES && start_next(walk, &lanes[active]))
        active++;
    while (active > 0 && walk->total <= walk->chain->lines) {
        for (unsigned i = 0; i < active;) {
            if (step(walk, &lanes[i]))
                i++;
            else
                lanes[i] = lanes[--active];
        }
    }
}

/* Whether the segments, followed from the first, are all met once before the first comes back, and hold all lines. */
static bool one_cycle(const struct walk *walk)
{
    uint64_t at = 0, met = 0, lines = 0;
    do {
        lines += walk->segments[at].lines;
        at = walk->segments[at].follower;
        met++;
    } while (at != 0 && met < walk->count);
    return at == 0 && met == walk->count && lines == walk->chain->lines;
}

bool check_chain(const struct chain *chain)
{
    struct walk walk = {.chain = chain, .count = chain->lines / LINES_A_SEGMENT};
    if (walk.count == 0)
        walk.count = 1;
    if (walk.count > SEGMENTS_MAX)
        walk.count = SEGMENTS_MAX;
    mark_lines(&walk, true);
    walk_all(&walk);
    mark_lines(&walk, false);
    return walk.total == chain->lines && one_cycle(&walk);
}
