"""Meshes as text: readable in 80 columns, and complete."""

from __future__ import annotations

import re

import pytest

from asct.facts.cmn.diagram import diagram, grid
from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import CpuPort, Mesh
from tests.facts.cmn.maps import Hung, drawn, read, server_mesh
from tests.facts.cmn.shapes import SHAPES


def test_a_small_mesh() -> None:
    places = {
        (0, 0): {0: Hung("RN-F_D")},
        (1, 0): {0: Hung("HN-F", {0: 0, 1: 1})},
        (0, 1): {1: Hung("SBSX", {0: 0})},
    }
    mesh = read(drawn(2, 2, places))
    cpus = {0: CpuPort(x=0, y=0, port=0), 1: CpuPort(x=0, y=0, port=0), 2: None}
    assert diagram(mesh.model_copy(update={"cpus": cpus}), 80) == [
        "     0        1",
        " 1  [2]------[3]",
        "    |1 SBSX  |",
        "    |        |",
        " 0  [0]------[1]",
        "     0 RN-F   0 HN-F*2",
        "     (0-1)",
    ]


def test_node_ids_are_drawn_where_they_are_known() -> None:
    """A node ID consists of x, y, port and device. perf needs the IDs of the devices (arm-cmn.rst, `nodeid`)."""
    mesh = mesh_of_dump(SHAPES["CMN-600 2x2"]().printed(register_list()))
    assert diagram(mesh, 80) == [
        "     0           1",
        " 1  [2] 0x8-----[3] 0x28",
        "    |0 HN-F 0x8 |1 SN-F 0x2c",
        "    |           |",
        " 0  [0] 0x0-----[1] 0x20",
        "     0 HN-I 0x0  0 RN-F 0x20",
        "                 1 RN-I 0x24",
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_the_drawing_of_registers_has_the_id_of_each_port_once_and_fits(name: str) -> None:
    hardware = SHAPES[name]()
    mesh = mesh_of_dump(hardware.printed(register_list()))
    lines = diagram(mesh, 78)
    assert max(map(len, lines)) <= 78
    nodes = {(node.x, node.y, node.port): node.node_id for node in reversed(mesh.nodes) if node.device == 0}
    for xp in mesh.crosspoints:
        for port in xp.ports:
            assert port.node_id == nodes.get((xp.x, xp.y, port.port), port.node_id)
            assert f"{port.port} {port.kind}" in "\n".join(lines) and f" {port.node_id:#x}" in "\n".join(lines)


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (12, 12), (16, 3)])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_crosspoint_and_port_is_drawn_once_within_the_width(size: tuple[int, int], width: int) -> None:
    mesh = server_mesh(*size)
    lines = diagram(mesh, width)
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    text = "\n".join(lines)
    assert sorted(map(int, re.findall(r"\[(\d+)\]", text))) == list(range(size[0] * size[1]))
    for kind, ports in {"HN-F": size[0] * size[1], "SBSX": (2 if size[0] > 1 else 1) * size[1]}.items():
        assert len(re.findall(rf"\d {kind}", text)) == ports


def test_eight_columns_fit_into_80() -> None:
    assert diagram(server_mesh(8, 8), 80)[0].split() == [str(x) for x in range(8)]


def test_a_wide_mesh_is_drawn_in_panels_that_say_they_go_on() -> None:
    lines = diagram(server_mesh(10, 1), 80)
    heads = [line for line in lines if re.fullmatch(r" +\d+( +\d+)*", line)]
    assert " ".join(heads).split() == [str(x) for x in range(10)] and len(heads) == 2
    assert lines[1].endswith("-") and lines[-3].endswith("]")


def test_a_crosspoint_that_is_not_known_leaves_a_gap() -> None:
    mesh = server_mesh(3, 1)
    lines = diagram(mesh.model_copy(update={"crosspoints": [mesh.crosspoints[0], mesh.crosspoints[2]]}), 80)
    assert "[0]" in lines[1] and "[2]" in lines[1] and "[1]" not in lines[1]


def test_a_mesh_without_crosspoints_is_empty() -> None:
    assert diagram(Mesh(source="pmu"), 80) == [] and grid(Mesh(source="pmu"), 80) == []


def test_the_grid_has_the_cpus_of_each_crosspoint_in_parentheses() -> None:
    cpus = {cpu: CpuPort(x=1, y=cpu % 2, port=0) for cpu in range(4)} | {9: None}
    assert grid(server_mesh(3, 2, cpus=cpus), 80) == [
        "     0     1     2",
        " 1  ()    (1,3) ()",
        " 0  ()    (0,2) ()",
    ]


def test_no_grid_without_cpus() -> None:
    assert grid(server_mesh(3, 2), 80) == [] and grid(server_mesh(3, 2, cpus={1: None}), 80) == []


def test_a_wide_grid_is_folded() -> None:
    cpus = {cpu: CpuPort(x=cpu % 12, y=cpu % 5, port=0) for cpu in range(576)}
    lines = grid(server_mesh(12, 5, cpus=cpus), 80)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80 or all("," in line for line in lines if len(line) > 80)
    assert len(re.findall(r"\([^)]*\)", text)) == 60
