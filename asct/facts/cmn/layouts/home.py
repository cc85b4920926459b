"""Registers of home nodes: HN-F (por_hnf_*), HN-S (cmn_hns_*), and of the node for DVM (por_dn_*).

Most of what configures them can be read by secure software only and reads as zero otherwise; it is left out.

Sources: CMN-600 TRM (100180), por_hnf_*, por_dn_*. Sizes: Arm, cmn-tools, cmn_devmem.py, `hn_cache_geometry`, which has
the sets for each number in slc_size; times 16 ways (12 where they are not a power of two) and lines of 64 bytes.
"""

from __future__ import annotations

from asct.facts.cmn.layouts.base import RegisterLayout, bit, bits, read_only, read_write
from asct.facts.cmn.layouts.names import HN_F
from asct.facts.cmn.layouts.products import CMN_600, CMN_600AE, CMN_650, CMN_700, Product

_FIRST = (CMN_600, CMN_600AE)
_UNTIL_650 = (*_FIRST, CMN_650)
_KIB, _MIB = 1 << 10, 1 << 20
LINE_BYTES = 64

SLC_UNTIL_650 = {
    0: 0, 1: 128 * _KIB, 2: 256 * _KIB, 3: 512 * _KIB, 4: _MIB, 5: 2 * _MIB, 6: 3 * _MIB, 7: 4 * _MIB,
}  # fmt: skip
SLC_LATER = {
    0: 0, 1: 128 * _KIB, 2: 256 * _KIB, 3: 512 * _KIB, 4: _MIB, 5: 2 * _MIB, 6: 3 * _MIB // 2, 7: 3 * _MIB, 8: 4 * _MIB,
    9: 384 * _KIB,
}  # fmt: skip
"""Bytes of system level cache in a home node by slc_size in its unit_info."""


def slc_bytes(product: Product, unit_info: int) -> int | None:
    """Of one home node; None for a number that is not known."""
    if product.part in _UNTIL_650:
        return SLC_UNTIL_650[unit_info & 7]
    return SLC_LATER.get(unit_info & 0xF)


def sf_bytes(product: Product, unit_info: int) -> int | None:
    """Bytes of lines that the snoop filter of one home node can track; None for a number that is not known.

    It has 512 << sf_size sets of 16 ways, after the CMN-650 of sf_num_ways.
    """
    code = unit_info >> 4 & 7
    ways = 16 if product.part in _UNTIL_650 else unit_info >> 54 & 0x3F
    return (512 << code) * ways * LINE_BYTES if code <= 4 and ways else None


def _sized(sizes: dict[int, int]) -> dict[int, str]:
    return {
        number: f"{size / _MIB:g} MiB" if size >= _MIB else f"{size // _KIB} KiB" if size else "none"
        for number, size in sizes.items()
    }


def _unit_info(product: Product, name: str) -> RegisterLayout:
    text = "what the home node was built with"
    sf = {number: f"{512 << number} sets" for number in range(5)}
    if product.part in _FIRST:
        return read_only(
            name,
            0x900,
            text,
            bits("slc_size", 2, 0, "system level cache", _sized(SLC_UNTIL_650)),
            bits("sf_size", 6, 4, "snoop filter", sf),
            bits("num_ways", 12, 8, "ways of the system level cache"),
            bits("tag_ram_lat", 18, 16, "latency of the tags"),
            bits("data_ram_latency", 22, 20, "latency of the data"),
            bits("num_excl", 31, 24, "exclusive monitors"),
            bits("num_poc_entries", 38, 32, "entries of the queue at the point of coherency"),
        )
    later = product.part not in _UNTIL_650
    return read_only(
        name,
        0x900,
        text,
        bits("slc_size", 3 if later else 2, 0, "system level cache", _sized(SLC_LATER if later else SLC_UNTIL_650)),
        bits("sf_size", 6, 4, "snoop filter", sf),
        bits("num_ways", 12, 8, "ways of the system level cache"),
        *((bits("sf_num_ways", 59, 54, "ways of the snoop filter"),) if later else ()),
    )


_POLICIES = {0: "OFF", 2: "MEM_RET", 7: "FUNC_RET", 8: "ON"}
_MODES = {0: "NOSFSLC", 1: "SFONLY", 2: "HAM", 3: "FAM"}
"""SCP-firmware, cmn_cyprus_hns_reg.h: snoop filter and cache off, filter only, half of the ways, all."""

_FIRST_ONLY = (
    read_only(
        "por_hnf_ppu_pwsr",
        0x1008,
        "power state",
        bits("pow_status", 3, 0, "power mode", _POLICIES),
        bits("op_mode_status", 7, 4, "what is in use", _MODES),
        bit("dyn_en_status", 8, "changes by itself"),
        width=4,
    ),
    read_only(
        "por_hnf_ppu_misr",
        0x1014,
        "power control",
        bit("pcsmaccept_status", 0, "the last change was accepted"),
        width=4,
    ),
    read_write(
        "por_hnf_pmu_event_sel",
        0x2000,
        "events that are handed to the counters of the crosspoint",
        *(bits(f"pmu_event{number}_id", 8 * number + 4, 8 * number) for number in range(4)),
        bits("pmu_occup1_id", 34, 32, "what occupancy is counted of"),
        reset=0,
    ),
    read_only(
        "por_hnf_errstatus_NS",
        0x3110,
        "error record",
        bit("DE", 23, "deferred"),
        bit("CE", 24, "corrected"),
        bit("MV", 26, "errmisc is valid"),
        bit("OF", 27, "there were more"),
        bit("UE", 29, "not corrected"),
        bit("V", 30, "there was one"),
        bit("AV", 31, "erraddr is valid"),
        reset=0,
    ),
)


def home(product: Product, code: int) -> tuple[RegisterLayout, ...]:
    """HN-F or HN-S, by the number of its type."""
    prefix = "por_hnf" if code == HN_F else "cmn_hns"
    only = _FIRST_ONLY if product.part in _FIRST and code == HN_F else ()
    return (_unit_info(product, f"{prefix}_unit_info"), *only)


def dvm(product: Product) -> tuple[RegisterLayout, ...]:
    """DN, the node for DVM operations, of the products whose manual was looked at."""
    if product.part not in (*_UNTIL_650, CMN_700):
        return ()
    fields = (bit("dvm_v8_1_en", 0, "DVM operations of Armv8.1"),)
    return (read_only("por_dn_build_info", 0x900, "what the node was built with", *fields, reset=1),)
