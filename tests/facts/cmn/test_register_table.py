"""The table of registers, compared with documents from which it was not created: Arm's architectures for error records
(RAS, DDI 0587), debug components (CoreSight, IHI 0029) and power policy units (DEN 0051), and the arm_cmn driver of
Linux.

No mesh is available: these tests compare documents, and every other test of registers reads synthetic hardware."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from asct.facts.cmn.layouts import RegisterLayout, node_types, products, registers_of
from tests.facts.cmn import generator as hw

CMN_600, CMN_650, CMN_700, CMN_S3 = 0x434, 0x436, 0x43C, 0x43E


def nodes() -> Iterator[tuple[int, str | None, int, dict[str, RegisterLayout]]]:
    for part, product in products().items():
        for revision in product.revisions or (None,):
            for code in node_types():
                yield part, revision, code, {one.name: one for one in registers_of(part, revision, code)}


def named(part: int, revision: str, code: int) -> dict[str, RegisterLayout]:
    return {one.name: one for one in registers_of(part, revision, code)}


def test_every_non_secure_register_of_a_cmn_600_is_listed() -> None:
    """The numbers of registers that cmn600.regdefs in cmn-tools marks as non-secure and readable, by node type."""
    found = {code: len(registers_of(CMN_600, "r1p3", code)) for code in node_types() if code < hw.CCG_RA}
    assert {code: count for code, count in found.items() if count > 2} == {
        hw.DVM: 4, hw.CFG: 282, hw.DTC: 31, hw.HN_I: 9, hw.HN_F: 16, hw.XP: 64, hw.SBSX: 9, hw.RN_I: 4, 0xD: 4,
        hw.RN_SAM: 3, hw.CXRA: 4, hw.CXHA: 4, hw.CXLA: 13,
    }  # fmt: skip


def test_the_nodes_of_a_cmn_700_r3_that_are_listed_in_full() -> None:
    """Like the test above, based on cmn700-r3.regdefs. docs/cmn-registers.md lists the nodes of which only a part is
    included."""
    defined = {
        hw.DVM: 4, hw.CFG: 325, hw.DTC: 31, hw.HN_I: 11, 0x11: 11, hw.HN_F: 26, hw.HN_S: 26, hw.XP: 193, hw.SBSX: 9,
        0x10: 10, hw.RN_I: 5, 0xD: 5, hw.RN_SAM: 4, hw.CXRA: 4, hw.CXHA: 10, hw.CXLA: 13, hw.CCG_RA: 4, hw.CCG_HA: 6,
        hw.CCLA: 15, 0x8: 14, 0x201: 14, 0x9: 35, 0x202: 35,
    }  # fmt: skip
    assert {code: len(registers_of(CMN_700, "r3p0", code)) for code in defined} == defined


def test_the_nodes_of_a_cmn_700_r1_that_are_listed_in_full() -> None:
    """Like the test above, based on cmn700-r1.regdefs."""
    defined = {hw.DVM: 4, hw.DTC: 31, hw.HN_I: 10, 0x11: 10, hw.HN_F: 26, 0x8: 14, 0x9: 35, 0x10: 10}
    assert {code: len(registers_of(CMN_700, "r1p0", code)) for code in defined} == defined
    names = {one.name for one in registers_of(CMN_700, "r1p0", 0x8)}
    assert {"por_hnf_s_mpam_idr", "por_hnf_s_mpam_mbwumon_idr"} < names, "hnf, which r3 spells hns"


def test_the_nodes_of_a_cmn_650_that_are_listed_in_full() -> None:
    """Like the test above, based on cmn650.regdefs. Registers that it shares with CMN-700 r3 are listed for the
    revisions between them as well."""
    defined = {
        hw.DVM: 4, hw.CFG: 323, hw.DTC: 31, hw.HN_I: 10, 0x11: 10, hw.HN_F: 26, hw.XP: 149, hw.SBSX: 9, 0x9: 35,
        hw.RN_I: 5, 0xD: 5, hw.RN_SAM: 3, hw.CXRA: 4, hw.CXHA: 10, hw.CXLA: 13,
    }  # fmt: skip
    assert {code: len(registers_of(CMN_650, "r2p0", code)) for code in defined} == defined
    for code in defined:
        first, last = named(CMN_650, "r2p0", code), named(CMN_700, "r3p0", code)
        between = named(CMN_700, "r1p0", code)
        shared = {name for name in first.keys() & last.keys() if first[name] == last[name]}
        assert shared <= between.keys() and all(between[name] == first[name] for name in shared)


def test_the_nodes_of_a_cmn_s3_r2_that_are_listed_in_full() -> None:
    """Like the test above, based on cmns3-r2.regdefs."""
    defined = {
        hw.DVM: 4, hw.DTC: 31, hw.HN_I: 24, 0x11: 24, hw.HN_S: 40, hw.XP: 231, hw.SBSX: 22, 0x10: 24,
        hw.RN_I: 5, 0xD: 5, hw.RN_SAM: 5, hw.CXLA: 13, hw.CCG_RA: 5, 0x104: 6, 0x105: 23, 0x1000: 2,
        hw.CFG: 1747, 0x201: 6, 0x202: 37,
    }  # fmt: skip
    assert {code: len(registers_of(CMN_S3, "r2p0", code)) for code in defined} == defined
    assert len(registers_of(CMN_S3, "r0p0", 0xD)) == 5, "cmns3-r0.regdefs"


@pytest.mark.parametrize(
    ("part", "revision", "base", "count"), [(CMN_700, "r3p0", 0x2000, 31), (CMN_S3, "r2p0", 0xA000, 35)]
)
def test_a_crosspoint_has_four_monitors(part: int, revision: str, base: int, count: int) -> None:
    """Each monitor has the registers of the first one, at an additional offset of 0x200 (Linux, arm-cmn.c:
    CMN_DTM_UNIT_INFO, `dtm->base`)."""
    found = named(part, revision, hw.XP)
    first = {name: one for name, one in found.items() if base + 0x100 <= one.offset < base + 0x300}
    assert len(first) == count
    for number in (1, 2, 3):
        for name, one in first.items():
            other = found[f"{name}_dt{number}"]
            assert (other.offset - one.offset, other.fields) == (0x200 * number, one.fields)
    assert not [name for name in named(CMN_600, "r3p0", hw.XP) if "_dt" in name.replace("_dtm_", "")]


def test_ports_and_monitors_of_a_cmn_650_are_where_linux_reads_them() -> None:
    """drivers/perf/arm-cmn.c: CMN_MXP__CONNECT_INFO, CI700_CONNECT_INFO_P2_5_OFFSET, CMN_DTM_UNIT_INFO."""
    found = named(CMN_650, "r2p0", hw.XP)
    ports = [found[f"por_mxp_device_port_connect_info_p{port}"].offset for port in range(6)]
    assert ports == [0x8 + 8 * port + (0x10 if port >= 2 else 0) for port in range(6)]
    assert [found[name].offset for name in ("por_dtm_unit_info", "por_dtm_control_dt2")] == [0x910, 0x2100 + 2 * 0x200]


def test_a_reset_value_has_no_bits_outside_of_the_fields() -> None:
    for *_, registers in nodes():
        for one in registers.values():
            mask = sum(((1 << (field.msb - field.lsb + 1)) - 1) << field.lsb for field in one.fields)
            assert not one.fields or not (one.reset or 0) & ~mask, one.name


MASKS = {
    (CMN_650, "r2p0"): {
        hw.CFG: {"por_info_global": 0xFFFF_83FF_FFFF_FFFF},
        hw.HN_F: {"por_hnf_unit_info_1": 0xFF0F, "por_hnf_pmu_event_sel": 0x7_3F3F_3F3F,
            "por_hnf_errmisc_NS": 0xDFFF_FFFF_0003_7FFF},
        hw.XP: {"por_mxp_p5_info": 0xFF_3FB7, "por_dtm_wp0_config": 0x7_FFFF, "por_dtm_wp3_config_dt2": 0x7_FDFF,
            "por_dtm_fifo_entry3_2": 2**64 - 1, "por_mxp_errmisc_NS": 0x87FF_0000_007F_FFFF},
        0x9: {"por_hnf_mpam_idr": 0xEFFF_FFFF, "por_hnf_ns_mpamcfg_cmax": 0xFC00},
        hw.RN_I: {"por_rni_unit_info": 2**64 - 1, "por_rni_unit_info2": 0x1F_FFFF,
            "por_rni_pmu_event_sel": 0x1F1F_1F1F},
        hw.RN_SAM: {"por_rnsam_unit_info": 0x1F_003F_000F_00FF},
        hw.CXRA: {"por_cxg_ra_unit_info": 0x1FFF_FFFF_FFFF_FF5F},
        hw.CXHA: {"por_cxg_ha_unit_info2": 0x3FF, "por_cxg_ha_errmisc_NS": 0x1FF_0000_0000_3FF7},
    },
    (CMN_700, "r1p0"): {
        hw.HN_F: {"por_hnf_pmu_event_sel": 0x1C1F_3F3F_3F3F, "por_hnf_errmisc_NS": 0xDFFF_FFFF_0003_7FFF},
        hw.CCG_HA: {"por_ccg_ha_unit_info": 0x7FFF_FFFF_FFFF_FFFF, "por_ccg_ha_unit_info2": 0x3_FFFF_FFFF_FFFF},
    },
    (CMN_700, "r3p0"): {
        hw.HN_S: {"cmn_hns_pmu_event_sel": 0x1DFF_3F3F_3F3F, "cmn_hns_errmisc_NS": 0xDFFF_FFFF_4FF3_7FFF},
        0x201: {"cmn_hns_s_mpam_mbw_idr": 0x1FFF_7C3F},
        hw.CXRA: {"por_cxg_ra_unit_info": 0x7FFF_FFFF_FFFF_FF5F},
        hw.CCG_RA: {"por_ccg_ra_unit_info": 0x7FFF_FFFF_FFFF_FF1F, "por_ccg_ra_pmu_event_sel": 0xF_FFFF_FFFF},
        hw.CCG_HA: {"por_ccg_ha_unit_info": 0x7FFF_FFFF_FFFF_FFFF, "por_ccg_ha_unit_info2": 0xFFF_FFFF_FFFF_FFFF,
            "por_ccg_ha_unit_info3": 0x7FF},
        hw.CCLA: {"por_ccla_unit_info": 0xFF_FF80_1FFF, "por_ccla_permsg_ctl": 0x3F03},
    },
}  # fmt: skip
"""The bits that the definitions describe as the bits of fields. The fields themselves are listed separately."""


def test_fields_cover_the_bits_that_the_definitions_name() -> None:
    for (part, revision), by_node in MASKS.items():
        for code, masks in by_node.items():
            found = named(part, revision, code)
            assert {name: sum((1 << f.msb + 1) - (1 << f.lsb) for f in found[name].fields) for name in masks} == masks


def test_the_reset_values_of_gateways_decode_as_powers_of_two() -> None:
    """The depths of queues according to the RESET lines of cmn650, cmn700-r1 and cmn700-r3.regdefs."""
    after_reset = {
        (CMN_650, "r2p0", hw.CXRA): 0x208_0200_2100_0006,
        (CMN_650, "r2p0", hw.CXHA): 0x404_1008_0201_0100,
        (CMN_700, "r3p0", hw.CXRA): 0x820_0800_8400_0006,
        (CMN_700, "r3p0", hw.CCG_RA): 0x820_0800_8400_0006,
        (CMN_700, "r1p0", hw.CCG_HA): 0x404_1008_0201_0100,
        (CMN_700, "r3p0", hw.CCG_HA): 0x404_1004_0201_0100,
    }
    for (part, revision, code), value in after_reset.items():
        (info,) = (one for one in registers_of(part, revision, code) if one.offset == 0x900)
        depths = [one.of(value) for one in info.fields if one.name.endswith("_depth")]
        assert len(depths) >= 5 and all(depth.bit_count() == 1 for depth in depths), (info.name, depths)


RECORD = {"errfr": 0x00, "errctlr": 0x08, "errstatus": 0x10, "erraddr": 0x18, "errmisc": 0x20, "errmisc1": 0x28}
"""DDI 0587, error record register view: ERR<n>FR, CTLR, STATUS, ADDR, MISC0, MISC1."""
STATUS = {"AV": 31, "V": 30, "UE": 29, "OF": 27, "MV": 26, "CE": 24, "DE": 23}


def test_error_records_have_the_layout_of_the_architecture() -> None:
    seen = Counter[str]()
    for part, _, code, registers in nodes():
        offsets = {
            match[1]: one
            for name, one in registers.items()
            if (match := re.fullmatch(r"por_[a-z]+_(err(?:fr|ctlr|status|addr|misc1?))_(?:NS|ns)", name))
        }
        if "errfr" not in offsets:
            continue
        base = offsets["errfr"].offset
        assert base == (0xE040 if part == CMN_S3 else 0x3100)
        for name, one in offsets.items():
            place = 0x28 if (name, code) == ("errmisc", hw.XP) else RECORD[name]
            assert one.offset - base == place, one.name
        fields = {field.name.upper(): field.lsb for field in offsets["errstatus"].fields}
        assert {name: fields[name] for name in STATUS} == STATUS
        seen[products()[part].kind] += 1
    assert seen.keys() >= {"CMN-600", "CMN-700", "CMN S3"}


def test_the_arrays_of_error_records_have_the_layout_of_the_architecture() -> None:
    """DDI 0587, memory-mapped view of a group of error records: 64 bytes for each, then the registers of the group."""
    group = {
        "errgsr": 0xE00, "erriidr": 0xE10, "errdevaff": 0xFA8, "errdevarch": 0xFB8, "errdevid": 0xFC8,
        "errpidr45": 0xFD0, "errpidr01": 0xFE0, "errpidr23": 0xFE8, "errcidr01": 0xFF0, "errcidr23": 0xFF8,
    }  # fmt: skip
    records = {
        f"err{kind}_{record}": 64 * record + RECORD[f"err{kind}"] for record in range(56) for kind in ("fr", "status")
    }
    found = {name: one.offset for name, one in named(CMN_S3, "r2p0", hw.CFG).items() if "_sra_" in name}
    assert found == {
        f"por_{name}_sra_{array}": 0x4000 + 0x1000 * array + at
        for array in range(12)
        for name, at in (records | group).items()
    }


COMPONENT = {
    "claim": 0xFA0, "devaff": 0xFA8, "lsr": 0xFB0, "authstatus_devarch": 0xFB8, "devid": 0xFC0, "devtype": 0xFC8,
    "pidr45": 0xFD0, "pidr67": 0xFD8, "pidr01": 0xFE0, "pidr23": 0xFE8, "cidr01": 0xFF0, "cidr23": 0xFF8,
}  # fmt: skip
"""IHI 0029, two 32-bit registers each: CLAIMSET and CLAIMCLR, DEVAFF0 and 1, LAR and LSR, AUTHSTATUS and DEVARCH,
DEVID2 and 1, DEVID and DEVTYPE, PIDR4 to 7, PIDR0 to 3, CIDR0 to 3."""


@pytest.mark.parametrize(
    ("part", "revision", "moved"),
    [
        (CMN_600, "r1p3", 0x2DA0 - 0xFA0),
        (CMN_650, "r2p0", 0),
        (CMN_700, "r1p0", 0),
        (CMN_700, "r3p0", 0),
        (CMN_S3, "r2p0", 0),
    ],
)
def test_a_controller_is_identified_as_the_architecture_asks(part: int, revision: str, moved: int) -> None:
    found = named(part, revision, hw.DTC)
    assert {name: found[f"por_dt_{name}"].offset - moved for name in COMPONENT} == COMPONENT
    preamble = [found[name].reset or 0 for name in ("por_dt_cidr01", "por_dt_cidr23")]
    assert [byte for word in preamble for byte in (word & 0xFF, word >> 32)] == [0x0D, 0x9F, 0x05, 0xB1]
    low, high = (found["por_dt_pidr01"].reset or 0) & 0xFF, (found["por_dt_pidr01"].reset or 0) >> 32
    assert low | (high & 0xF) << 8 == CMN_600, "the part number, which all products have kept"


@pytest.mark.parametrize(
    ("part", "revision", "code", "base"),
    [
        (CMN_600, "r1p3", hw.HN_F, 0x1000),
        (CMN_650, "r2p0", hw.HN_F, 0x1C00),
        (CMN_700, "r3p0", hw.HN_F, 0x1C00),
        (CMN_700, "r3p0", hw.HN_S, 0x1C00),
        (CMN_S3, "r2p0", hw.HN_S, 0x1900),
    ],
)
def test_a_home_node_has_the_power_policy_unit_of_the_architecture(
    part: int, revision: str, code: int, base: int
) -> None:
    registers = {name.split("_ppu_")[1]: one for name, one in named(part, revision, code).items() if "_ppu_" in name}
    found = {name: one.offset - base for name, one in registers.items()}
    assert found == {"pwsr": 0x008, "misr": 0x014, "idr0": 0xFB0, "idr1": 0xFB4, "iidr": 0xFC8, "aidr": 0xFCC}
    implementer = registers["iidr"]
    values = {field.name: field.of(implementer.reset or 0) for field in implementer.fields}
    assert (values["implementer"], values["product_id"]) == (0x43B, CMN_600)


@pytest.mark.parametrize(
    ("part", "revision", "controller", "crosspoint"),
    [
        (CMN_600, "r1p3", 0x2000, 0x2000),
        (CMN_700, "r3p0", 0x2000, 0x2000),
        (CMN_S3, "r0p0", 0xD900, 0xD900),
        (CMN_S3, "r2p0", 0xD900, 0xA000),
    ],
)
def test_counters_are_where_linux_programs_them(part: int, revision: str, controller: int, crosspoint: int) -> None:
    """drivers/perf/arm-cmn.c: CMN_PMU_OFFSET, CMN_S3_PMU_OFFSET, CMN_S3_DTM_OFFSET, CMN_DT_*, CMN_DTM_*."""
    dt = {name: one.offset - controller for name, one in named(part, revision, hw.DTC).items()}
    assert dt["por_dt_dtc_ctl"] + controller == 0xA00
    assert [dt[f"por_dt_{name}"] for name in ("pmevcntAB", "pmevcntCD", "pmccntr", "pmcr", "pmovsr", "pmssr")] == [
        0x00, 0x10, 0x40, 0x100, 0x118, 0x128,
    ]  # fmt: skip
    dtm = {name: one.offset - crosspoint for name, one in named(part, revision, hw.XP).items()}
    for number in range(4):
        row = [dtm[f"por_dtm_wp{number}_{name}"] for name in ("config", "val", "mask")]
        assert row == [0x1A0 + 0x18 * number + 8 * at for at in range(3)]
    assert [dtm[f"por_dtm_{name}"] for name in ("control", "pmu_config", "pmevcnt", "pmevcntsr")] == [
        0x100, 0x210, 0x220, 0x240,
    ]  # fmt: skip


def test_the_reset_values_of_a_cmn_700_r3_decode_as_its_default_configuration() -> None:
    """The reset values of cmn700-r3.regdefs: 48 address bits, CHI-D, one channel of each kind, 128 home nodes."""
    root, maps = named(CMN_700, "r3p0", hw.CFG), named(CMN_700, "r3p0", hw.RN_SAM)
    first = {one.name: one.of(0x4014_0000_0330_3008) for one in root["por_info_global"].fields}
    assert [first[name] for name in ("physical_address_width", "chi_version", "dat_vc_num", "rsp_vc_num")] == [
        48,
        4,
        1,
        1,
    ]
    more = {one.name: one.of(0x2_4205) for one in root["por_info_global_1"].fields}
    assert (more["req_vc_num"], more["snp_vc_num"]) == (1, 1)
    sam = {one.name: one.of(0x0110_0040_AF08_4080) for one in maps["por_rnsam_unit_info"].fields}
    assert [sam[name] for name in ("num_hnf", "num_htg", "num_sys_cache_group", "num_non_hash_group")] == [
        128,
        32,
        8,
        64,
    ]
    assert sam["htg_range_comp_en"] == sam["nonhash_range_comp_en"] == 1
    again = {one.name: one.of(0x348_4020_8210) for one in maps["por_rnsam_unit_info1"].fields}
    assert (again["htg_rcomp_lsb"], again["nonhash_rcomp_lsb"]) == (16, 16)


def test_memory_partitioning_has_the_layout_of_the_architecture() -> None:
    """DDI 0598, memory-mapped registers of an MPAM component: offsets from MPAMF_IDR."""
    base = 0x1000
    found = {name: one.offset - base for name, one in named(CMN_700, "r3p0", 0x202).items()}
    placed = {
        "idr": 0x00, "iidr": 0x18, "aidr": 0x20, "impl_idr": 0x28, "cpor_idr": 0x30, "ccap_idr": 0x38, "mbw_idr": 0x40,
        "pri_idr": 0x48, "partid_nrw_idr": 0x50, "msmon_idr": 0x80, "csumon_idr": 0x88, "mbwumon_idr": 0x90,
    }  # fmt: skip
    assert {name: found[f"cmn_hns_mpam_{name}"] for name in placed} == placed
    settings = {"part_sel": 0x100, "cmax": 0x108, "mbw_min": 0x200, "mbw_max": 0x208, "pri": 0x400, "cpbm": 0x1000}
    assert {name: found[f"cmn_hns_ns_mpamcfg_{name}"] for name in settings} == settings
    assert found["cmn_hns_ns_msmon_cfg_mon_sel"] == 0x800


def test_a_cmn_s3_reports_one_virtual_channel_of_each_kind_after_reset() -> None:
    """The reset values of cmns3-r2.regdefs, which belong to the default configuration."""
    found = named(CMN_S3, "r2p0", hw.CFG)
    after = {field.name: field.of(0x10_0090_8249) for field in found["por_info_global_1"].fields}
    assert [after[f"{kind}_vc_num"] for kind in ("req", "snp", "dat", "rsp")] == [1, 1, 1, 1]
    before = {field.name: field.of(0x400_0000_0330_3008) for field in found["por_info_global"].fields}
    assert (before["chix_ver"], before["mxp_multiple_dtm_en"], before["physical_address_width"]) == (4, 0, 48)
    assert [field.name for field in named(CMN_S3, "r1p0", hw.CFG)["por_info_global_1"].fields] == [
        "req_vc_num", "snp_vc_num",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "name", "reset", "expected"),
    [
        (hw.RN_I, "por_rni_unit_info", 0x80_0120_0180_8020, {
            "num_wr_reqs": 32, "num_rd_reqs": 32, "num_rd_bufs": 24, "ax_data_width": 128, "num_atomic_bufs": 2,
        }),
        (hw.RN_I, "por_rni_unit_info2", 0x1A_2000_020B, {"id_width": 11, "ax_mpam_en": 0, "num_prealloc_bufs": 8}),
        (hw.HN_I, "por_hni_unit_info", 0x2040_2008_0020, {"num_excl": 32, "num_ax_reqs": 32, "num_wr_data_buf": 16}),
        (hw.HN_S, "cmn_hns_unit_info", 0x2008_0000_0000_0000, {"mpam_ns_num_csumon": 8, "slc_size": 0}),
        (hw.RN_SAM, "por_rnsam_unit_info", 0x110_0040_AF08_4080, {
            "num_hnf": 128, "num_htg": 32, "num_non_hash_group": 64,
        }),
        (hw.RN_SAM, "por_rnsam_unit_info2", 0x821_6102_0100_2040, {
            "num_hnp": 64, "num_misc": 16, "hnsam_rcomp_lsb": 16,
        }),
        (hw.CCG_RA, "por_ccg_ra_unit_info", 0x8820_0800_8400_0006, {
            "num_mem_regions": 6, "request_tracker_depth": 256,
        }),
        (0x104, "por_ccg_ha_unit_info", 0x404_1004_0201_0100, {
            "request_tracker_depth": 256, "wdb_depth": 128, "rdb_depth": 128,
        }),
        (0x10, "por_mtu_unit_info", 0x10_4100, {"mtu_num_outstanding_reqs": 32, "mtu_num_data_buf": 16}),
    ],
)  # fmt: skip
def test_the_reset_values_of_a_cmn_s3_decode_as_round_sizes(
    code: int, name: str, reset: int, expected: dict[str, int]
) -> None:
    """The reset values of cmns3-r2.regdefs, which belong to the default configuration."""
    fields = {field.name: field for field in named(CMN_S3, "r2p0", code)[name].fields}
    assert {key: fields[key].of(reset) for key in expected} == expected
    assert not reset & ~sum(((1 << (one.msb - one.lsb + 1)) - 1) << one.lsb for one in fields.values())
