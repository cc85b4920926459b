"""Meshes read from their registers: synthetic hardware of several products and shapes is recognized node by node."""

from __future__ import annotations

from collections import Counter

import pytest

from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import Mesh
from tests.facts.cmn import generator as hw
from tests.facts.cmn.generator import Hardware, Plug, build
from tests.facts.cmn.shapes import SHAPES, altra, neoverse, slices, small

MIB = 1 << 20


def read(hardware: Hardware, base: int = -1) -> Mesh:
    """Return all registers as --verbose requests them: first the topology, then the registers of this mesh."""
    first = mesh_of_dump(hardware.printed(register_list()))
    return mesh_of_dump(hardware.printed(register_list(first), base))


@pytest.mark.parametrize("name", SHAPES)
def test_every_node_is_found_where_it_is(name: str) -> None:
    hardware = SHAPES[name]()
    mesh = mesh_of_dump(hardware.printed(register_list()), instance=3)
    assert (mesh.kind, mesh.width, mesh.height) == (
        name.split(" with")[0].rsplit(" ", 1)[0],
        hardware.width,
        hardware.height,
    )
    assert (mesh.source, mesh.instance, mesh.base) == ("registers", 3, None)
    assert [(xp.logical_id, xp.node_id, (xp.x, xp.y), xp.offset) for xp in mesh.crosspoints] == [
        (xp.logical_id, xp.node_id, xp.place[:2] if xp.place else None, xp.offset) for xp in hardware.crosspoints
    ]
    made = [node for nodes in hardware.devices.values() for node in nodes]
    assert Counter(
        (node.code, (node.x, node.y, node.port, node.device), node.node_id, node.offset)
        for node in mesh.nodes
        if not node.external
    ) == Counter(
        [
            (hw.CFG, (None,) * 4, None, hardware.root.offset),
            *((node.code, node.place, node.node_id, node.offset) for node in made if not node.flags),
        ]
    )
    assert Counter((node.x, node.y, node.offset) for node in mesh.nodes if node.external) == Counter(
        (*(node.place or ())[:2], node.offset) for node in made if node.flags
    )


@pytest.mark.parametrize("name", SHAPES)
def test_every_port_is_found_with_its_devices(name: str) -> None:
    hardware = SHAPES[name]()
    mesh = mesh_of_dump(hardware.printed(register_list()))
    for place, plugs in hardware.plugs.items():
        xp = mesh.at(*place)
        assert xp is not None
        assert [(port.port, port.code, port.devices) for port in xp.ports] == [
            (plug.port, plug.device_type, plug.devices) for plug in plugs
        ]
        assert all(port.kind and port.device_type for port in xp.ports)


def test_what_a_mesh_is() -> None:
    old, wide, new = (read(SHAPES[name]()) for name in ("CMN-600 8x8", "CMN-700 12x12", "CMN S3 8x6"))
    assert (old.revision, old.chi, old.multiple_dtm) == ("r1p1", "CHI-B", False)
    assert (wide.revision, wide.chi, wide.multiple_dtm) == ("r3p0", "CHI-E", True)
    assert (new.revision, new.chi, new.multiple_dtm) == ("r2p0", "CHI-F", False)
    assert read(SHAPES["CMN-600 1x3"]()).chi == "CHI-B"
    assert read(SHAPES["CMN-600 2x2 with one bit a side"]()).chi == "CHI-C"


@pytest.mark.parametrize(
    ("model", "revision", "chi_bit", "dtm_bit"),
    [(hw.CMN_S3_R0, 0, 60, 63), (hw.CMN_S3_R0, 1, 60, 63), (hw.CMN_S3_R0, 2, 60, 63), (hw.CMN_S3, 3, 56, 59)],
)
def test_the_build_configuration_of_a_cmn_s3_moved_in_r2(
    model: hw.Model, revision: int, chi_bit: int, dtm_bit: int
) -> None:
    """cmn-tools, cmns3-r0.regdefs and cmns3-r2.regdefs: bits of por_info_global."""
    hardware = build(model, 2, 2, slices, revision=revision, chi=0, global_info=6 << chi_bit | 1 << dtm_bit)
    mesh = read(hardware)
    assert (mesh.chi, mesh.multiple_dtm) == ("CHI-F", True)
    (register,) = [one for one in mesh.registers if one.name == "por_info_global"]
    fields = {field.name: field.value for field in register.fields}
    assert {6, 1} <= {
        fields.get("chi_version", fields.get("chix_ver")),
        fields.get("multiple_dtm_en", fields.get("mxp_multiple_dtm_en")),
    }


