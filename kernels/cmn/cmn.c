/* cmn: reads and prints the configuration registers of a coherent mesh. See README.md. */
#include <unistd.h>

#include "cpu.h"
#include "kit/opts.h"
#include "region.h"
#include "tree.h"
#include "registers.h"

static struct options {
    const char *from, *registers;
    int64_t base, size, root;
} options;

static struct opt table[] = {
    {"base", "", "-1", "physical address of the registers (PERIPHBASE)", OPT_INTEGER, -1, INT64_MAX, NULL, &options.base, false},
    {"size", "bytes", "0", "size of the registers; 0: the whole file", OPT_INTEGER, 0, INT64_MAX, NULL, &options.size, false},
    {"root", "bytes", "0", "offset of the configuration node", OPT_INTEGER, 0, INT64_MAX, NULL, &options.root, false},
    {"from", "", "", "file with an image of the registers, instead of --base", OPT_TEXT, 0, 0, NULL, &options.from, false},
    {"registers", "", "", "PART/TYPE:OFFSET,...;... in hexadecimal: registers to read from each type of node", OPT_TEXT, 0, 0, NULL,
     &options.registers, false},
};

static const struct opts opts = {"cmn", "1.0", "reads the configuration registers of a coherent mesh", table,
                                 sizeof table / sizeof *table};

static void map(void)
{
    if ((options.base >= 0) == (*options.from != '\0'))
        fail(EXIT_USAGE, "specify either --base ADDRESS or --from FILE");
    if (*options.from) {
        region_map_file(options.from, (uint64_t)options.size);
        return;
    }
    if (options.size == 0)
        fail(EXIT_USAGE, "--size is missing");
    if (options.base % sysconf(_SC_PAGESIZE) != 0 || options.base > INT64_MAX - options.size)
        fail(EXIT_USAGE, "--base: %lld cannot be mapped: the address is not page-aligned", (long long)options.base);
    region_map((uint64_t)options.base, (uint64_t)options.size);
}

int main(int argc, char **argv)
{
    static struct node_register registers[REGISTERS_MAX];
    out_open();
    opts_parse(&opts, argc, argv);
    size_t count = registers_parse(options.registers, registers);
    map();
    struct out meta = opts_begin_meta(&opts, CPU_ARCH);
    opts_echo(&opts, &meta);
    out_end();
    out_ready();
    int64_t nodes = tree_print((uint64_t)options.root, registers, count);
    struct out end = out_begin("end");
    out_bool(&end, "ok", true);
    out_integer(&end, "nodes", nodes);
    out_end();
    return 0;
}
