/* Applies the stop rule to a series on standard input: `ppm least_ms least_count`, followed by lines `ns done`. Prints the line
 * at which the series had settled, or -1. */
#include <inttypes.h>
#include <stdio.h>

#include "guard/settle.h"

int main(void)
{
    struct settle settle;
    int64_t ppm, least_ms, least_count, ns, done;
    if (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64, &ppm, &least_ms, &least_count) != 3)
        return 1;
    settle_begin(&settle, ppm, least_ms, least_count);
    for (int line = 0; scanf("%" SCNd64 " %" SCNd64, &ns, &done) == 2; line++)
        if (settle_add(&settle, ns, done)) {
            printf("%d\n", line);
            return 0;
        }
    puts("-1");
    return 0;
}
