/* Arithmetic of the kit against known values. */
#include <stdio.h>

#include "kit/numbers.h"
#include "kit/stats.h"

static int failures;

static void expect(double got, double wanted, double within, const char *what)
{
    double difference = got > wanted ? got - wanted : wanted - got;
    if (difference <= within)
        return;
    fprintf(stderr, "%s: %.15g, not %.15g\n", what, got, wanted);
    failures++;
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
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    stats_sort(odd, 3);
    stats_sort(even, 4);
    expect(stats_median(odd, 3), 2, 0, "median of three");
    expect(stats_median(even, 4), 2.5, 0, "median of four");
    /* Ranks of the 95 % interval, counted from 0: binomial tables give 1..6, 6..16 and 40..61 counted from 1. */
    expect((double)stats_interval_index(6), 0, 0, "6 samples");
    expect((double)stats_interval_index(21), 5, 0, "21 samples");
    expect((double)stats_interval_index(100), 39, 0, "100 samples");
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
