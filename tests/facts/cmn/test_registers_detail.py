"""Individual registers: which ones are requested, and how their values are interpreted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.layouts import RegisterLayout, devices, node_types, products, registers_of
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import Mesh, Register
from tests.facts.cmn import generator as hw
from tests.facts.cmn.generator import build
from tests.facts.cmn.shapes import SHAPES, slices
from tests.facts.cmn.test_registers import read

BASE = 0x40_0000_0000


def layouts() -> Iterator[tuple[int, int, RegisterLayout]]:
    for part, product in products().items():
        for revision in (None, *product.revisions):
            for code in node_types():
                yield from ((part, code, one) for one in registers_of(part, revision, code))


def test_no_two_registers_of_a_node_share_a_place_or_a_name() -> None:
    for part, product in products().items():
        for revision in (None, *product.revisions):
            for code in node_types():
                found = registers_of(part, revision, code)
                assert len({one.offset for one in found}) == len({one.name for one in found}) == len(found)


def test_registers_lie_within_a_node_and_are_aligned() -> None:
    for part, _, layout in layouts():
        size = 0x4000 if part in (0x434, 0x436, 0x438) else 0x10000
        assert layout.offset % layout.width == 0 and layout.offset + layout.width <= size, layout
        assert layout.width in (4, 8) and layout.description


def test_fields_do_not_overlap_and_fit() -> None:
    for _, _, layout in layouts():
        taken = 0
        for field in layout.fields:
            mask = ((1 << (field.msb - field.lsb + 1)) - 1) << field.lsb
            assert 0 <= field.lsb <= field.msb < 8 * layout.width and not taken & mask, (layout.name, field)
            assert all(0 <= value <= mask >> field.lsb for value in field.values), (layout.name, field)
            taken |= mask
        assert layout.reset is None or layout.reset < 1 << 8 * layout.width


SECURE = (
    "cfg_ctl",
    "aux_ctl",
    "sam_control",
    "secure",
    "qos_control",
    "override",
    "rnsam_status",
    "ppu_pwpr",
    "link0_ctl",
)
"""Parts of the names of registers that only secure software may read."""
ACTING = ("_clr", "pmsrr", "err_inj", "dbgrd")
"""Parts of the names of registers whose writes cause an action."""


def test_nothing_is_listed_that_is_for_secure_software_or_acts() -> None:
    for _, _, layout in layouts():
        assert not [part for part in (*SECURE, *ACTING) if part in layout.name], layout.name


def test_what_discovery_reads_is_listed_or_read_by_the_driver() -> None:
    for part, product in products().items():
        for code, offsets in product.discovery().items():
            listed = {one.offset for one in registers_of(part, "r0p0", code)}
            assert set(offsets) - listed <= {0x908}


def find(mesh: Mesh, node: str, name: str) -> Register:
    (found,) = [one for one in mesh.registers if (one.node, one.name) == (node, name)]
    return found


def test_a_home_node() -> None:
    mesh = read(SHAPES["CMN-600 8x8"](), BASE)
    register = find(mesh, "HN-F 0", "por_hnf_unit_info")
    node = next(node for node in mesh.nodes if (node.type, node.logical_id) == ("HN-F", 0))
    assert register.node_offset == node.offset
    assert register.address == BASE + register.node_offset + 0x900
    assert (register.value, register.access, register.offset) == (0x1035, "RO", 0x900)
    fields = {field.name: (field.msb, field.lsb, field.value, field.meaning) for field in register.fields}
    assert fields["slc_size"] == (2, 0, 5, "2 MiB")
    assert fields["sf_size"] == (6, 4, 3, "4096 sets")
    assert fields["num_ways"] == (12, 8, 16, None)


def test_the_power_state_of_a_home_node_has_32_bits() -> None:
    hardware = SHAPES["CMN-600 2x2"]()
    (home,) = [node for node in hardware.nodes if node.code == hw.HN_F]
    home.registers |= {0x1008: 0xDEAD_BEEF << 32 | 0x138, 0x1010: 1 << 32}
    mesh = read(hardware)
    state = find(mesh, "HN-F 0", "por_hnf_ppu_pwsr")
    assert state.value == 0x138
    assert {field.name: field.meaning for field in state.fields} == {
        "pow_status": "ON", "op_mode_status": "FAM", "dyn_en_status": None,
    }  # fmt: skip
    assert find(mesh, "HN-F 0", "por_hnf_ppu_misr").value == 1


def test_a_crosspoint_tells_what_hangs_on_its_ports() -> None:
    mesh = read(SHAPES["CMN-700 10x10"](), BASE)
    name = next(f"XP {xp.logical_id} ({xp.x},{xp.y})" for xp in mesh.crosspoints if (xp.x, xp.y) == (3, 4))
    port = find(mesh, name, "por_mxp_device_port_connect_info_p0")
    assert {field.name: field.meaning or field.value for field in port.fields[:3]} == {
        "device_type_p0": "RN-F_CHIE_ESAM", "cal_connected_p0": 1, "num_ccs_p0": 2,
    }  # fmt: skip
    assert find(mesh, name, "por_mxp_p0_info").fields[0].value == 2
    assert find(mesh, name, "por_mxp_device_port_connect_info_p5").fields[0].meaning == "nothing"


@pytest.mark.parametrize(("revision", "control"), [(0, 0xDA00), (1, 0xDA00), (2, 0xA100), (3, 0xA100)])
def test_the_monitor_of_a_cmn_s3_moved(revision: int, control: int) -> None:
    mesh = read(build(hw.CMN_S3, 2, 2, slices, revision=revision, chi=6))
    assert find(mesh, "XP 0 (0,0)", "por_dtm_control").offset == control
    assert find(mesh, "DTC 0", "por_dt_pmcr").offset == 0xDA00


def test_the_monitor_is_left_out_where_the_revision_is_not_known() -> None:
    mesh = read(build(hw.CMN_S3, 2, 2, slices, revision=9, chi=6))
    assert mesh.revision is None
    assert not [one for one in mesh.registers if one.name.startswith("por_dtm_") and one.name != "por_dtm_unit_info"]


def test_only_the_first_watchpoint_of_a_pair_combines_and_a_cmn_650_has_no_channel_number() -> None:
    def config(part: int, revision: str, number: int) -> set[str]:
        (found,) = [one for one in registers_of(part, revision, hw.XP) if one.name == f"por_dtm_wp{number}_config"]
        return {field.name for field in found.fields}

    for part, revision in ((0x434, "r1p3"), (0x436, "r2p0"), (0x43C, "r3p0"), (0x43E, "r2p0")):
        assert ["wp_combine" in config(part, revision, number) for number in range(4)] == [True, False, True, False]
    assert "wp_chn_num" not in config(0x436, "r2p0", 0) and "wp_chn_num" in config(0x43C, "r3p0", 0)


def test_the_address_map_of_a_cmn_700_has_its_comparison_bits_in_the_second_register() -> None:
    """Source: Arm, SCP-firmware, cmn700: UNIT_INFO[1]. The first register contains the number of home nodes, which is
    128 after reset."""
    hardware = SHAPES["CMN-700 3x7"]()
    maps = [node for node in hardware.nodes if node.code == hw.RN_SAM and not node.flags]
    maps[0].registers |= {0x900: 128 | 24 << 32, 0x908: 16 | 20 << 5}
    mesh = read(hardware)
    fields = {
        field.name: field.value
        for one in mesh.registers
        if one.node_offset == maps[0].offset and one.name.startswith("por_rnsam_unit_info")
        for field in one.fields
    }
    assert (fields["num_hnf"], fields["num_non_hash_group"]) == (128, 24)
    assert (fields["htg_rcomp_lsb"], fields["nonhash_rcomp_lsb"]) == (16, 20)


def test_watchpoints_differ_between_the_products() -> None:
    def config(name: str) -> dict[str, tuple[int, int]]:
        hardware = SHAPES[name]()
        return {
            field.name: (field.msb, field.lsb)
            for field in find(read(hardware), "XP 0 (0,0)", "por_dtm_wp0_config").fields
        }

    old, new = config("CMN-600 4x4"), config("CMN-650 5x3")
    assert (old["wp_combine"], old["wp_exclusive"], old["wp_grp"]) == ((6, 6), (5, 5), (4, 4))
    assert (new["wp_combine"], new["wp_exclusive"], new["wp_grp"], new["wp_dev_sel2"]) == (
        (9, 9),
        (8, 8),
        (5, 4),
        (18, 17),
    )


def test_every_register_of_a_node_that_was_read_is_told_once() -> None:
    mesh = read(SHAPES["CMN-700 3x7"](), BASE)
    told = [(one.node_offset, one.offset) for one in mesh.registers]
    assert len(told) == len(set(told)) and len(told) > 400
    assert {one.node_offset for one in mesh.registers} == {
        offset
        for offset in (
            *(xp.offset for xp in mesh.crosspoints),
            *(node.offset for node in mesh.nodes if not node.external),
        )
    }


def test_the_topology_alone_needs_few_registers() -> None:
    first = mesh_of_dump(SHAPES["CMN-700 12x12"]().printed(register_list()))
    assert len(register_list()) < 4096 and {one.name for one in first.registers} >= {"por_cfgm_periph_id_0_periph_id_1"}
    assert not [one for one in first.registers if one.name.startswith("por_dtm_control")]


def test_families_of_devices_are_types_of_nodes_or_have_none() -> None:
    assert {kind for kind, _ in devices().values()} - set(node_types().values()) == {
        "RN-F",
        "SN-F",
        "CXG",
        "CCG",
        "LCN",
    }
