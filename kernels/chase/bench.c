#include "chase/bench.h"

#include "chase/check.h"
#include "kit/fail.h"

/* Reads a stretch as long as the last-level cache. The caches then hold the share of a sparse chain that they would hold of a
 * dense one over the same span; after the self-check's walk they would hold much more. */
static void flush(const struct bench *bench, uint64_t span_bytes)
{
    const struct chain *chain = bench->chain;
    uint64_t from = bench->flush_bytes < span_bytes ? span_bytes - bench->flush_bytes : 0;
    for (uint64_t at = from / chain->stride * chain->stride; at < span_bytes; at += chain->stride)
        (void)*(volatile char *)(chain->start + at);
}

static void prepare(struct bench *bench, uint64_t bytes)
{
    struct extent extent = chain_extent(bench->chain, bytes);
    if (!chain_resize(bench->chain, extent) || !check_chain(bench->chain))
        fail(EXIT_SELF_CHECK, "the chain of %llu lines is not one cycle through all of them", (unsigned long long)extent.lines);
    bench->verified_lines += extent.lines;
    if (extent.cell > 1)
        flush(bench, bytes);
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
}

void bench_finish(struct bench *bench)
{
    if (!chain_resize(bench->chain, (struct extent){1, bench->chain->cell}))
        fail(EXIT_SELF_CHECK, "the chain was changed while it was measured");
}