def test_the_build_configuration_of_a_cmn_s3_of_unknown_revision_is_unknown() -> None:
    mesh = read(build(hw.CMN_S3, 2, 2, slices, revision=9, chi=6))
    assert mesh.chi is None and mesh.multiple_dtm is None
    assert "revision" in mesh.unknown["chi"] and "revision" in mesh.unknown["multiple_dtm"]
    (register,) = [one for one in mesh.registers if one.name == "por_info_global"]
    assert not {"chi_version", "chix_ver", "dat_vc_num"} & {field.name for field in register.fields}


def test_a_controller_has_its_domain_in_place_of_a_logical_id() -> None:
    """Since CMN-650, two bits of por_dt_node_info contain the domain; the other bits do not belong to it."""
    hardware = SHAPES["CMN-700 3x7"]()
    controllers = [node for node in hardware.nodes if node.code == hw.DTC]
    for number, node in enumerate(controllers):
        node.registers[0] = hw.DTC | node.node_id << 16 | (0x7F00 | number) << 32
    mesh = read(hardware)
    assert {node.offset: node.logical_id for node in mesh.nodes if node.type == "DTC"} == {
        node.offset: number & 3 for number, node in enumerate(controllers)
    }
    register = next(one for one in mesh.registers if (one.node, one.name) == ("DTC 1", "por_dt_node_info"))
    fields = {field.name: field.value for field in register.fields}
    assert fields["dtc_domain"] == 1 and "logical_id" not in fields
    old = read(SHAPES["CMN-600 2x2"]())
    assert {"logical_id"} <= {
        field.name for one in old.registers if one.name == "por_dt_node_info" for field in one.fields
    }


def test_counts() -> None:
    mesh = mesh_of_dump(SHAPES["CMN-600 8x8"]().printed(register_list()))
    assert mesh.counts() == {
        "CFG": 1, "CXG": 2, "CXHA": 1, "CXRA": 1, "DN": 1, "DTC": 1, "HN-F": 63, "HN-I": 1, "RN-F": 96, "RN-SAM": 96,
        "SBSX": 14, "XP": 64,
    }  # fmt: skip
    assert mesh_of_dump(SHAPES["CMN-600 2x2"]().printed(register_list())).counts()["SN-F"] == 1


def test_sizes_of_caches_are_the_sum_of_the_home_nodes() -> None:
    assert caches("CMN-600 8x8") == (63 * 2 * MIB, 63 * 4 * MIB)
    homes = mesh_of_dump(SHAPES["CMN-700 10x10"]().printed(register_list())).counts()["HN-F"]
    assert caches("CMN-700 10x10") == (homes * 4 * MIB, homes * 4 * MIB)
    homes = mesh_of_dump(SHAPES["CMN-700 12x12"]().printed(register_list())).counts()["HN-F"]
    assert caches("CMN-700 12x12") == (homes * 384 * 1024, homes * MIB)
    assert caches("CMN S3 8x6") == (47 * 2 * 2 * MIB, 47 * 2 * 3 * MIB)


def caches(name: str) -> tuple[int | None, int | None]:
    mesh = mesh_of_dump(SHAPES[name]().printed(register_list()))
    return mesh.slc_bytes, mesh.sf_bytes


@pytest.mark.parametrize(("code", "kib"), [*enumerate((0, 128, 256, 512, 1024, 2048, 3072, 4096))])
def test_sizes_of_a_home_node_of_a_cmn_600(code: int, kib: int) -> None:
    mesh = mesh_of_dump(build(hw.CMN_600, 2, 2, small, chi=2, home_info=0x1000 | code).printed(register_list()))
    assert (mesh.slc_bytes, mesh.sf_bytes) == (kib * 1024, 512 * 1024)


