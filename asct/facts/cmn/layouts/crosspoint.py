"""Registers of a crosspoint (por_mxp_*) and of the debug and trace monitor in it (por_dtm_*).

Sources: CMN-600 TRM (100180) and CMN S3 TRM (107858), por_mxp_*, por_dtm_*; Linux, drivers/perf/arm-cmn.c
(CMN_DTM_*, CMN__*), for what lies between those two meshes.
"""

from __future__ import annotations

from asct.facts.cmn.layouts.base import FieldLayout, RegisterLayout, bit, bits, read_only, read_write
from asct.facts.cmn.layouts.names import DEVICE_NAMES
from asct.facts.cmn.layouts.products import CI_700, CMN_600, CMN_600AE, CMN_S3, Product

_FIRST = (CMN_600, CMN_600AE)
_MONITORED, _WATCHPOINTS, _COUNTERS = range(2), range(4), range(4)


def crosspoint(product: Product, revision: str | None) -> tuple[RegisterLayout, ...]:
    """All of a crosspoint but its identification."""
    base = product.trace_base(True, revision)
    return (
        *(_connected(product, port, offset) for port, offset in enumerate(product.connect)),
        *_meshes(product),
        *(_port(product, port, offset) for port, offset in enumerate(product.port_info)),
        *_domain(product),
        *(_acknowledged(port) for port in _MONITORED if product.part in _FIRST),
        *(() if base is None else monitor(product, base)),
    )


def _connected(product: Product, port: int, offset: int) -> RegisterLayout:
    known = {code: name for code, name in DEVICE_NAMES.items() if code < 1 << product.device_bits}
    fields = [
        bits(f"device_type_p{port}", product.device_bits - 1, 0, "what hangs on it", known),
        bit(f"cal_connected_p{port}", 7, "several devices share it, by a component aggregation layer"),
    ]
    if product.part != CI_700:
        fields.append(bits(f"num_ccs_p{port}", 11, 8, "credited slices up to the aggregation layer"))
        fields += [
            bits(
                f"num_dcs_p{port}_d{device}", 19 + 4 * device, 16 + 4 * device, f"credited slices up to device {device}"
            )
            for device in range(4)
        ]
    return read_only(f"por_mxp_device_port_connect_info_p{port}", offset, f"what hangs on port {port}", *fields)


def _meshes(product: Product) -> tuple[RegisterLayout, ...]:
    return tuple(
        read_only(
            f"por_mxp_mesh_port_connect_info_{side}",
            product.mesh_connect + 8 * number,
            f"the link to the crosspoint in the {side}",
            bits(f"num_mcs_{side}", 3, 0, "credited slices on it"),
        )
        for number, side in enumerate(("east", "north"))
    )


def _port(product: Product, port: int, offset: int) -> RegisterLayout:
    fields = [
        bits(f"num_dev_p{port}", 2, 0, "devices"),
        bit(f"poison_en_p{port}", 4, "data may be marked as poisoned"),
        bit(f"datacheck_en_p{port}", 5, "data carry check bits"),
        bit(f"ext_sam_en_p{port}", 7, "the mesh holds the system address map of the requester"),
        bits(f"rxbuf_num_entries_p{port}", 10, 8, "entries of the input buffer"),
    ]
    if product.part in _FIRST:
        fields.append(bits(f"a4s_num_p{port}", 13, 11, "AXI stream interfaces"))
    elif product.part == CMN_S3:
        fields.append(bits(f"a4s_num_p{port}", 14, 11, "AXI stream interfaces"))
        fields.append(bits(f"dsu_num_p{port}", 30, 28, "DynamIQ shared units"))
        fields.append(bits(f"dmc_num_p{port}", 46, 44, "memory controllers"))
    return read_only(f"por_mxp_p{port}_info", offset, f"what port {port} was built with", *fields)


def _domain(product: Product) -> tuple[RegisterLayout, ...]:
    if product.domain is None:
        return ()
    return (
        read_only(
            "por_dtm_unit_info",
            product.domain,
            "the monitor",
            bits("dtc_domain", 1, 0, "which controller for debug and trace it belongs to"),
        ),
    )


def _acknowledged(port: int) -> RegisterLayout:
    fields = [bit(f"snpdvm_ack_p{port}_d{device}", device, f"device {device} is in the domain") for device in range(4)]
    offset = 0x1010 + 8 * port
    return read_only(f"por_mxp_p{port}_syscoack_status", offset, "devices in the coherence domain", *fields, reset=0)


