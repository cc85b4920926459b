"""Registers at the edges: requesters (RN-I, RN-D), address maps (RN-SAM), memory (SBSX), other chips (CXG, CCG).

Control and status of the links to other chips are for secure software only, as are the regions of the address maps.

Sources: the Technical Reference Manuals of CMN-600 (100180), CMN-650 (101481) and CMN-700 (102308), unit_info of each
node; Arm, SCP-firmware, cmn700.h and cmn_cyprus_reg.h, for RN-SAM and CCG.
"""

from __future__ import annotations

from asct.facts.cmn.layouts.base import FieldLayout, RegisterLayout, bit, bits, read_only
from asct.facts.cmn.layouts.products import CI_700, CMN_600, CMN_600AE, CMN_650, CMN_700, CMN_S3, Product

_FIRST = (CMN_600, CMN_600AE)
_BUILT = "what the node was built with"
_QUEUES = (
    bits("num_wr_reqs", 9, 0, "writes in flight"),
    bits("num_rd_reqs", 19, 10, "reads in flight"),
    bits("num_rd_bufs", 29, 20, "buffers for what is read"),
)
_REQUESTER_FIRST = (
    *_QUEUES,
    bit("ax_data_256bit", 30, "width of the data", {0: "128 bits", 1: "256 bits"}),
    bit("ax_datapoison_en", 31, "data may be marked as poisoned"),
    bit("force_rdb_prealloc", 32, "a read takes its buffer beforehand"),
    bits("a4s_num", 34, 33, "AXI stream interfaces"),
    bits("a4s_logicalid_base", 43, 36),
)
_REQUESTER_LATER = (
    *_QUEUES,
    bits("ax_data_width", 39, 30, "width of the data, in bits"),
    bit("ax_datapoison_en", 40, "data may be marked as poisoned"),
    bit("force_rdb_prealloc", 41, "a read takes its buffer beforehand"),
    bits("a4s_num", 43, 42, "AXI stream interfaces"),
)
_REQUESTER_650 = (
    *_REQUESTER_LATER,
    bits("a4s_logicalid_base", 51, 44),
    bits("num_atomic_bufs", 61, 52, "buffers for atomic operations"),
    bit("ax_loopback_en", 62),
    bit("ax_mpam_en", 63),
)
_REQUESTER_700 = (
    *_REQUESTER_LATER,
    bits("a4s_logicalid_base", 53, 44),
    bits("num_atomic_bufs", 63, 54, "buffers for atomic operations"),
)
_REQUESTERS = {CMN_600: _REQUESTER_FIRST, CMN_600AE: _REQUESTER_FIRST, CMN_650: _REQUESTER_650, CMN_700: _REQUESTER_700}


def requester(product: Product, prefix: str) -> tuple[RegisterLayout, ...]:
    """RN-I (`por_rni_`) or RN-D (`por_rnd_`)."""
    fields = _REQUESTERS.get(product.part)
    return (read_only(f"{prefix}unit_info", 0x900, _BUILT, *fields),) if fields else ()


def address_map(product: Product) -> tuple[RegisterLayout, ...]:
    """RN-SAM."""
    fields: tuple[FieldLayout, ...] = ()
    if product.part == CI_700:
        return ()
    if product.part in _FIRST:
        fields = (
            bits("num_hnf", 7, 0, "home nodes that addresses are spread over"),
            bits("num_sys_cache_group", 19, 16, "groups of home nodes"),
            bits("num_non_hash_group", 37, 32, "regions with one target each"),
        )
    elif product.part == CMN_700:
        fields = (
            bits("htg_rcomp_lsb", 4, 0, "lowest address bit of a group that is compared"),
            bits("nonhash_rcomp_lsb", 9, 5, "lowest address bit of a region that is compared"),
            bit("htg_range_comp_en", 27, "groups have an end address"),
            bit("nonhash_range_comp_en", 31, "regions have an end address"),
        )
    return (read_only("por_rnsam_unit_info", 0x900, _BUILT, *fields),)


