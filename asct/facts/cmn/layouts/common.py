"""Registers that every node has, and those of the configuration node.

Sources: Linux, drivers/perf/arm-cmn.c (CMN_NODE_INFO, CMN_CHILD_INFO, CMN_CFGM_INFO_GLOBAL and its fields); CMN-600 TRM
(100180), por_cfgm_* and por_info_global; Arm, cmn-tools, cmn_devmem.py, for the fields of the later por_info_global.
"""

from __future__ import annotations

from asct.facts.cmn.layouts.base import FieldLayout, RegisterLayout, bit, bits, read_only
from asct.facts.cmn.layouts.names import NODE_TYPES, RN_SAM, XP
from asct.facts.cmn.layouts.products import CMN_600, CMN_600AE, CMN_700, CMN_S3, Product

_FIRST = (CMN_600, CMN_600AE)
_LATER = (CMN_700, CMN_S3)


def node(prefix: str, product: Product, code: int) -> tuple[RegisterLayout, ...]:
    """What identifies a node and counts its children. `prefix` is that of their names (`por_hnf_`)."""
    info = [bits("node_type", 15, 0, "type of the node", NODE_TYPES), bits("node_id", 31, 16, "where it is")]
    if code != RN_SAM:
        info.append(bits("logical_id", 47, 32, "counts the nodes of this type"))
    if code == XP and product.part in _LATER:
        info.append(bits("num_device_port", 51, 48, "ports for devices"))
    return (
        read_only(f"{prefix}node_info", 0x0, "identifies the node", *info),
        read_only(
            f"{prefix}child_info",
            0x80,
            "where the pointers to the nodes below it are",
            bits("child_count", 15, 0, "how many there are"),
            bits("child_ptr_offset", 31, 16, "offset of the first"),
        ),
    )


def configuration(product: Product) -> tuple[RegisterLayout, ...]:
    """The configuration node, the root of the tree."""
    return (
        *(_identification("periph_id", number, 0x8 + 4 * number) for number in range(0, 8, 2)),
        *(_identification("component_id", number, 0x28 + 4 * number) for number in range(0, 4, 2)),
        read_only("por_info_global", 0x900, "what the whole mesh was built with", *_global_fields(product)),
        *(() if product.part in _FIRST else (_GLOBAL_1,)),
        *(_ERRORS if product.part in _FIRST else ()),
    )


_RESETS = {"periph_id": {}, "component_id": {0: 0xF0_0000_000D, 2: 0xB1_0000_0005}}
"""CMN-600 TRM: the preamble of a component's identification is the same for all."""


def _identification(what: str, number: int, offset: int) -> RegisterLayout:
    fields = [bits(f"{what}_{number}", 7, 0), bits(f"{what}_{number + 1}", 39, 32)]
    if what == "periph_id" and number == 0:
        fields = [
            bits("periph_id_0", 7, 0, "part number, bits 7 to 0"),
            bits("periph_id_1", 39, 32, "part number, bits 11 to 8, in bits 3 to 0"),
        ]
    elif what == "periph_id" and number == 2:
        fields = [
            bits("periph_id_2", 7, 0, "revision in bits 7 to 4"),
            bits("periph_id_3", 39, 32),
        ]
    name = f"por_cfgm_{what}_{number}_{what}_{number + 1}"
    return read_only(name, offset, "identification", *fields, reset=_RESETS[what].get(number))


_WIDTHS = (
    bits("chi_req_rsvdc_width", 7, 0, "width of RSVDC in a request, in bits"),
    bits("chi_req_addr_width", 15, 8, "width of an address in a request, in bits"),
    bits("physical_address_width", 23, 16, "width of a physical address, in bits"),
)
_GLOBAL_FIRST = (
    bit("datacheck_en", 24, "data carry check bits"),
    bit("flit_parity_en", 25, "flits carry parity"),
    bits("num_remote_rnf", 35, 28, "RN-Fs on other chips"),
    bits("rnsam_num_add_hashed_tgt", 41, 36, "hashed targets beyond the HN-Fs"),
    bit("r2_enable", 48, "features of r2"),
    bit("chic_mode_en", 49, "CHI issue C", {0: "CHI-B", 1: "CHI-C"}),
)
_ISSUES = {number: f"CHI-{letter}" for number, letter in enumerate("ABCDEFG", start=1)}


def _global_fields(product: Product) -> tuple[FieldLayout, ...]:
    if product.chi is None:
        return (*_WIDTHS, *_GLOBAL_FIRST)
    chi = product.chi
    return (
        *_WIDTHS,
        *((bit("device_iso_enable", 44, "devices may be isolated"),) if product.part == CMN_S3 else ()),
        bit("mpam_en", 49, "memory partitioning and monitoring"),
        bits("dat_vc_num", 51, 50, "data channels"),
        bits("rsp_vc_num", 53, 52, "response channels"),
        bits("chi_version", chi + 2, chi, "issue of CHI", _ISSUES),
        bit("multiple_dtm_en", 63, "a debug and trace monitor for every two ports"),
    )


_GLOBAL_1 = read_only(
    "por_info_global_1",
    0x908,
    "what the whole mesh was built with, continued",
    bits("req_vc_num", 1, 0, "request channels"),
    bits("snp_vc_num", 3, 2, "snoop channels"),
)
_ERRORS = (
    *(
        read_only(
            f"por_cfgm_errgsr{number}_NS", 0x3100 + 8 * number, "nodes that reported an error, one bit each", reset=0
        )
        for number in range(4)
    ),
    read_only("por_cfgm_erridr", 0x3FC8, "error records", bits("recnum", 15, 0, "how many there are")),
)