@pytest.mark.parametrize(("code", "kib"), [*enumerate((0, 128, 256, 512, 1024, 2048, 1536, 3072, 4096, 384))])
def test_sizes_of_a_home_node_of_a_cmn_700(code: int, kib: int) -> None:
    mesh = mesh_of_dump(build(hw.CMN_700, 2, 2, small, home_info=0x1000 | 16 << 54 | code).printed(register_list()))
    assert mesh.slc_bytes == kib * 1024


def test_a_size_that_is_not_known_is_unknown() -> None:
    mesh = mesh_of_dump(build(hw.CMN_700, 2, 2, small, home_info=0x103A | 16 << 54).printed(register_list()))
    assert mesh.slc_bytes is None and "slc_size" in mesh.unknown["slc_bytes"]
    assert mesh.sf_bytes == 4 * MIB
    mesh = mesh_of_dump(build(hw.CMN_700, 2, 2, small, home_info=0x1075).printed(register_list()))
    assert mesh.sf_bytes is None and "sf_size" in mesh.unknown["sf_bytes"]


def test_domains_for_debug_and_trace() -> None:
    assert {xp.dtc for xp in read(SHAPES["CMN-700 10x10"]()).crosspoints} == {0, 1}
    assert {xp.dtc for xp in read(SHAPES["CI-700 2x1"]()).crosspoints} == {0, 1}
    assert {xp.dtc for xp in read(SHAPES["CMN-600 8x8"]()).crosspoints} == {0}
    several = build(hw.CMN_600, 4, 4, lambda x, y: [Plug(0, hw.P_HNT, (hw.HN_I, hw.DTC))], chi=2)
    mesh = read(several)
    assert {xp.dtc for xp in mesh.crosspoints} == {None} and "domains" in mesh.unknown["dtc"]


def test_a_revision_that_arm_and_linux_name_differently_has_both_names() -> None:
    mesh = read(build(hw.CMN_600, 2, 2, small, chi=2, revision=6))
    assert mesh.revision == "r2p1 (Arm) or r3p1 (Linux)" and "revision" not in mesh.unknown


def test_a_revision_number_that_is_not_known_is_unknown() -> None:
    mesh = read(build(hw.CMN_600, 2, 2, small, chi=2, revision=9))
    assert mesh.revision is None and "number 9" in mesh.unknown["revision"]


def test_a_part_that_is_not_known_still_has_a_shape() -> None:
    mesh = read(build(hw.Model(0x4AB, 0x4000, (0x08, 0x10)), 3, 2, altra))
    assert mesh.kind is None and mesh.unknown["kind"] == "the output has no peripheral identification"
    assert (mesh.width, mesh.height, len(mesh.crosspoints)) == (3, 2, 6)
    assert mesh.registers == [] and "product" in mesh.unknown["registers"]


def test_device_isolation_leaves_the_ports() -> None:
    hardware = build(hw.CMN_S3, 4, 4, slices, revision=1, chi=6, global_info=1 << 44)
    mesh = read(hardware)
    assert [node.type for node in mesh.nodes] == ["CFG"] and "isolation" in mesh.unknown["nodes"]
    assert mesh.counts() == {"CFG": 1, "HN-I": 1, "HN-S": 30, "RN-F": 60, "RN-I": 1, "XP": 16}
    assert mesh.slc_bytes is None and "home nodes" in mesh.unknown["slc_bytes"]


def test_one_isolated_node_hides_itself_alone() -> None:
    hardware = build(hw.CMN_S3, 4, 4, slices, revision=3, chi=6)
    first = hardware.devices[hardware.crosspoints[5].offset][-1]
    first.flags = hw.ISOLATED
    mesh = read(hardware)
    assert "1 nodes were not read" in mesh.unknown["nodes"]
    assert mesh.counts()["HN-S"] == 29


def test_all_is_known_of_a_mesh_that_tells_all() -> None:
    assert read(build(hw.CMN_700, 6, 4, neoverse, home_info=0x1035 | 16 << 54)).unknown == {}


def test_a_mesh_survives_json() -> None:
    mesh = read(SHAPES["CMN-700 3x7"](), base=0x1_0000_0000)
    again = Mesh.model_validate_json(mesh.model_dump_json())
    assert again == mesh
    assert '"base":"0x100000000"' in mesh.model_dump_json()
