#include "load/search.h"

#define ROUNDS_MAX 3      /* complete measurements, because a short one may be imprecise */
#define NARROW 0.5        /* part of the tolerance that short measurements use */

struct bound {
    uint64_t delay;
    double bandwidth;
};

static double off(double bandwidth, double wanted)
{
    return bandwidth > wanted ? bandwidth / wanted - 1 : 1 - bandwidth / wanted;
}

/* Returns the delay for the target, assuming that the duration of a step grows linearly with the delay. The result is always
 * strictly between the bounds. */
static uint64_t between(const struct bound *fast, const struct bound *slow, double wanted)
{
    double share = (1 / wanted - 1 / fast->bandwidth) / (1 / slow->bandwidth - 1 / fast->bandwidth);
    double reach = (double)(slow->delay - fast->delay);
    uint64_t step = share > 0.05 && share < 0.95 ? (uint64_t)(share * reach + 0.5) : (slow->delay - fast->delay) / 2;
    step = step < 1 ? 1 : step;
    return fast->delay + (step < slow->delay - fast->delay ? step : slow->delay - fast->delay - 1);
}

/* Doubles the delay until the bandwidth is at most the target, and sets `fast` to the delay before that. Returns false if the
 * bandwidth stays above the target. */
static bool enclose(struct levels *levels, double wanted, struct bound *fast, struct bound *slow)
{
    for (uint64_t delay = fast->delay + 1;; delay *= 2) {
        delay = delay < CREW_DELAY_MAX ? delay : CREW_DELAY_MAX;
        *slow = (struct bound){delay, level_estimate(levels, delay)};
        if (slow->bandwidth <= wanted)
            return true;
        if (delay == CREW_DELAY_MAX)
            return false;
        *fast = *slow;
    }
}

/* Returns the delay whose bandwidth is nearest to the target in a short measurement. */
static uint64_t nearest(struct levels *levels, double wanted)
{
    struct bound fast = {0, level_estimate(levels, 0)}, slow;
    if (fast.bandwidth <= wanted)
        return 0;
    if (!enclose(levels, wanted, &fast, &slow))
        return slow.delay;
    while (slow.delay - fast.delay > 1 && off(slow.bandwidth, wanted) > NARROW * SEARCH_TOLERANCE &&
           off(fast.bandwidth, wanted) > NARROW * SEARCH_TOLERANCE) {
        uint64_t delay = between(&fast, &slow, wanted);
        struct bound middle = {delay, level_estimate(levels, delay)};
        *(middle.bandwidth > wanted ? &fast : &slow) = middle;
    }
    return off(fast.bandwidth, wanted) < off(slow.bandwidth, wanted) ? fast.delay : slow.delay;
}

void search_measure(struct levels *levels, int64_t target_bps, struct level *level)
{
    static struct level tried;
    double wanted = (double)target_bps;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        tried = (struct level){.phase = "target", .delay = (int64_t)nearest(levels, wanted), .target_bps = target_bps};
        level_measure(levels, &tried);
        tried.reached = off(tried.bandwidth.median, wanted) <= SEARCH_TOLERANCE;
        if (round == 0 || off(tried.bandwidth.median, wanted) < off(level->bandwidth.median, wanted))
            *level = tried;
        if (tried.reached || tried.delay == 0)
            return;
    }
}
