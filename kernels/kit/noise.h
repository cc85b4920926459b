/* Other activity on the CPUs of a measurement kernel while it measured: the member `noise` of the `end` line.
 *
 *     struct noise noise;
 *     noise_begin(&noise, cpus, count);     right before `ready`; `cpus` must live on
 *     noise_clock(&noise, cycle_fs);        for each sample, the shortest core cycle if it was measured; called by one thread
 *     noise_report(&noise, &out);           within the `end` line
 *
 * Every value is the difference between begin and report, or null if the system does not provide it. CPU times have a resolution of
 * 10 ms, so in a short run they may be zero or far too large. For this reason, `others_ns` is not limited to values of at least
 * zero: the errors of many short runs cancel out when they are added. */
#ifndef KIT_NOISE_H
#define KIT_NOISE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kit/cgroup.h"
#include "kit/out.h"
#include "kit/sysfile.h"
#include "kit/timer.h"

#define NOISE_ASKED 8 /* limit of CPUs whose frequency is read, because reading it takes milliseconds on some systems */

/* Counters since boot; -1 if unknown. */
struct noise_moment {
    int64_t ns, own_ns, voluntary, involuntary; /* of this process, all threads */
    int64_t steal_ns, busy_ns, throttles;       /* summed over the CPUs */
    int64_t pressure_us, group_pressure_us;     /* time in which some task waited for a CPU: in the system, in the control group */
    int64_t frequency_hz;                       /* mean, as reported by the system */
};

struct noise {
    const int64_t *cpus;
    size_t count;
    struct noise_moment begin;
    int64_t cycle_fs_min, cycle_fs_max; /* -1: none was measured */
};

static inline bool noise_is_ours(const struct noise *noise, int64_t cpu)
{
    for (size_t i = 0; i < noise->count; i++)
        if (noise->cpus[i] == cpu)
            return true;
    return false;
}

/* A CPU's line of /proc/stat: user nice system idle iowait irq softirq steal. */
static inline void noise_add_cpu(const struct noise *noise, struct noise_moment *now, const char *line, int64_t tick_ns)
{
    long long cpu, user, nice, kernel, idle, wait, irq, softirq, steal;
    if (sscanf(line, "cpu%lld %lld %lld %lld %lld %lld %lld %lld %lld", &cpu, &user, &nice, &kernel, &idle, &wait, &irq, &softirq,
               &steal) != 9 || !noise_is_ours(noise, cpu))
        return;
    now->steal_ns = (now->steal_ns < 0 ? 0 : now->steal_ns) + steal * tick_ns;
    now->busy_ns = (now->busy_ns < 0 ? 0 : now->busy_ns) + (user + nice + kernel + irq + softirq) * tick_ns;
}

static inline void noise_read_cpus(const struct noise *noise, struct noise_moment *now)
{
    char line[256];
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0)
        if (line[3] != ' ') /* the sum of all */
            noise_add_cpu(noise, now, line, tick_ns);
    if (file)
        fclose(file);
}

/* Microseconds of the line `some` of a pressure file; -1 without one. */
static inline int64_t noise_pressure(const char *path)
{
    char line[128];
    sysfile_text(line, sizeof line, "%s", path);
    const char *total = strstr(line, "total=");
    return strncmp(line, "some ", 5) == 0 && total ? strtoll(total + 6, NULL, 10) : -1;
}

static inline void noise_read_pressure(struct noise_moment *now)
{
    char group[CGROUP_PATH_MAX], path[CGROUP_PATH_MAX + 64];
    now->pressure_us = noise_pressure("/proc/pressure/cpu");
    now->group_pressure_us = -1;
    if (!cgroup_own("0::", group))
        return;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.pressure", group);
    now->group_pressure_us = noise_pressure(path);
}

