#include "settle.h"

#define BATCH_NS 250000000
#define WARMUP 4   /* one batch in this many is ignored at the beginning, while caches fill and queues build up */
#define LEAST 8    /* minimum number of batches after those */
#define LOOKS 4    /* number of consecutive checks that must pass, because a single one may pass by chance */
#define REPELLING_MOST (-0.6) /* lowest correlation used: batches then count as at most four times as many independent ones */
#define TREND_SHARES 2 /* maximum rise or fall of the fitted line over the whole time, in half intervals */

/* Two-sided 95 % points of Student's t for 1 .. 30 degrees of freedom; also used for more than 30. */
static const double student[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

static double student_of(double degrees)
{
    int index = degrees < 1 ? 1 : degrees > 30 ? 30 : (int)degrees;
    return student[index - 1];
}

void settle_begin(struct settle *settle, int64_t ppm, int64_t least_ms, int64_t least_count)
{
    *settle = (struct settle){.share = (double)ppm / 1e6, .least_ns = least_ms * 1000000, .least_count = least_count,
                              .batch_ns = BATCH_NS, .first = -1};
}

/* The number of independent values with the same information: n (1 - r) / (1 + r), where r is the correlation of neighbors
 * (source: kit/stats.h). A negative correlation increases it: requests that a throttle delays in one batch complete in the next. */
static double effective(const double *rates, size_t count, double mean, double squares)
{
    double products = 0;
    for (size_t i = 1; i < count; i++)
        products += (rates[i] - mean) * (rates[i - 1] - mean);
    double r = squares > 0 ? products / squares : 0;
    r = r < REPELLING_MOST ? REPELLING_MOST : r;
    return (double)count * (1 - r) / (1 + r);
}

static double mean_of(const double *rates, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rates[i];
    return sum / (double)count;
}

bool settle_holds(const double *rates, size_t count, double share)
{
    double squares = 0, along = 0, times = 0, middle = (double)(count - 1) / 2, mean = mean_of(rates, count);
    for (size_t i = 0; i < count; i++) {
        double time = (double)i - middle;
        squares += (rates[i] - mean) * (rates[i] - mean);
        along += time * rates[i];
        times += time * time;
    }
    double independent = effective(rates, count, mean, squares);
    double t = student_of((independent < (double)count ? independent : (double)count) - 1);
    double half = share * mean, slope = along / times, rise = slope * (double)(count - 1);
    if (mean <= 0 || independent < 2 || t * t * squares / (double)(count - 1) > half * half * independent)
        return false;
    /* `rest` is the sum of the squared residuals; the slope's t has the square slope^2 * times / (rest / (n - 2)). */
    double rest = squares - slope * along;
    t = student_of((double)count - 2);
    bool significant = slope * slope * times * (double)(count - 2) > t * t * rest;
    double most = TREND_SHARES * half;
    return !(significant && (rise > half || rise < -half)) && rise <= most && rise >= -most;
}

/* Merges neighboring batches. */
static void join(struct settle *settle)
{
    for (size_t i = 0; i < SETTLE_BATCHES / 2; i++)
        settle->rates[i] = (settle->rates[2 * i] + settle->rates[2 * i + 1]) / 2;
    settle->count = SETTLE_BATCHES / 2;
    settle->batch_ns *= 2;
}

/* Whether the mean of the whole run, which the program reports, is within the permitted interval despite the beginning of the
 * run. */
static bool whole_fits(const struct settle *settle, size_t left_out)
{
    double mean = mean_of(settle->rates + left_out, settle->count - left_out);
    double off = mean_of(settle->rates, settle->count) - mean, most = settle->share * mean;
    return off <= most && off >= -most;
}

static bool look(const struct settle *settle, int64_t ns, int64_t done)
{
    size_t left_out = settle->count / WARMUP;
    return settle->count - left_out >= LEAST && ns - settle->begin_ns >= settle->least_ns &&
           done - settle->first >= settle->least_count && whole_fits(settle, left_out) &&
           settle_holds(settle->rates + left_out, settle->count - left_out, settle->share);
}

bool settle_add(struct settle *settle, int64_t ns, int64_t done)
{
    if (settle->share <= 0)
        return false;
    if (settle->first < 0)
        settle->first = done;
    if (settle->begin_ns == 0) {
        if (done == settle->first)
            return false;
        settle->begin_ns = settle->from_ns = ns;
        settle->from = done;
    }
    if (ns - settle->from_ns < settle->batch_ns)
        return false;
    settle->rates[settle->count++] = (double)(done - settle->from) * 1e9 / (double)(ns - settle->from_ns);
    settle->from = done;
    settle->from_ns = ns;
    settle->held = look(settle, ns, done) ? settle->held + 1 : 0;
    if (settle->count == SETTLE_BATCHES)
        join(settle);
    return settle->held >= LOOKS;
}
