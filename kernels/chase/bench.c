#include "chase/bench.h"

#include "kit/chaincheck.h"
#include "kit/fail.h"

static void prepare(struct bench *bench, uint64_t bytes)
{
    struct extent extent = chain_extent(bench->chain, bytes);
    if (!chain_resize(bench->chain, extent) || !chain_check(bench->chain))
        fail(EXIT_SELF_CHECK, "the chain of %llu lines is not a single cycle through all of them", (unsigned long long)extent.lines);
    bench->verified_lines += extent.lines;
    if (extent.cell > 1)
        chain_flush(bench->chain, bytes, bench->flush_bytes);
}

void bench_size(struct bench *bench, uint64_t bytes, bool refined, struct record *record)
{
    static struct measured measured;
    uint64_t started = timer_monotonic_ns();
    prepare(bench, bytes);
    uint64_t ready = timer_monotonic_ns();
    measure(bench->chain, bench->timer, &bench->effort, &measured);
    record->refined = refined;
    record->span_bytes = bytes;
    record->size_bytes = bytes / bench->chain->stride * bench->chain->stride;
    record->lines = bench->chain->lines;
    record->setup_ns = ready - started;
    record->elapsed_ns = timer_monotonic_ns() - started;
    record_take(record, &measured, bench->timer);
    noise_clock(bench->noise, stats_rounded(measured.least_cycle_ns * 1e6));
}

void bench_finish(struct bench *bench)
{
    if (!chain_resize(bench->chain, (struct extent){1, bench->chain->cell}))
        fail(EXIT_SELF_CHECK, "the chain was modified while it was measured");
}