_BRIDGE = (
    bit("axdata_width", 0, "width of the data", {0: "128 bits", 1: "256 bits"}),
    bit("axdata_poison_en", 4, "data may be marked as poisoned"),
    bits("num_outstanding_reads", 15, 8, "reads in flight"),
    bits("num_wr_data_buf", 20, 16, "buffers for what is written"),
)
_BRIDGE_LATER = (
    *_BRIDGE,
    bit("ax_mpam_en", 21),
    bit("ax_cmo_on_aw", 22, "cache maintenance goes by the write channel"),
    bits("mtu_num_rd_data_buf", 30, 23, "buffers for memory tags"),
    bit("pab_en", 31),
    bits("pab_logicalid", 39, 32),
)


def bridge(product: Product) -> tuple[RegisterLayout, ...]:
    """SBSX, the bridge to memory controllers with AXI."""
    fields = _BRIDGE if product.part in _FIRST else _BRIDGE_LATER if product.part in (CMN_650, CMN_700) else ()
    return (read_only("por_sbsx_unit_info", 0x900, _BUILT, *fields),) if fields else ()


_LINK = (
    bit("db_present", 0, "there is a domain bridge"),
    bits("db_lcrd_count", 4, 1, "its credits"),
    bits("tlp_count_tx", 10, 8, "packets in a flit that is sent"),
    bits("tlp_count_rx", 14, 12, "packets in a flit that is received"),
    bits("db_fifo_depth", 21, 16, "depth of its queue"),
)
_CCIX_REQUESTER = (
    bits("num_mem_regions", 4, 0, "regions of memory on other chips"),
    bit("num_mem_region_limit_enabled", 6, "regions have an end address"),
    bits("a4s_logicalid", 15, 8),
    bits("request_tracker_depth", 24, 16, "requests in flight"),
    bits("rdb_depth", 33, 25, "buffers for what is read"),
    bits("wdb_depth", 42, 34, "buffers for what is written"),
    bits("snoop_tracker_depth", 51, 43, "snoops in flight"),
    bits("snoop_databuffer_depth", 60, 52, "buffers for what snoops return"),
)
_CCIX_HOME = (
    bits("request_tracker_depth", 8, 0, "requests in flight"),
    bits("rdb_depth", 17, 9, "buffers for what is read"),
    bits("wdb_depth", 26, 18, "buffers for what is written"),
    bits("snoop_request_sinkbuffer_depth", 35, 27, "snoops that wait"),
    bits("snoop_tracker_depth", 44, 36, "snoops in flight"),
    bits("snoop_databuffer_depth", 53, 45, "buffers for what snoops return"),
    bits("snoop_compack_hazbuf_depth", 62, 54),
)


def gateway(product: Product, code: int) -> tuple[RegisterLayout, ...]:
    """CXRA, CXHA, CXLA (CCIX), CCG_RA, CCG_HA, CCLA (CCIX and CXL), by the number of the type."""
    first = product.part in _FIRST
    known: dict[int, tuple[str, int, tuple[FieldLayout, ...]]] = {}
    if first or product.part == CMN_650:
        known[0x100] = ("por_cxg_ra_unit_info", 0x900, _CCIX_REQUESTER if first else ())
        known[0x101] = ("por_cxg_ha_unit_info", 0x900, _CCIX_HOME if first else ())
    if first or product.part in (CMN_650, CMN_700):
        known[0x102] = ("por_cxla_unit_info", 0x900, _LINK)
    if product.part in (CMN_700, CMN_S3):
        known[0x103] = ("por_ccg_ra_unit_info", 0x900, ())
        known[0x104] = ("por_ccg_ha_unit_info", 0x900, ())
        known[0x105] = ("por_ccla_unit_info", 0x910, ())
    if code not in known:
        return ()
    name, offset, fields = known[code]
    return (read_only(name, offset, _BUILT, *fields),)
