/* noop: behaves like every other measurement kernel but measures nothing. Its run time is the overhead of the harness. */
#include "cpu.h"
#include "kit/opts.h"
#include "kit/timer.h"

static int64_t samples, seed;

static struct opt table[] = {
    {"samples", "", "1", "number of sample lines to print", OPT_INTEGER, 0, 1000000, NULL, &samples, false},
    {"seed", "", "1", "number that is only printed in the output", OPT_INTEGER, 0, INT64_MAX, NULL, &seed, false},
};

static const struct opts opts = {"noop", "1.0", "measures the harness itself", table, sizeof table / sizeof *table};

int main(int argc, char **argv)
{
    uint64_t started = timer_monotonic_ns();
    out_open();
    opts_parse(&opts, argc, argv);
    struct out meta = opts_begin_meta(&opts, CPU_ARCH);
    out_integer(&meta, "seed", seed);
    opts_echo(&opts, &meta);
    out_end();
    out_ready();
    for (int64_t i = 0; i < samples; i++) {
        struct out sample = out_begin("sample");
        out_integer(&sample, "index", i);
        out_integer(&sample, "ns", (int64_t)(timer_monotonic_ns() - started));
        out_end();
    }
    struct out end = out_begin("end");
    out_bool(&end, "ok", true);
    out_integer(&end, "samples", samples);
    out_end();
    return 0;
}