/* Reported clock and thermal throttling of a few CPUs. */
static inline void noise_read_clocks(const struct noise *noise, struct noise_moment *now)
{
    char text[32];
    size_t step = (noise->count + NOISE_ASKED - 1) / NOISE_ASKED, known = 0;
    int64_t khz = 0;
    for (size_t i = 0; i < noise->count; i += step) {
        int cpu = (int)noise->cpus[i];
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
        khz += *text ? strtoll(text, NULL, 10) : 0;
        known += *text != '\0';
        sysfile_text(text, sizeof text, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
        if (*text)
            now->throttles = (now->throttles < 0 ? 0 : now->throttles) + strtoll(text, NULL, 10);
    }
    now->frequency_hz = known ? khz * 1000 / (int64_t)known : -1;
}

static inline int64_t noise_ns_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static inline struct noise_moment noise_read(const struct noise *noise)
{
    struct noise_moment now = {.steal_ns = -1, .busy_ns = -1, .throttles = -1};
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    now.own_ns = noise_ns_of(usage.ru_utime) + noise_ns_of(usage.ru_stime);
    now.voluntary = usage.ru_nvcsw;
    now.involuntary = usage.ru_nivcsw;
    now.ns = (int64_t)timer_monotonic_ns();
    noise_read_cpus(noise, &now);
    noise_read_pressure(&now);
    noise_read_clocks(noise, &now);
    return now;
}

/* `count` is at least one. */
static inline void noise_begin(struct noise *noise, const int64_t *cpus, size_t count)
{
    *noise = (struct noise){.cpus = cpus, .count = count, .cycle_fs_min = -1, .cycle_fs_max = -1};
    noise->begin = noise_read(noise);
}

/* Records the shortest core cycle of a sample, in femtoseconds; the extremes of all samples are reported. Adds that were
 * interrupted, or that shared the core with a sibling, take longer and say nothing about the clock. Only a clock that is slow for
 * a whole sample makes all of them longer. */
static inline void noise_clock(struct noise *noise, int64_t cycle_fs)
{
    if (noise->cycle_fs_min < 0 || cycle_fs < noise->cycle_fs_min)
        noise->cycle_fs_min = cycle_fs;
    if (cycle_fs > noise->cycle_fs_max)
        noise->cycle_fs_max = cycle_fs;
}

static inline void noise_known(struct out *out, const char *key, int64_t value)
{
    if (value < 0)
        out_null(out, key);
    else
        out_integer(out, key, value);
}

/* Adds a difference: null if either value is unknown, and 0 if the counter decreased (iowait and steal may decrease slightly). */
static inline void noise_grown(struct out *out, const char *key, int64_t before, int64_t after)
{
    bool known = before >= 0 && after >= 0;
    noise_known(out, key, !known ? -1 : after > before ? after - before : 0);
}

/* Returns the CPU time used by other processes, with a resolution of one tick. It never exceeds the time that this process did not
 * use. */
static inline int64_t noise_others(const struct noise *noise, const struct noise_moment *after)
{
    const struct noise_moment *before = &noise->begin;
    int64_t own = after->own_ns - before->own_ns, left = (after->ns - before->ns) * (int64_t)noise->count - own;
    int64_t others = after->busy_ns - before->busy_ns - own;
    return others < left ? others : left;
}

/* Adds the member `noise`; kernels/chase/README.md describes it. */
static inline void noise_report(const struct noise *noise, struct out *out)
{
    struct noise_moment before = noise->begin, after = noise_read(noise);
    out_object(out, "noise");
    out_integer(out, "cpus", (int64_t)noise->count);
    out_integer(out, "elapsed_ns", after.ns - before.ns);
    out_integer(out, "own_ns", after.own_ns - before.own_ns);
    if (before.busy_ns >= 0 && after.busy_ns >= 0)
        out_integer(out, "others_ns", noise_others(noise, &after));
    else
        out_null(out, "others_ns");
    noise_grown(out, "steal_ns", before.steal_ns, after.steal_ns);
    noise_grown(out, "pressure_us", before.pressure_us, after.pressure_us);
    noise_grown(out, "group_pressure_us", before.group_pressure_us, after.group_pressure_us);
    noise_grown(out, "voluntary_switches", before.voluntary, after.voluntary);
    noise_grown(out, "involuntary_switches", before.involuntary, after.involuntary);
    noise_known(out, "frequency_begin_hz", before.frequency_hz);
    noise_known(out, "frequency_end_hz", after.frequency_hz);
    noise_known(out, "cycle_fs_min", noise->cycle_fs_min);
    noise_known(out, "cycle_fs_max", noise->cycle_fs_max);
    noise_grown(out, "throttles", before.throttles, after.throttles);
    out_close_object(out);
}

#endif
