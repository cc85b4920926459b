#include <signal.h>
#include <string.h>
#include <time.h>

#include "account.h"
#include "counters.h"
#include "device.h"
#include "kit/out.h"
#include "kit/timer.h"
#include "watch.h"

#define TEMPERATURE_NS 1000000000 /* minimum interval, because reading a temperature sends a command to the drive */
#define PATIENCE_NS 30000000000   /* time that the program has to write its result after SIGINT */
#define TERMINATE_NS 2000000000   /* time that the program has to end after SIGTERM, when nobody waits for its result */

struct watching {
    struct program *program;
    const struct target *targets;
    size_t count;
    const struct orders *orders;
    struct settle settle;
    int64_t now_ns, warmed_ns, kill_ns, written_before; /* kill_ns: when the program is killed, or 0 */
    int64_t temperatures[TARGETS_MAX];
    struct devset own[TARGETS_MAX]; /* the devices that are counted for each target */
    size_t samples;
    const char *stopped;
};

/* Assigns a drive below several targets to the first of these targets, so that the sum over all targets is correct. */
static void share_out(struct watching *w)
{
    struct devset given;
    devset_clear(&given);
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->targets[i].counted.count; k++) {
            dev_t device = w->targets[i].counted.devices[k];
            if (!devset_has(&given, device))
                devset_add(&w->own[i], device);
            devset_add(&given, device);
        }
}

static int64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void print_known(struct out *out, const char *key, int64_t value)
{
    if (value < 0)
        out_null(out, key);
    else
        out_integer(out, key, value);
}

static void ask_temperatures(struct watching *w)
{
    if (w->samples > 0 && w->now_ns - w->warmed_ns < TEMPERATURE_NS)
        return;
    w->warmed_ns = w->now_ns;
    for (size_t i = 0; i < w->count; i++)
        w->temperatures[i] = device_temperature(&w->targets[i].drives);
}

static void print_counters(struct out *out, const int64_t counters[COUNTERS], bool known)
{
    out_next(out);
    for (int i = 0; known && i < COUNTERS; i++)
        printf(i ? ",%lld" : "[%lld", (long long)counters[i]);
    fputs(known ? "]" : "null", stdout);
}

/* Prints a sample and applies the limits to it; true if the program must stop. */
static bool sample(struct watching *w)
{
    int64_t counters[TARGETS_MAX][COUNTERS], done = 0, written = 0;
    bool known[TARGETS_MAX];
    w->now_ns = (int64_t)timer_monotonic_ns();
    for (size_t i = 0; i < w->count; i++) {
        known[i] = w->targets[i].counted.count > 0 && counters_read(&w->own[i], counters[i]);
        if (!known[i])
            continue;
        done += counters[i][READS] + counters[i][WRITES] + counters[i][DISCARDS];
        written += counters[i][WRITE_BYTES];
    }
    struct out out = out_begin("sample");
    out_integer(&out, "real_ns", real_ns());
    out_integer(&out, "mono_ns", w->now_ns);
    print_known(&out, "program_cpu_ns", account_program_ns(&w->program->account));
    print_known(&out, "host_cpu_ns", account_host_ns());
    out_array(&out, "devices");
    for (size_t i = 0; i < w->count; i++)
        print_counters(&out, counters[i], known[i]);
    out_close_array(&out);
    if (w->orders->array) {
        int64_t own[COUNTERS];
        bool counted = counters_read(&w->orders->array->counted, own);
        out_array(&out, "array");
        for (int i = 0; counted && i < COUNTERS; i++)
            printf(i ? ",%lld" : "%lld", (long long)own[i]);
        out_close_array(&out);
    }
    ask_temperatures(w);
    out_array(&out, "temperatures_mc");
    for (size_t i = 0; i < w->count; i++) {
        out_next(&out);
        if (w->temperatures[i] == INT64_MIN)
            fputs("null", stdout);
        else
            printf("%lld", (long long)w->temperatures[i]);
    }
    out_close_array(&out);
    out_end();
    if (w->samples++ == 0)
        w->written_before = written;
    bool settled = settle_add(&w->settle, w->now_ns, done);
    bool full = w->orders->max_write_bytes > 0 && written - w->written_before >= w->orders->max_write_bytes;
    if (*w->stopped == '\0' && (settled || full))
        w->stopped = full ? "volume" : "interval";
    return *w->stopped != '\0';
}

/* Tells the program to end. It is killed if it has not ended in time, because fio can hang when a signal interrupts one of its
 * threads, and only this process may kill a program of root. */
static void stop(struct watching *w, int signal)
{
    int64_t latest = (int64_t)timer_monotonic_ns() + (signal == SIGINT ? PATIENCE_NS : TERMINATE_NS);
    if (w->kill_ns == 0 || latest < w->kill_ns)
        w->kill_ns = latest;
    program_signal(w->program, signal);
}

/* Samples every `sample_ms` until the program has ended; missed samples are skipped. */
static void attend(struct watching *w)
{
    int64_t step = w->orders->sample_ms * 1000000, next = w->now_ns + step;
    for (;;) {
        int64_t now = (int64_t)timer_monotonic_ns();
        enum event event = program_wait(w->program, next - now);
        if (event == EVENT_ENDED)
            return;
        if (event == EVENT_INTERRUPT || event == EVENT_TERMINATE)
            stop(w, event == EVENT_INTERRUPT ? SIGINT : SIGTERM);
        now = (int64_t)timer_monotonic_ns();
        if (w->kill_ns > 0 && now >= w->kill_ns)
            program_signal(w->program, SIGKILL);
        if (now < next)
            continue;
        next += step * ((now - next) / step + 1);
        if (sample(w) && w->kill_ns == 0)
            stop(w, SIGINT);
    }
}

static void print_exit(const struct watching *w, int64_t started, int64_t ended)
{
    struct out out = out_begin("exit");
    out_integer(&out, "status", w->program->status);
    out_text(&out, "stopped", w->stopped);
    out_integer(&out, "started_ns", started);
    out_integer(&out, "ended_ns", ended);
    out_integer(&out, "samples", (int64_t)w->samples);
    out_end();
}

void watch(struct program *program, const struct target *targets, size_t count, const struct orders *orders)
{
    static struct watching w = {.stopped = ""};
    w.program = program;
    w.targets = targets;
    w.count = count;
    w.orders = orders;
    share_out(&w);
    settle_begin(&w.settle, orders->stop_ppm, orders->stop_min_ms, orders->stop_min_ios);
    out_ready();
    sample(&w);
    int64_t started = (int64_t)timer_monotonic_ns();
    program_begin(program);
    attend(&w);
    int64_t ended = (int64_t)timer_monotonic_ns();
    sample(&w);
    program_reap(program);
    print_exit(&w, started, ended);
}
