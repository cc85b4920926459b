#include "settle.h"

#define BATCH_NS 250000000
#define WARMUP 4   /* one batch in this many is ignored at the beginning, while caches fill and queues build up */
#define LEAST 8    /* minimum number of batches after those */
#define LATER(ns) ((ns) + (ns) / 2) /* time of the next check */
#define CORRELATION_LEAST (-0.6)
#define CORRELATION_MOST 0.95
#define INDEPENDENT_LEAST 3.0 /* with fewer, Student's t alone would determine the interval */

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
    *settle = (struct settle){.share = (double)ppm / 1e6, .least_count = least_count, .batch_ns = BATCH_NS, .first = -1,
                              .after_ns = least_ms * 1000000};
}

static double limited(double r)
{
    return r < CORRELATION_LEAST ? CORRELATION_LEAST : r > CORRELATION_MOST ? CORRELATION_MOST : r;
}

static double size_of(double value)
{
    return value < 0 ? -value : value;
}

static double mean_of(const double *rates, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rates[i];
    return sum / (double)count;
}

/* The line through rates in order of time, and the rates' distances from their mean or, with the slope, from the line. */
struct line {
    double mean, slope, times; /* times: sum of the squared distances of the batch numbers from their mean */
    double squares, rest;      /* sums of the squared distances from the mean and from the line */
    double along_mean, along_line; /* correlations of neighboring distances from the mean and from the line, without their bias */
};

/* A correlation of neighbors without its bias in a short series: -(1 + 3 r) / n (source: asct/statistics/series.py). */
static double unbiased(double products, double squares, size_t count)
{
    double r = squares > 0 ? products / squares : 0;
    return limited((r + 1 / (double)count) / (1 - 3 / (double)count));
}

static struct line line_of(const double *rates, size_t count)
{
    struct line line = {.mean = mean_of(rates, count)};
    double middle = (double)(count - 1) / 2, along = 0;
    for (size_t i = 0; i < count; i++) {
        double time = (double)i - middle;
        along += time * rates[i];
        line.times += time * time;
    }
    line.slope = along / line.times;
    double of_mean = 0, of_line = 0, mean_before = 0, line_before = 0;
    for (size_t i = 0; i < count; i++) {
        double from_mean = rates[i] - line.mean, from_line = from_mean - line.slope * ((double)i - middle);
        line.squares += from_mean * from_mean;
        line.rest += from_line * from_line;
        of_mean += from_mean * mean_before;
        of_line += from_line * line_before;
        mean_before = from_mean;
        line_before = from_line;
    }
    line.along_mean = unbiased(of_mean, line.squares, count);
    line.along_line = unbiased(of_line, line.rest, count);
    return line;
}

/* Whether the 95 % interval of the mean is within `share` of it on each side. n batches with the correlation r of neighbors count as
 * n (1 - r) / (1 + r) independent ones (source: kit/stats.h). A negative correlation increases their number: requests that a throttle
 * delays in one batch complete in the next. */
static bool is_narrow(const struct line *line, size_t count, double share)
{
    double n = (double)count, r = line->along_mean, independent = n * (1 - r) / (1 + r);
    independent = independent < INDEPENDENT_LEAST ? INDEPENDENT_LEAST : independent;
    double t = student_of((independent < n ? independent : n) - 1), half = share * line->mean;
    return t * t * line->squares / n / (independent - 1) <= half * half;
}

/* Whether the rate rises or falls by more than `share` over the series, and not by chance. */
static bool is_trending(const struct line *line, size_t count, double share)
{
    double r = line->along_line > 0 ? line->along_line : 0, degrees = (double)count - 2;
    double variance = line->rest / degrees * (1 + r) / (1 - r) / line->times, t = student_of(degrees);
    double rise = line->slope * (double)(count - 1);
    return line->slope * line->slope > t * t * variance && size_of(rise) > share * line->mean;
}

/* Whether the mean of the whole run, which the program reports, is within the permitted interval despite the beginning of the
 * run. */
static bool whole_fits(const struct settle *settle, const struct line *line)
{
    return size_of(mean_of(settle->rates, settle->count) - line->mean) <= settle->share * line->mean;
}

/* Merges neighboring batches. */
static void join(struct settle *settle)
{
    for (size_t i = 0; i < SETTLE_BATCHES / 2; i++)
        settle->rates[i] = (settle->rates[2 * i] + settle->rates[2 * i + 1]) / 2;
    settle->count = SETTLE_BATCHES / 2;
    settle->batch_ns *= 2;
}

/* Checks the rate if the time has come. */
static bool look(struct settle *settle, int64_t ns, int64_t done)
{
    size_t left_out = settle->count / WARMUP, count = settle->count - left_out;
    int64_t lasted = ns - settle->begin_ns;
    if (count < LEAST || lasted < settle->after_ns || done - settle->first < settle->least_count)
        return false;
    settle->after_ns = LATER(lasted);
    struct line line = line_of(settle->rates + left_out, count);
    return line.mean > 0 && is_narrow(&line, count, settle->share) && whole_fits(settle, &line) &&
           !is_trending(&line, count, settle->share);
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
    bool settled = look(settle, ns, done);
    if (settle->count == SETTLE_BATCHES)
        join(settle);
    return settled;
}
