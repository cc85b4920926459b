/* guard: checks the targets of a program, holds them, runs it, and samples the machine. See README.md. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "claim.h"
#include "content.h"
#include "counters.h"
#include "cpu.h"
#include "device.h"
#include "kit/opts.h"
#include "nvme.h"
#include "raid.h"
#include "serial.h"
#include "scan.h"
#include "use.h"
#include "watch.h"

static struct options {
    const char *targets, *stdout_file;
    int64_t scan, whole_drive, seed;
    struct orders orders;
    struct raid_orders raid;
} options;

static struct opt table[] = {
    {"targets", "", "", "file that lists the targets, one per line: access, overwrite, dirty, serial, path, separated by tabs",
     OPT_TEXT, 0, 0, NULL, &options.targets, false},
    {"scan", "", "0", "1: inspect every block device of this machine and run nothing", OPT_INTEGER, 0, 1, NULL,
     &options.scan, false},
    {"stdout", "", "program.stdout", "file for the program's standard output",
     OPT_TEXT, 0, 0, NULL, &options.stdout_file, false},
    {"whole-drive", "", "0", "1: the program changes more of a drive than the target (format, sanitize)",
     OPT_INTEGER, 0, 1, NULL, &options.whole_drive, false},
    {"sample-ms", "ms", "100", "time between samples", OPT_INTEGER, 10, 60000, NULL, &options.orders.sample_ms, false},
    {"stop-ppm", "ppm", "0", "stop the program when the confidence interval of the rate is this narrow; 0: never",
     OPT_INTEGER, 0, 1000000, NULL, &options.orders.stop_ppm, false},
    {"stop-min-ms", "ms", "3000", "minimum time after the first request before the program is stopped",
     OPT_INTEGER, 0, 86400000, NULL, &options.orders.stop_min_ms,
     false},
    {"stop-min-ios", "", "0", "minimum number of requests before the program is stopped",
     OPT_INTEGER, 0, INT64_MAX, NULL, &options.orders.stop_min_ios, false},
    {"max-write-bytes", "bytes", "0", "stop the program when this much has been written to the targets; 0: no limit",
     OPT_INTEGER, 0, INT64_MAX, NULL, &options.orders.max_write_bytes, false},
    {"raid-level", "", "none", "create a RAID set of this level from the targets, and run the program on it",
     OPT_CHOICE, 0, 0, "none 0 1 5 6 10", &options.raid.level, false},
    {"raid-chunk", "bytes", "0", "chunk size of the RAID set; 0: chosen by mdadm",
     OPT_INTEGER, 0, INT64_C(1) << 30, NULL, &options.raid.chunk_bytes, false},
    {"mdadm", "", "/sbin/mdadm", "path of mdadm, which creates the RAID set", OPT_TEXT, 0, 0, NULL, &options.raid.mdadm, false},
    {"seed", "", "1", "seed for the offsets at which the content of a target is checked",
     OPT_INTEGER, 0, INT64_MAX, NULL, &options.seed, false},
};

static const struct opts opts = {"guard", "1.0", "checks the targets of a program, holds them, and records counters while it runs",
                                 table, sizeof table / sizeof *table};

static void print_meta(void)
{
    struct out meta = opts_begin_meta(&opts, CPU_ARCH);
    out_integer(&meta, "seed", options.seed);
    opts_echo(&opts, &meta);
    out_end();
}

/* Performs all checks of a target. The target is claimed first, so that nobody else can start to use it. */
static void look_at(struct target *target)
{
    if (!target_find(target))
        return;
    if (target->block)
        serial_check(target);
    claim_check(target);
    if (check_refusal() == NULL)
        claim(target);
    else if (target->write)
        claim_try(target);
    device_print(target, "before");
    if (!target->write)
        return;
    use_check(target);
    use_check_open(target);
    content_check(target, (uint64_t)options.seed);
    if (target->block) {
        nvme_check_namespaces(target, options.whole_drive == 1);
        serial_check_paths(target);
        nvme_check_reserved(target);
    }
}

/* Refuses a limit on the number of bytes written if these bytes cannot be counted. */
static void require_counters(const struct target *targets, size_t count)
{
    int64_t counters[COUNTERS];
    for (size_t i = 0; options.orders.max_write_bytes > 0 && i < count; i++)
        if (targets[i].write && (targets[i].counted.count == 0 || !counters_read(&targets[i].counted, counters)))
            fail(EXIT_ENVIRONMENT, "--max-write-bytes: writes to %s cannot be counted: the drive below it is unknown",
                 targets[i].path);
}

static void print_end(bool ok, const char *why)
{
    struct out end = out_begin("end");
    out_bool(&end, "ok", ok);
    if (!ok) {
        out_text(&end, "error", why);
        out_text(&end, "path", check_refused_path());
    }
    out_end();
}

static int refuse(void)
{
    char why[1400];
    snprintf(why, sizeof why, "refused: %s", check_refusal());
    print_end(false, why);
    return EXIT_SELF_CHECK;
}

/* Runs the program with the `opened` targets, while the drives of all targets are counted. */
static void run(char **program_arguments, const struct target *opened, size_t opened_count, const struct target *targets,
                size_t count)
{
    struct program program = program_prepare(program_arguments, opened, opened_count, options.stdout_file);
    watch(&program, targets, count, &options.orders);
}

static void print_after(const struct target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        device_print(&targets[i], "after");
}

static void run_on_targets(char **program_arguments, const struct target *targets, size_t count)
{
    run(program_arguments, targets, count, targets, count);
    print_after(targets, count);
}

/* Creates a RAID set from the targets. The set exists while the program runs. */
static void run_on_raid(char **program_arguments, struct target *members, size_t count)
{
    static struct raid raid;
    for (size_t i = 0; i < count; i++)
        if (!members[i].write || !members[i].block)
            fail(EXIT_USAGE, "--raid-level: %s is not a block device to be written", members[i].path);
    raid_make(&raid, &options.raid, members, count);
    raid_print(&raid, "before");
    options.orders.array = &raid.target;
    run(program_arguments, &raid.target, 1, members, count);
    raid_print(&raid, "after");
    raid_remove(&raid);
    print_after(members, count);
}

static int guard(char **program_arguments)
{
    static struct target targets[TARGETS_MAX];
    size_t count = targets_read(options.targets, targets);
    for (size_t i = 0; i < count; i++)
        look_at(&targets[i]);
    if (check_refusal())
        return refuse();
    require_counters(targets, count);
    if (!program_arguments)
        out_ready();
    else if (strcmp(options.raid.level, "none") == 0)
        run_on_targets(program_arguments, targets, count);
    else
        run_on_raid(program_arguments, targets, count);
    print_end(true, NULL);
    return 0;
}

/* The words after `--` are the program. */
static char **split(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            *argc = i;
            if (!argv[i + 1])
                fail(EXIT_USAGE, "no program follows --");
            return argv + i + 1;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    char **program_arguments = split(&argc, argv);
    out_open();
    opts_parse(&opts, argc, argv);
    if ((*options.targets != '\0') == (options.scan == 1))
        fail(EXIT_USAGE, "specify either --targets FILE or --scan 1");
    if (options.scan && program_arguments)
        fail(EXIT_USAGE, "--scan does not run a program");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    print_meta();
    if (!options.scan)
        return guard(program_arguments);
    scan((uint64_t)options.seed);
    print_end(true, NULL);
    return 0;
}
