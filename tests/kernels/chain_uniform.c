/* Five lines can form 24 cycles. Over many seeds, each cycle must occur equally often: chi-squared with 23 degrees of freedom is
 * below 49.7 in 999 of 1000 cases. The seeds are fixed, so the result is always the same. */
#include <stdio.h>

#include "kit/chain.h"

#define LINES 5
#define SEEDS 24000

int main(void)
{
    static _Alignas(16) char memory[LINES * 16];
    static unsigned seen[3125];
    double expected = SEEDS / 24.0, chi_squared = 0;
    unsigned different = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct chain chain = {.start = memory, .bytes = sizeof memory, .stride = 16, .max_lines = LINES, .seed = seed};
        chain_init(&chain);
        chain_resize(&chain, (struct extent){LINES, 1});
        unsigned code = 0;
        for (uint64_t k = 0; k < LINES; k++)
            code = code * LINES + (unsigned)(((char *)chain_line(&chain, k)->next - memory) / 16);
        seen[code]++;
    }
    for (unsigned code = 0; code < 3125; code++) {
        if (seen[code] == 0)
            continue;
        different++;
        chi_squared += (seen[code] - expected) * (seen[code] - expected) / expected;
    }
    if (different != 24 || chi_squared > 49.7) {
        fprintf(stderr, "%u cycles, chi-squared %.1f\n", different, chi_squared);
        return 1;
    }
    puts("ok");
    return 0;
}
