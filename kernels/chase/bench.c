#include "chase/bench.h"

#include "kit/chaincheck.h"
#include "kit/fail.h"

static void prepare(struct bench *bench, uint64_t bytes)
{
    struct extent extent = chain_extent(bench->chain, bytes);
    if (!chain_resize(bench->chain, extent) || !chain_check(bench->chain))
        fail(EXIT_SELF_CHECK, "the chain of %llu lines is not a single cycle through all of them",
             (unsigned long long)extent.lines);
    bench->verified_lines += extent.lines;
    if (extent.cell > 1)
        chain_flush(bench->chain, bytes, bench->flush_bytes);
}

void bench_size(struct bench *bench, uint64_t bytes, bool refined, struct record *record)
{
    record->refined = refined;
    record->span_bytes = bytes;
    record->size_bytes = bytes / bench->chain->stride * bench->chain->stride;
    record->setup_ns = record->elapsed_ns = record->looks = 0;
    record->measured.count = record->measured.dropped = record->measured.loads = 0;
    record->measured.fastest_ns = 0;
    bench_again(bench, record);
}

void bench_again(struct bench *bench, struct record *record)
{
    uint64_t started = timer_monotonic_ns();
    prepare(bench, record->span_bytes);
    record->setup_ns += timer_monotonic_ns() - started;
    record->lines = bench->chain->lines;
    measure_more(bench->chain, bench->timer, &bench->effort, &record->measured);
    record->looks++;
    record->elapsed_ns += timer_monotonic_ns() - started;
    noise_clock(bench->noise, stats_rounded(record->measured.least_cycle_ns * 1e6));
}

void bench_finish(struct bench *bench)
{
    if (!chain_resize(bench->chain, (struct extent){1, bench->chain->cell}))
        fail(EXIT_SELF_CHECK, "the chain was modified while it was measured");
}
