#include "load/options.h"

#include "cpu.h"
#include "kit/affinity.h"
#include "kit/node.h"
#include "kit/width.h"
#include "load/windows.h"

#define SIZE_MAX_BYTES ((int64_t)1 << 46)
#define CHAIN_MIN_BYTES 256 /* MiB; minimum of the default chain, */
#define CHAIN_MAX_BYTES 2048 /* and its maximum */
#define CHAIN_LLC_FACTOR 4
#define LOAD_MIN_BYTES 64   /* MiB; minimum of a load thread's default, which is its share of twice the last-level cache */
#define LOAD_LLC_FACTOR 2

struct options options;

static struct opt table[] = {
    {"latency-cpu", "", "-1", "CPU that runs the chain or the workload; -1: the one that the kernel starts on",
     OPT_INTEGER, -1, AFFINITY_CPUS - 1, NULL, &options.latency_cpu, false},
    {"latency-node", "", "-1", "NUMA node of the chain; -1: not bound",
     OPT_INTEGER, -1, NODE_MAX - 1, NULL, &options.latency_node, false},
    {"cpus", "", "", "CPUs of the load threads; empty: all other usable CPUs",
     OPT_INTEGERS, 0, AFFINITY_CPUS - 1, NULL, &options.cpus, false},
    {"nodes", "", "",
     "NUMA nodes of the load threads' memory, one for all threads or one per thread; -1 or empty: the node of the thread's CPU",
     OPT_INTEGERS, -1, NODE_MAX - 1, NULL, &options.nodes, false},
    {"size", "bytes", "0", "working set of the chain; 0: four times the last-level cache",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.size, false},
    {"load-size", "bytes", "0", "working set of each load thread; 0: twice its last-level cache",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.load_size, false},
    {"delays", "nops", "3000,900,500,180,100,80,70,50,40,30,20,10,0", "NOPs after each step; each number is one level",
     OPT_INTEGERS, 0, CREW_DELAY_MAX, NULL, &options.delays, false},
    {"targets", "bytes/s", "", "for each of these bandwidths, find the delay at which all load threads together reach it",
     OPT_INTEGERS, 1, INT64_MAX, NULL, &options.targets, false},
    {"traffic", "", "all-reads", "access pattern of the load threads", OPT_CHOICE, 0, 0, TRAFFIC_WORDS, &options.traffic, false},
    {"width", "", "auto", "bytes of one load or store; auto: the widest that the CPU supports",
     OPT_CHOICE, 0, 0, WIDTH_WORDS, &options.width, false},
    {"touch", "bytes", "64", "bytes that a step accesses in each array: 64, 128 or 256",
     OPT_INTEGER, 64, 256, NULL, &options.touch, false},
    {"probe", "", "chain", "what to measure under load", OPT_CHOICE, 0, 0, "chain none workload", &options.probe, false},
    {"pages", "", "auto", "page size; auto: 2m, otherwise thp, otherwise 4k", OPT_CHOICE, 0, 0, ARENA_KINDS, &options.pages, false},
    {"level-ms", "ms", "80", "time limit for one level, even if not all windows are complete",
     OPT_INTEGER, 1, 60000, NULL, &options.level_ms, false},
    {"windows", "", "63", "number of windows for each level", OPT_INTEGER, 1, WINDOWS_MAX, NULL, &options.windows, false},
    {"seed", "", "1", "seed for the random order of the chain", OPT_INTEGER, 0, INT64_MAX, NULL, &options.seed, false},
    {"llc-bytes", "bytes", "0", "size of the last-level cache; 0: read from the system",
     OPT_INTEGER, 0, SIZE_MAX_BYTES, NULL, &options.llc_bytes, false},
};

const struct opts load_opts = {"load", "1.0",
                               "measures latency and bandwidth of memory under load; the command for --probe workload follows --",
                               table, sizeof table / sizeof *table};

/* Returns the words after `--`, the workload's command, which ends with NULL like argv; or NULL if there are none. */
static char **split_command(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            *argc = i;
            return argv + i + 1;
        }
    return NULL;
}

enum probe options_probe(void)
{
    return strcmp(options.probe, "chain") == 0 ? PROBE_CHAIN : strcmp(options.probe, "none") == 0 ? PROBE_NONE : PROBE_WORKLOAD;
}

char **options_parse(int argc, char **argv)
{
    char **command = split_command(&argc, argv);
    opts_parse(&load_opts, argc, argv);
    enum probe probe = options_probe();
    if (probe == PROBE_WORKLOAD && (!command || !*command))
        fail(EXIT_USAGE, "--probe workload needs a command after --");
    if (probe != PROBE_WORKLOAD && command)
        fail(EXIT_USAGE, "a command after -- needs --probe workload");
    if (options.touch != 64 && options.touch != 128 && options.touch != 256)
        fail(EXIT_USAGE, "--touch: %lld is not one of: 64 128 256", (long long)options.touch);
    if (options.delays.count == 0 && options.targets.count == 0)
        fail(EXIT_USAGE, "specify at least one level with --delays, or use --targets");
    return command;
}

static int64_t mib(int64_t count)
{
    return count << 20;
}

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

void options_settle_sizes(const struct cpus *cpus, const struct llc *llc)
{
    const struct traffic *traffic = traffic_find(options.traffic);
    int64_t line = (int64_t)cpu_line_bytes(), sharing = (int64_t)cpus_sharing_cache(cpus, cpus->load[0]);
    if (options.size == 0)
        options.size = within(CHAIN_LLC_FACTOR * llc->bytes, mib(CHAIN_MIN_BYTES), mib(CHAIN_MAX_BYTES)) / mib(2) * mib(2);
    if (options.load_size == 0)
        options.load_size = within(LOAD_LLC_FACTOR * llc->bytes / sharing, mib(LOAD_MIN_BYTES), SIZE_MAX_BYTES) / mib(2) * mib(2);
    if (options.size < 2 * line)
        fail(EXIT_USAGE, "--size: %lld bytes are fewer than two lines of %lld", (long long)options.size, (long long)line);
    int64_t least = 4096 * (int64_t)traffic_arrays(traffic);
    if (options.load_size < least)
        fail(EXIT_USAGE, "--load-size: %lld bytes are fewer than a page of 4096 for each of %u arrays",
             (long long)options.load_size, traffic_arrays(traffic));
}

struct crew_plan options_crew_plan(const struct cpus *cpus)
{
    return (struct crew_plan){
        .traffic = traffic_find(options.traffic),
        .isa = width_pick(options.width),
        .touch = (uint64_t)options.touch,
        .bytes = (uint64_t)options.load_size,
        .pages = options.pages,
        .count = cpus->count,
        .cpus = cpus->load,
        .nodes = cpus->nodes,
    };
}
