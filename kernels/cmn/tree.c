#include "tree.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "kit/fail.h"
#include "kit/out.h"
#include "region.h"

/* Linux, drivers/perf/arm-cmn.c: CMN_NODE_INFO, CMN_CHILD_INFO, CMN_CHILD_NODE_ADDR, CMN_CHILD_NODE_EXTERNAL,
 * CMN_CFGM_PERIPH_ID_01 and CMN_CFGM_INFO_GLOBAL with its CMN_INFO_DEVICE_ISO_ENABLE, CMN_TYPE_CFG, PART_CMN600. */
#define NODE_INFO 0x0000
#define CHILD_INFO 0x0080
#define PERIPH_ID_01 0x0008
#define INFO_GLOBAL 0x0900
#define ISOLATION (UINT64_C(1) << 44)
#define TYPE_ROOT 2
#define PART_CMN600 0x434
#define PART_CMN600AE 0x438

#define CHILD_ADDRESS UINT64_C(0x3fffffff)
#define CHILD_ISOLATED (UINT64_C(1) << 30) /* CMN S3 from r2p0: Arm, cmn-tools, cmn_devmem.py: discover_children */
#define CHILD_EXTERNAL (UINT64_C(1) << 31)

/* The pointers to children are at 0x100 to 0x900 (Arm, CMN-600 TRM (100180), por_cfgm_child_pointer_0-255). In later meshes, an XP
 * has 32 pointers at 0x100 to 0x200. A count that exceeds this range is invalid. */
#define ROOT_CHILDREN_MAX 256
#define CROSSPOINT_CHILDREN_MAX 32

static struct {
    uint32_t part;
    bool isolation;
    const struct node_register *registers;
    size_t count;
    int64_t nodes;
} tree;

struct children {
    uint64_t count, first; /* `first` is the offset of the first pointer */
};

static void print_number(uint64_t value)
{
    printf("%" PRIu64, value);
}

static struct out begin_node(uint64_t offset, int64_t parent)
{
    struct out out = out_begin("sample");
    out_integer(&out, "offset", (int64_t)offset);
    if (parent < 0)
        out_null(&out, "parent");
    else
        out_integer(&out, "parent", parent);
    return out;
}

/* Prints a node without reading it, because an external node may have no power, and reading a node behind an isolated port may stop
 * the machine. */
static void print_skipped(uint64_t offset, int64_t parent, const char *why)
{
    struct out out = begin_node(offset, parent);
    out_text(&out, "skipped", why);
    out_end();
}

static void print_registers(struct out *out, uint64_t offset, uint32_t type)
{
    out_array(out, "regs");
    for (size_t i = 0; i < tree.count; i++) {
        const struct node_register *one = &tree.registers[i];
        uint64_t value;
        if (one->part != tree.part || one->type != type)
            continue;
        out_next(out);
        printf("[%" PRIu32 ",", one->offset);
        if (region_read(offset + one->offset, one->width, &value))
            print_number(value);
        else
            fputs("null", stdout);
        putchar(']');
    }
    out_close_array(out);
}

/* Prints a node, and returns the location of its children. */
static struct children print_node(uint64_t offset, int64_t parent)
{
    struct children children = {0};
    uint64_t info, about;
    if (!region_read(offset + NODE_INFO, 8, &info)) {
        print_skipped(offset, parent, "unreadable");
        return children;
    }
    struct out out = begin_node(offset, parent);
    out_key(&out, "info");
    print_number(info);
    if (region_read(offset + CHILD_INFO, 8, &about)) {
        children.count = about & 0xffff;
        children.first = offset + (about >> 16 & 0xffff);
        out_integer(&out, "children", (int64_t)children.count);
    }
    print_registers(&out, offset, info & 0xffff);
    out_end();
    tree.nodes++;
    return children;
}

static void print_device(uint64_t pointer, uint64_t crosspoint)
{
    uint64_t offset = pointer & CHILD_ADDRESS;
    bool first_mesh = tree.part == PART_CMN600 || tree.part == PART_CMN600AE;
    if (pointer == 0 && !first_mesh)
        return; /* AmpereOneX, erratum AC04_MESH_1: the count is too high. Only CMN-600 may have a device at 0. */
    if (pointer & CHILD_EXTERNAL)
        print_skipped(offset, (int64_t)crosspoint, "external");
    else if (tree.isolation || pointer & CHILD_ISOLATED)
        print_skipped(offset, (int64_t)crosspoint, "isolation");
    else
        print_node(offset, (int64_t)crosspoint);
}

static uint64_t at_most(uint64_t count, uint64_t most)
{
    return count < most ? count : most;
}

static void print_crosspoint(uint64_t offset, uint64_t root)
{
    struct children devices = print_node(offset, (int64_t)root);
    uint64_t pointer;
    for (uint64_t i = 0; i < at_most(devices.count, CROSSPOINT_CHILDREN_MAX); i++)
        if (region_read(devices.first + 8 * i, 8, &pointer))
            print_device(pointer, offset);
}

static void print_mesh(uint64_t root)
{
    uint64_t info, id, global;
    if (!region_read(root + NODE_INFO, 8, &info) || !region_read(root + PERIPH_ID_01, 8, &id) ||
        !region_read(root + INFO_GLOBAL, 8, &global))
        fail(EXIT_ENVIRONMENT, "no configuration node at offset 0x%" PRIx64 ": it cannot be read", root);
    if ((info & 0xffff) != TYPE_ROOT)
        fail(EXIT_ENVIRONMENT, "no configuration node at offset 0x%" PRIx64 ", but 0x%" PRIx64 ": there is no mesh at this address",
             root, info);
    tree.part = (uint32_t)((id >> 32 & 0xf) << 8 | (id & 0xff));
    tree.isolation = (global & ISOLATION) != 0;
    struct out out = out_begin("mesh");
    out_integer(&out, "part", tree.part);
    out_bool(&out, "isolation", tree.isolation);
    out_end();
}

int64_t tree_print(uint64_t root, const struct node_register *registers, size_t count)
{
    uint64_t pointer;
    tree.registers = registers;
    tree.count = count;
    print_mesh(root);
    struct children crosspoints = print_node(root, -1);
    for (uint64_t i = 0; i < at_most(crosspoints.count, ROOT_CHILDREN_MAX); i++)
        if (region_read(crosspoints.first + 8 * i, 8, &pointer))
            print_crosspoint(pointer & CHILD_ADDRESS, root);
    return tree.nodes;
}
