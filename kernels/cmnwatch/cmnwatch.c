/* cmnwatch: shows which events of a mesh's performance monitor respond to a load that runs on one CPU after another. It draws no
 * conclusions. */
#include <string.h>
#include <time.h>

#include "cpu.h"
#include "events.h"
#include "kit/affinity.h"
#include "kit/opts.h"
#include "kit/timer.h"
#include "look.h"
#include "walk.h"

static const char *path;
static struct opt_list cpus;
static int64_t window_us, size, batch, looking;

static struct opt table[] = {
    {"events", "", "", "file with one event per line: TYPE ON CONFIG CONFIG1 CONFIG2, as in perf_event_open(2)",
     OPT_TEXT, 0, 0, NULL, &path, false},
    {"cpus", "", "", "CPUs to load, one after another", OPT_INTEGERS, 0, AFFINITY_CPUS - 1, NULL, &cpus, false},
    {"window-us", "us", "10000", "how long to load a CPU, and then to leave it idle, per batch of events",
     OPT_INTEGER, 100, 10000000,
     NULL, &window_us, false},
    {"size", "B", "67108864", "bytes that are read repeatedly; must exceed the caches",
     OPT_INTEGER, 1 << 16, (int64_t)1 << 34, NULL,
     &size, false},
    {"batch", "", "4", "events counted at the same time", OPT_INTEGER, 1, EVENTS_MAX, NULL, &batch, false},
    {"look", "", "0", "1: only print the mesh data that root alone can read (/proc/iomem, the maps of the driver)",
     OPT_INTEGER, 0, 1, NULL,
     &looking, false},
};

static const struct opts opts = {"cmnwatch", "1.0", "counts mesh events while one CPU after another is loaded", table,
                                 sizeof table / sizeof *table};

static struct events events;
static struct reading readings[3][EVENTS_MAX];
static int64_t counts[EVENTS_MAX], idle[EVENTS_MAX], lines[EVENTS_MAX], load_ns[EVENTS_MAX], idle_ns[EVENTS_MAX];

static uint64_t read_all(size_t first, size_t count, struct reading *into)
{
    for (size_t i = first; i < first + count; i++)
        into[i] = event_read(&events.list[i]);
    return timer_monotonic_ns();
}

/* Measures one window with the load and one window without it, for `count` events starting at `first`. */
static void watch(struct range *range, int64_t cpu, size_t first, size_t count)
{
    events_open(&events, first, count);
    uint64_t began = read_all(first, count, readings[0]);
    struct walked walked = walk(range, cpu, window_us * 1000);
    uint64_t middle = read_all(first, count, readings[1]);
    nanosleep(&(struct timespec){window_us / 1000000, window_us % 1000000 * 1000}, NULL);
    uint64_t ended = read_all(first, count, readings[2]);
    for (size_t i = first; i < first + count; i++) {
        counts[i] = event_counted(&events.list[i], &readings[0][i], &readings[1][i]);
        idle[i] = event_counted(&events.list[i], &readings[1][i], &readings[2][i]);
        lines[i] = walked.lines;
        load_ns[i] = (int64_t)(middle - began);
        idle_ns[i] = (int64_t)(ended - middle);
    }
    events_close(&events, first, count);
}

static void sample(int64_t cpu)
{
    struct out out = out_begin("sample");
    out_integer(&out, "cpu", cpu);
    out_integers(&out, "counts", counts, events.count);
    out_integers(&out, "idle", idle, events.count);
    out_integers(&out, "lines", lines, events.count);
    out_integers(&out, "ns", load_ns, events.count);
    out_integers(&out, "idle_ns", idle_ns, events.count);
    out_end();
}

static void detect(void)
{
    events_load(&events, path);
    if (cpus.count == 0)
        fail(EXIT_USAGE, "--cpus lists no CPU");
    events_try(&events);
    struct range range = range_map((size_t)size);
    out_ready();
    events_tell(&events);
    for (size_t i = 0; i < cpus.count; i++) {
        for (size_t first = 0; first < events.count; first += (size_t)batch) {
            size_t left = events.count - first;
            watch(&range, cpus.values[i], first, left < (size_t)batch ? left : (size_t)batch);
        }
        sample(cpus.values[i]);
    }
}

int main(int argc, char **argv)
{
    out_open();
    opts_parse(&opts, argc, argv);
    if (looking && *path)
        fail(EXIT_USAGE, "--look and --events are mutually exclusive");
    struct out meta = opts_begin_meta(&opts, CPU_ARCH);
    opts_echo(&opts, &meta);
    out_end();
    if (looking) {
        out_ready();
        look();
    } else {
        detect();
    }
    struct out end = out_begin("end");
    out_bool(&end, "ok", true);
    out_integer(&end, "cpus", (int64_t)cpus.count);
    out_integer(&end, "events", (int64_t)events.count);
    out_end();
    return 0;
}
