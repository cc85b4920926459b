/* Compares the arithmetic of the kit with known values. */
#include <stdio.h>

#include "kit/numbers.h"
#include "kit/stats.h"
#include "kit/sysfile.h"

static int failures;

static void expect(double got, double wanted, double within, const char *what)
{
    double difference = got > wanted ? got - wanted : wanted - got;
    if (difference <= within)
        return;
    fprintf(stderr, "%s: %.15g, not %.15g\n", what, got, wanted);
    failures++;
}

/* Approximately normal: the sum of twelve uniform numbers. */
static double normal(uint64_t seed, uint64_t index)
{
    double sum = -6;
    for (uint64_t i = 0; i < 12; i++)
        sum += (double)(random_at(seed, 12 * index + i) >> 11) / 9007199254740992.0;
    return sum;
}

/* A series in which each value contains the share `memory` of the previous one. */
static void series(double *values, size_t count, double memory, uint64_t seed)
{
    double value = 0, fresh = geometric_mean(1, 1 - memory * memory);
    for (size_t i = 0; i < 100 + count; i++) {
        value = memory * value + fresh * normal(seed, i);
        if (i >= 100)
            values[i - 100] = value;
    }
}

static void correlated(void)
{
    static double values[4000];
    for (int i = 0; i < 4000; i++)
        values[i] = i % 2;
    expect(stats_effective(values, 4000, 0.5), 4000, 0, "values that alternate");
    for (int i = 0; i < 4000; i++)
        values[i] = i / 2000;
    expect(stats_effective(values, 4000, 0.5), 4000 * 0.01 / 1.99, 1e-9, "one step");
    for (int i = 0; i < 4000; i++)
        values[i] = 7;
    expect(stats_effective(values, 4000, 7), 4000, 0, "equal values");
    series(values, 4000, 0, 5);
    expect(stats_effective(values, 4000, 0), 4000, 250, "independent values");
    expect(stats_effective(values, 1, values[0]), 1, 0, "one value");
}

/* The interval contains the true median, 0, in about 95 of 100 series, whether neighbors are correlated or not. */
static void covered(void)
{
    static const double memories[] = {0, 0.5, 0.8};
    static double values[500];
    for (int k = 0; k < 3; k++) {
        int inside = 0, told = 0;
        for (uint64_t seed = 1; seed <= 1000; seed++) {
            series(values, 500, memories[k], seed);
            struct stats stats = stats_of(values, 500);
            told += stats.interval;
            inside += stats.low <= 0 && 0 <= stats.high;
        }
        expect(told, 1000, 0, "series with an interval");
        expect(inside, 960, 35, "series whose interval takes in the median");
    }
}

int main(void)
{
    expect((double)square_root(0), 0, 0, "root of 0");
    expect((double)square_root(15), 3, 0, "root of 15");
    expect((double)square_root(16), 4, 0, "root of 16");
    expect((double)square_root(UINT64_MAX), 4294967295.0, 0, "root of the largest");
    expect(root_of_two(1), 2, 1e-12, "first root of 2");
    expect(root_of_two(2), 1.4142135623730951, 1e-12, "second root of 2");
    expect(root_of_two(12), 1.0594630943592953, 1e-12, "twelfth root of 2");
    expect(geometric_mean(128, 512), 256, 1e-9, "mean of 128 and 512");
    expect(geometric_mean(1, 1e12), 1e6, 1e-3, "mean of 1 and 1e12");
    expect(sine_of_share(0), 0, 0, "sine of 0");
    expect(sine_of_share(1.0 / 3), 0.5, 1e-9, "sine of 30 degrees");
    expect(sine_of_share(1), 1, 1e-6, "sine of 90 degrees");
    expect(sysfile_lists("0-3,8,10-11", 3) && sysfile_lists("0-3,8,10-11", 8) && sysfile_lists("0-3,8,10-11", 10), 1, 0, "in a list");
    expect(sysfile_lists("0-3,8,10-11", 4) || sysfile_lists("0-3,8,10-11", 12) || sysfile_lists("", 0), 0, 0, "not in a list");
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    stats_sort(odd, 3);
    stats_sort(even, 4);
    expect(stats_median(odd, 3), 2, 0, "median of three");
    expect(stats_median(even, 4), 2.5, 0, "median of four");
    /* Ranks of the 95 % interval, counted from 0: binomial tables give 1..6, 6..16 and 40..61 counted from 1. */
    expect((double)stats_interval_index(6, 6), 0, 0, "6 samples");
    expect((double)stats_interval_index(21, 21), 5, 0, "21 samples");
    expect((double)stats_interval_index(100, 100), 39, 0, "100 samples");
    /* Four times as many values, each repeated four times, have the same quantiles. */
    expect((double)stats_interval_index(400, 100) / 400, 0.39, 0.02, "400 samples worth 100");
    expect((double)stats_interval_index(21, 1), 0, 0, "21 samples worth one");
    correlated();
    covered();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
