#include "stream/record.h"

#include "kit/out.h"

#define LISTED_MAX 64

static int by_rate(const void *a, const void *b)
{
    const struct window *x = a, *y = b;
    double first = (double)x->bytes * y->ns, second = (double)y->bytes * x->ns;
    return (first > second) - (first < second);
}

/* Prints all windows in order of time, or an evenly spaced subset in order of bandwidth. */
static void print_windows(struct out *out, struct sample *sample)
{
    int64_t ns[LISTED_MAX], bytes[LISTED_MAX];
    bool sorted = sample->count > LISTED_MAX;
    size_t listed = sorted ? LISTED_MAX : sample->count;
    if (sorted)
        qsort(sample->windows, sample->count, sizeof *sample->windows, by_rate);
    for (size_t i = 0; i < listed; i++) {
        const struct window *window = &sample->windows[sorted ? i * (sample->count - 1) / (LISTED_MAX - 1) : i];
        ns[i] = stats_rounded(window->ns);
        bytes[i] = (int64_t)window->bytes;
    }
    out_text(out, "order", sorted ? "sorted" : "time");
    out_integers(out, "window_ns", ns, listed);
    out_integers(out, "window_bytes", bytes, listed);
}

static void print_bytes(struct out *out, const struct sample *sample)
{
    const struct traffic *traffic = sample->value.traffic;
    uint64_t useful = 0;
    for (size_t i = 0; i < sample->count; i++)
        useful += sample->windows[i].bytes;
    uint64_t lines = useful / traffic_arrays(traffic), written = traffic_bus_written(traffic, lines);
    uint64_t read = sample->loop.ownership ? traffic_bus_read(traffic, lines) : lines * traffic->loads;
    out_integer(out, "useful_bytes", (int64_t)useful);
    out_integer(out, "bus_bytes", (int64_t)(read + written));
    out_integer(out, "read_bytes", (int64_t)read);
    out_integer(out, "write_bytes", (int64_t)written);
}

void record_print(const struct bench *bench, struct sample *sample)
{
    struct out out = out_begin("sample");
    const struct set *set = sample->value.set;
    out_text(&out, "label", set->label);
    out_integer(&out, "size", (int64_t)set->size);
    out_integer(&out, "array_bytes", (int64_t)sample->array_bytes);
    out_text(&out, "traffic", sample->value.traffic->word);
    out_text(&out, "variant", sample->loop.variant);
    out_bool(&out, "best", sample->best);
    out_text(&out, "isa", vector_name(set->isa));
    out_text(&out, "width", vector_word(set->isa));
    out_integer(&out, "vector_bytes", vector_bytes(set->isa));
    out_integer(&out, "grain_bytes", (int64_t)loops_grain(set->isa));
    out_integer(&out, "threads", (int64_t)bench->crew->team.count);
    out_integer(&out, "windows", (int64_t)sample->count);
    out_integer(&out, "dropped", (int64_t)sample->dropped);
    out_integer(&out, "trial_windows", (int64_t)sample->trial);
    out_bool(&out, "capped", sample->capped);
    print_bytes(&out, sample);
    stats_print(&out, "bps", &sample->bps, 1);
    print_windows(&out, sample);
    out_integer(&out, "cycle_fs", stats_rounded(sample->core_ns * 1e6));
    out_integer(&out, "elapsed_ns", (int64_t)sample->elapsed_ns);
    out_end();
}