def monitor(product: Product, base: int) -> tuple[RegisterLayout, ...]:
    """The (first) debug and trace monitor, whose registers begin at `base`."""
    return (
        read_write(
            "por_dtm_control",
            base + 0x100,
            "the monitor as a whole",
            bit("dtm_enable", 0, "watches and counts"),
            bit("trace_tag_enable", 1, "a match tags the transaction"),
            bit("sample_profile_enable", 2, "samples"),
            bit("trace_no_atb", 3, "the trace stays in the crosspoint"),
            reset=0,
        ),
        *(register for number in _WATCHPOINTS for register in _watchpoint(product, base, number)),
        read_write("por_dtm_pmsicr", base + 0x200, "sampling counter", bits("count", 31, 0), reset=0),
        read_write("por_dtm_pmsirr", base + 0x208, "sampling interval", bits("interval", 31, 8), reset=0),
        read_write("por_dtm_pmu_config", base + 0x210, "what the counters count", *_counting(product), reset=0),
        read_write(
            "por_dtm_pmevcnt",
            base + 0x220,
            "counters of events",
            *(bits(f"pmevcnt{n}", 16 * n + 15, 16 * n) for n in _COUNTERS),
            reset=0,
        ),
        read_write(
            "por_dtm_pmevcntsr",
            base + 0x240,
            "counters of events at the last snapshot",
            *(bits(f"pmevcntsr{n}", 16 * n + 15, 16 * n) for n in _COUNTERS),
            reset=0,
        ),
    )


_CHANNELS = {0: "REQ", 1: "RSP", 2: "SNP", 3: "DAT"}
_PACKETS_FIRST = (
    bits("wp_grp", 4, 4, "group of fields that is compared"),
    bit("wp_exclusive", 5, "matches a single flit of a transaction"),
    bit("wp_combine", 6, "both watchpoints of a pair must match"),
    bit("wp_pkt_gen", 8, "a match writes a trace packet"),
    bits("wp_pkt_type", 11, 9, "form of the packet"),
    bit("wp_cc_en", 12, "packets carry a cycle count"),
)
_PACKETS_LATER = (
    bits("wp_grp", 5, 4, "group of fields that is compared"),
    bit("wp_exclusive", 8, "matches a single flit of a transaction"),
    bit("wp_combine", 9, "both watchpoints of a pair must match"),
    bit("wp_pkt_gen", 10, "a match writes a trace packet"),
    bits("wp_pkt_type", 13, 11, "form of the packet"),
    bit("wp_cc_en", 14, "packets carry a cycle count"),
    bits("wp_dev_sel2", 18, 17, "port, upper bits"),
    bits("wp_chn_num", 20, 19, "which of several channels"),
)


def _watchpoint(product: Product, base: int, number: int) -> tuple[RegisterLayout, ...]:
    offset = base + 0x1A0 + 0x18 * number
    way = "up, from the devices" if number < 2 else "down, to the devices"
    return (
        read_write(
            f"por_dtm_wp{number}_config",
            offset,
            f"watchpoint {number}, for flits {way}",
            bit("wp_dev_sel", 0, "port, lowest bit"),
            bits("wp_chn_sel", 3, 1, "channel", _CHANNELS),
            *(_PACKETS_FIRST if product.part in _FIRST else _PACKETS_LATER),
            reset=0,
        ),
        read_write(f"por_dtm_wp{number}_val", offset + 8, "what it looks for", bits("val", 63, 0)),
        read_write(f"por_dtm_wp{number}_mask", offset + 16, "bits that do not count", bits("mask", 63, 0)),
    )


def _counting(product: Product) -> tuple[FieldLayout, ...]:
    select = 5 if product.part in _FIRST else 7
    return (
        bit("pmu_en", 0, "the counters count"),
        bit("pmevcnt01_combined", 1, "counters 0 and 1 are one"),
        bit("pmevcnt23_combined", 2, "counters 2 and 3 are one"),
        bit("pmevcntall_combined", 3, "all four are one"),
        bits("pmevcnt_paired", 7, 4, "counters that go on in the controller, one bit each"),
        bit("cntr_rst", 8, "a snapshot clears the counters"),
        *(bits(f"pmevcnt{n}_global_num", 18 + 4 * n, 16 + 4 * n, "counter of the controller") for n in _COUNTERS),
        *(bits(f"pmevcnt{n}_input_sel", 32 + 8 * n + select, 32 + 8 * n, "what it counts") for n in _COUNTERS),
    )
