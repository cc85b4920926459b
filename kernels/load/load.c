/* load: measures memory latency and bandwidth while other CPUs load the memory. See README.md. */
#include <signal.h>

#include "kit/distance.h"
#include "load/report.h"
#include "load/run.h"

/* The measured CPUs, starting with that of the chain. */
static size_t all_cpus(const struct cpus *cpus, int64_t *all)
{
    size_t count = 0;
    if (cpus->latency >= 0)
        all[count++] = cpus->latency;
    memcpy(all + count, cpus->load, cpus->count * sizeof *all);
    return count + cpus->count;
}

/* Blocks the signal in all threads, so that the end of a workload stays pending and is not missed. */
static void block_child_signal(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
}

int main(int argc, char **argv)
{
    static struct cpus cpus;
    static struct run run;
    static int64_t all[OPTS_LIST_MAX + 1];
    struct timer timer;
    struct noise noise;
    out_open();
    char **command = options_parse(argc, argv);
    run.probe = options_probe();
    run.timer = &timer;
    cpus_settle(&cpus, run.probe != PROBE_NONE, options.latency_cpu, &options.cpus, &options.nodes);
    struct llc llc = llc_find((int)(cpus.latency < 0 ? cpus.load[0] : cpus.latency), options.llc_bytes);
    options_settle_sizes(&cpus, &llc);
    size_t count = all_cpus(&cpus, all);
    block_child_signal();
    int64_t near = all[0], far = all[count - 1];
    struct distance before = count > 1 ? distance_between(near, far) : distance_between(near, distance_partner(near));
    timer_start(&timer);
    timer_calibrate(&timer);
    run_prepare(&run, &cpus, &llc, command);
    report_meta(&run, &cpus, &llc, command);
    noise_begin(&noise, all, count);
    out_ready();
    distance_report(&before, "before");
    run_levels(&run, &noise);
    uint64_t verified = run_finish(&run);
    struct distance after = distance_between(before.cpus[0], before.cpus[1]);
    distance_report(&after, "after");
    report_end(&run, &noise, verified, run_release(&run));
    return 0;
}
