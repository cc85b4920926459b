"""The meshes of a machine and what is known about each, depending on what the Linux kernel shows to the account."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.facts.cmn.discover import REGISTERS, mesh_sources, report
from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.model import CmnReport, Mesh
from asct.facts.cmn.sysfs import Bits, bits_of, pmus, regions
from asct.facts.snapshot import CommandOutput, Snapshot
from tests.facts.cmn.machine import FORMATS, IOMEM, machine, mesh_map, pmu
from tests.facts.cmn.shapes import SHAPES

ROOT_IOMEM = {"/proc/iomem": IOMEM}
OTHERS_IOMEM = {"/proc/iomem": "00000000-00000000 : ARMHC600:00\n  00000000-00000000 : ARMHC600:00"}
LINKS = """\
arm_cmn_0 /sys/devices/platform/ARMHC600:01/arm_cmn_0
arm_cmn_1 /sys/devices/platform/ARMHC600:00/arm_cmn_1"""


def only(snapshot: Snapshot) -> Mesh:
    (mesh,) = report(snapshot).meshes
    return mesh


def test_a_machine_without_a_mesh_has_none_and_says_what_was_looked_at() -> None:
    nothing = report(machine({"/proc/iomem": "00001000-0009ffff : System RAM"}))
    assert nothing.meshes == []
    assert all(word in nothing.unknown["meshes"] for word in ("arm_cmn*", "/sys/kernel/debug/arm-cmn/map", "ARMHC700"))


def test_the_driver_gives_kind_and_revision_and_its_map_the_rest() -> None:
    mesh = only(machine(pmu(identifier="43c03"), mesh_map()))
    assert (mesh.kind, mesh.revision, mesh.source, mesh.width, mesh.height) == ("CMN-700", "r3p0", "debugfs", 4, 4)
    assert mesh.counts()["HN-F"] == 16
    assert "kind" not in mesh.unknown and "only to root" in mesh.unknown["base"]


@pytest.mark.parametrize(
    ("identifier", "kind", "revision"),
    [
        ("43404", "CMN-600", "r2p0"),
        ("43406", "CMN-600", "r2p1 (Arm) or r3p1 (Linux)"),
        ("43604", "CMN-650", "r1p2"),
        ("43a02", "CI-700", "r2p0"),
        ("43e01", "CMN S3", "r0p1"),
    ],
)
def test_identifiers_are_part_and_revision(identifier: str, kind: str, revision: str) -> None:
    (found_pmu,) = pmus(machine(pmu(identifier=identifier)))
    assert (found_pmu.kind, found_pmu.revision) == (kind, revision)


@pytest.mark.parametrize("identifier", [None, "", "zz", "4340", "fff00", "43404 "])
def test_an_identifier_that_is_missing_or_odd_leaves_the_kind_unknown(identifier: str | None) -> None:
    (found_pmu,) = pmus(machine(pmu(identifier=identifier)))
    assert found_pmu.kind == ("CMN-600" if identifier == "43404 " else None)
    if found_pmu.kind is None:
        mesh = only(machine(pmu(identifier=identifier), mesh_map()))
        assert (mesh.kind, mesh.revision) == (None, None) and {"kind", "revision"} <= mesh.unknown.keys()


def test_an_identifier_that_names_nothing_known_is_quoted() -> None:
    mesh = only(machine(pmu(identifier="43409"), mesh_map()))
    assert (mesh.kind, mesh.revision) == ("CMN-600", None)
    why = "the driver's `identifier` is 43409, which does not identify a known product and revision"
    assert mesh.unknown["revision"] == why
    assert "a driver with" in only(machine(pmu(identifier=None), mesh_map())).unknown["revision"]


@pytest.mark.parametrize("name", ["map_1", "1/map", "arm_cmn_1/map", "arm-cmn_1/map"])
def test_a_map_has_the_number_of_its_mesh(name: str) -> None:
    ((_, text),) = mesh_map().items()
    (mesh,) = report(machine({f"/sys/kernel/debug/arm-cmn/{name}": text})).meshes
    assert (mesh.instance, mesh.source, mesh.counts()["HN-F"]) == (1, "debugfs", 16)


def test_without_the_map_only_the_mesh_itself_is_known() -> None:
    mesh = only(machine(pmu()))
    assert (mesh.source, mesh.kind, mesh.width, mesh.crosspoints, mesh.counts()) == ("pmu", "CMN-600", None, [], {})
    assert "modprobe arm-cmn" in mesh.unknown["crosspoints"]


def test_without_the_driver_the_firmware_names_it_to_every_account() -> None:
    mesh = only(machine(OTHERS_IOMEM))
    assert (mesh.source, mesh.kind, mesh.revision, mesh.base) == ("acpi", "CMN-600", None, None)
    assert "only to root" in mesh.unknown["base"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ARMHC600:00", "CMN-600"), ("ARMHC650:00", "CMN-650"), ("ARMHC700:02", "CMN-700"), ("ARMHC003:00", "CMN S3")],
)
def test_kinds_by_the_ids_of_acpi(name: str, kind: str) -> None:
    assert [region.kind for region in regions(machine({"/proc/iomem": f"1000-1fff : {name}"}))] == [kind]


def test_the_root_of_a_cmn_600_lies_in_a_range_of_its_own() -> None:
    first, second = regions(machine(ROOT_IOMEM))
    assert (first.base, first.size, first.root) == (0x50000000, 0x10000000, 0xD00000)
    assert (second.base, second.size, second.root) == (0x100010000000, 0x10000000, 0x2500000)


def test_a_range_that_the_driver_claimed_is_named_twice() -> None:
    (region,) = regions(
        machine({"/proc/iomem": "40000000-4fffffff : ARMHC700:00\n  40000000-4fffffff : ARMHC700:00 ARMHC700:00"})
    )
    assert (region.base, region.size, region.root) == (0x40000000, 0x10000000, 0)


def test_a_device_tree_names_it_by_its_compatible() -> None:
    uevent = "DRIVER=arm-cmn\nOF_COMPATIBLE_0=arm,ci-700\nOF_COMPATIBLE_N=1"
    files = {
        "/sys/bus/platform/drivers/arm-cmn/50000000.pmu/uevent": uevent,
        "/proc/iomem": "50000000-53ffffff : pmu@50000000",
    }
    (region,) = regions(machine(files))
    assert (region.kind, region.base, region.size) == ("CI-700", 0x50000000, 0x4000000)


def test_two_meshes_and_the_devices_that_they_belong_to() -> None:
    both = machine(pmu(0), pmu(1), mesh_map(width=3, height=2), mesh_map(width=2, height=5, instance=1), ROOT_IOMEM)
    meshes = report(both).meshes
    assert [(mesh.instance, mesh.width, mesh.base) for mesh in meshes] == [(0, 3, 0x50000000), (1, 2, 0x100010000000)]
    linked = machine(pmu(0), pmu(1), ROOT_IOMEM, commands={"cmn-links": CommandOutput(0, LINKS)})
    assert [one.region.name if one.region else None for one in mesh_sources(linked)] == ["ARMHC600:01", "ARMHC600:00"]


def test_a_device_that_the_driver_left_alone_is_a_mesh_too() -> None:
    one = machine(pmu(0), ROOT_IOMEM, commands={"cmn-links": CommandOutput(0, LINKS)})
    assert [(mesh.instance, mesh.source, mesh.base) for mesh in report(one).meshes] == [
        (0, "pmu", 0x100010000000),
        (1, "acpi", 0x50000000),
    ]


def test_devices_are_not_guessed_when_their_number_differs() -> None:
    meshes = report(machine(pmu(0), ROOT_IOMEM)).meshes
    assert [mesh.base for mesh in meshes] == [None]


def test_registers_come_before_the_map() -> None:
    hardware = next(iter(SHAPES.values()))()
    dump = {f"{REGISTERS}0": CommandOutput(0, hardware.printed(register_list()))}
    mesh = only(machine(pmu(), mesh_map(width=hardware.width, height=hardware.height), commands=dump))
    assert mesh.source == "registers" and "size" not in mesh.unknown
    assert len(mesh.crosspoints) == hardware.width * hardware.height
    other = only(machine(pmu(), mesh_map(width=hardware.width + 1, height=hardware.height), commands=dump))
    assert other.source == "registers" and "sources differ" in other.unknown["size"]


def test_a_dump_without_a_mesh_leaves_the_map_and_says_why() -> None:
    mesh = only(machine(pmu(), mesh_map(), commands={f"{REGISTERS}0": CommandOutput(0, '{"t":"ready"}')}))
    assert mesh.source == "debugfs" and mesh.width == 4
    assert mesh.unknown["mesh"] == "the output has no configuration node"


def test_why_there_are_no_registers() -> None:
    refused = machine(pmu(), mesh_map(), commands={f"{REGISTERS}0": CommandOutput(3, "/dev/mem refuses it")})
    assert only(refused).unknown["registers"] == "/dev/mem refuses it"
    assert "requires root" in only(machine(pmu(), mesh_map())).unknown["registers"]


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("config:27-30", Bits(0, 27, 30)),
        ("config1:0-63\n", Bits(1, 0, 63)),
        ("config:31", Bits(0, 31, 31)),
        ("config:30-27", None),
        ("config:64", None),
        ("config3:0", None),
        ("config:0-7,32-39", None),
        ("", None),
    ],
)
def test_formats(text: str, bits: Bits | None) -> None:
    assert bits_of(text) == bits


def test_the_fields_of_a_pmu() -> None:
    (found_pmu,) = pmus(machine(pmu(type="21", cpumask="0-3")))
    assert (found_pmu.type, found_pmu.cpu, found_pmu.instance) == (21, 0, 0)
    assert found_pmu.formats.keys() == FORMATS.keys()
    assert found_pmu.formats["wp_dev_sel"] == Bits(0, 48, 50)


@given(st.integers(0, 2**32))
def test_garbled_files_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    whole = machine(
        pmu(0),
        pmu(1),
        mesh_map(),
        ROOT_IOMEM,
        commands={"cmn-links": CommandOutput(0, LINKS), "cmn-cpus": CommandOutput(0, "{}")},
    )
    files = dict(whole.files)
    for path in chance.sample(sorted(files), 10):
        text = files.pop(path)
        if chance.random() < 0.7:
            at = chance.randrange(len(text) + 1)
            files[path] = (
                text[:at] + chance.choice(["", "-", "9" * 30, "\n", "é", ":", " "]) + text[at + chance.randint(0, 5) :]
            )
    made = report(Snapshot(files, whole.commands), "h", "2026-01-01T00:00:00Z")
    assert CmnReport.model_validate_json(made.model_dump_json(by_alias=True)) == made
