/* The processor's counter as a clock: its rate relative to CLOCK_MONOTONIC_RAW, and the cost of reading it. */
#ifndef KIT_TIMER_H
#define KIT_TIMER_H

#include <stdint.h>
#include <time.h>

#include "cpu.h"
#include "kit/fail.h"

#define TIMER_DRIFT_MAX_PPM 2000 /* far above the error of the calibration (about 5 ppm); changes times by at most 0.2 % */

struct timer {
    uint64_t ticks_0, ns_0;  /* value at the start */
    double ns_per_tick;      /* set by timer_calibrate */
    uint64_t overhead_ticks; /* two consecutive readings */
};

static inline uint64_t timer_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The minimum of many readings, because disturbances can only make a reading take longer. */
static inline uint64_t timer_overhead_ticks(void)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = cpu_ticks(), after = cpu_ticks();
        if (after - before < best)
            best = after - before;
    }
    return best;
}

/* A pair of readings of both clocks. The closest of several pairs is used, so that an interrupt between the readings does not
 * shift the rate. */
static inline void timer_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = cpu_ticks(), now = timer_monotonic_ns(), after = cpu_ticks();
        if (after - before < closest) {
            closest = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

static inline void timer_start(struct timer *timer)
{
    timer->overhead_ticks = timer_overhead_ticks();
    timer->ns_per_tick = 0;
    timer_both(&timer->ticks_0, &timer->ns_0);
}

static inline double timer_rate(const struct timer *timer)
{
    uint64_t ticks = 0, ns = 0;
    timer_both(&ticks, &ns);
    if (ticks <= timer->ticks_0)
        fail(EXIT_SELF_CHECK, "the time stamp counter of the CPU does not advance");
    return (double)(ns - timer->ns_0) / (double)(ticks - timer->ticks_0);
}

/* Calibrates the counter. Call this after the set-up, because the result is more precise if more time has passed since the
 * start. Waits until at least 10 ms have passed (about 5 ppm). */
static inline void timer_calibrate(struct timer *timer)
{
    while (timer_monotonic_ns() - timer->ns_0 < 10000000)
        cpu_relax();
    timer->ns_per_tick = timer_rate(timer);
}

static inline int64_t timer_ns(const struct timer *timer, uint64_t ticks)
{
    return (int64_t)((double)ticks * timer->ns_per_tick + 0.5);
}

/* Ticks between two readings, excluding the cost of reading the counter. */
static inline uint64_t timer_net(const struct timer *timer, uint64_t before, uint64_t after)
{
    uint64_t ticks = after - before;
    return ticks > timer->overhead_ticks ? ticks - timer->overhead_ticks : 0;
}

/* The difference between the rate since the start and the calibrated rate, in millionths. Ends the program with 4 if the rate is
 * not constant. */
static inline int64_t timer_drift_ppm(const struct timer *timer)
{
    int64_t drift = (int64_t)((timer_rate(timer) / timer->ns_per_tick - 1) * 1e6);
    if (drift > TIMER_DRIFT_MAX_PPM || drift < -TIMER_DRIFT_MAX_PPM)
        fail(EXIT_SELF_CHECK, "the rate of the time stamp counter changed by %lld ppm during the measurement", (long long)drift);
    return drift;
}

#endif
