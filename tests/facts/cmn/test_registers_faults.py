"""Registers that are unusual, truncated or forged: reading them never raises an exception and always yields a
reason."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import Mesh
from tests.facts.cmn import generator as hw
from tests.facts.cmn.generator import build
from tests.facts.cmn.shapes import SHAPES, neoverse, small

WORDS = (
    "",
    "0",
    "null",
    "[]",
    "-1",
    "1e999",
    '"x"',
    "NaN",
    "9" * 5000,
    "[" * 100_000,
    "{" * 100_000,
    "true",
    str(1 << 64),
    "0.5",
)


def sane(mesh: Mesh) -> None:
    """Check that the mesh can be stored and read again, and that everything missing has a reason."""
    assert Mesh.model_validate_json(mesh.model_dump_json()) == mesh
    assert all(reason for reason in mesh.unknown.values())
    if mesh.width is None:
        assert mesh.unknown.keys() & {"size", "mesh"} and mesh.crosspoints == []
    if mesh.kind is None:
        assert mesh.unknown.keys() & {"kind", "mesh"}


@pytest.mark.parametrize("name", ["CMN-600 2x2", "CMN-700 3x7", "CI-700 1x1"])
def test_output_that_is_cut_anywhere(name: str) -> None:
    whole = SHAPES[name]().printed(register_list())
    for end in range(0, len(whole) - 2, len(whole) // 37):
        mesh = mesh_of_dump(whole[:end])
        sane(mesh)
        assert "truncated" in mesh.unknown["dump"]


def test_each_crosspoint_missing_in_turn() -> None:
    hardware = build(hw.CMN_700, 5, 4, neoverse)
    lines = hardware.printed(register_list()).splitlines(keepends=True)
    for xp in hardware.crosspoints:
        mesh = mesh_of_dump("".join(line for line in lines if json.loads(line).get("offset") != xp.offset))
        sane(mesh)
        if xp.place == (0, 1, 0, 0):
            assert mesh.width is None and "(0, 1)" in mesh.unknown["size"]
        else:
            assert (mesh.width, mesh.height, len(mesh.crosspoints)) == (5, 4, 19)
            assert mesh.unknown["crosspoints"] == "1 of 20 are missing from the output"


def test_forged_values_anywhere() -> None:
    lines = [
        json.loads(line)
        for line in build(hw.CMN_600, 3, 3, lambda x, y: small(x % 2, y % 2), chi=2)
        .printed(register_list())
        .splitlines()
    ]
    chance = random.Random(1)
    for _ in range(250):
        forged = json.loads(json.dumps(lines))
        for _ in range(chance.randint(1, 4)):
            forge(forged[chance.randrange(len(forged))], chance)
        sane(mesh_of_dump("".join(json.dumps(line) + "\n" for line in forged)))


def forge(line: dict[str, Any], chance: random.Random) -> None:
    """Replace one part of a line."""
    other: list[Any] = [
        0,
        1,
        -1,
        2**64 - 1,
        2**64,
        0.5,
        None,
        True,
        "x",
        [],
        {},
        [[0, 0]],
        [[0]],
        chance.getrandbits(64),
        1 << chance.randrange(64),
    ]
    key = chance.choice([*line, "skipped"])
    if (
        key == "regs"
        and isinstance(line[key], list)
        and all(isinstance(pair, list) for pair in line[key])
        and chance.random() < 0.7
    ):
        line[key].append([chance.choice(other), chance.choice(other)])
        chance.choice(line[key])[:1] = [chance.choice(other)]
    elif chance.random() < 0.1:
        line.pop(key, None)
    else:
        line[key] = chance.choice(other)


@pytest.mark.parametrize("word", WORDS, ids=range(len(WORDS)))
def test_lines_that_are_no_lines(word: str) -> None:
    whole = SHAPES["CMN-600 2x2"]().printed(register_list())
    mesh = mesh_of_dump(f"{word}\n{whole}{word}\n")
    sane(mesh)
    assert (mesh.width, mesh.height) == (2, 2)
    assert mesh.unknown["dump"] == f"the output of the `cmn` kernel is incomplete: {2} lines are malformed"


def test_bytes_at_random() -> None:
    chance = random.Random(2)
    whole = SHAPES["CMN-600 2x2"]().printed(register_list())
    for _ in range(250):
        text = list(whole)
        for _ in range(chance.randint(1, 20)):
            text[chance.randrange(len(text))] = chr(chance.randrange(0x20, 0x250))
        sane(mesh_of_dump("".join(text)))


@pytest.mark.parametrize("text", ["", "\n", "no mesh", '{"t":"end","ok":true}'])
def test_output_without_a_mesh(text: str) -> None:
    mesh = mesh_of_dump(text)
    assert mesh.unknown["mesh"] == "the output has no configuration node"
    assert (mesh.source, mesh.counts()) == ("registers", {})


def test_a_node_that_is_printed_twice_counts_once() -> None:
    whole = SHAPES["CMN-600 2x2"]().printed(register_list())
    sample = next(line for line in whole.splitlines() if '"sample"' in line)
    mesh = mesh_of_dump(whole + sample + "\n")
    assert mesh.unknown["dump"].endswith("1 lines are malformed")
    assert mesh.counts() == mesh_of_dump(whole).counts()


def test_registers_that_could_not_be_read_are_counted() -> None:
    lines = [json.loads(line) for line in SHAPES["CMN-600 2x2"]().printed(register_list()).splitlines()]
    home = next(line for line in lines if line.get("info", 0) & 0xFFFF == hw.HN_F)
    home["regs"][0][1] = None
    mesh = mesh_of_dump("".join(json.dumps(line) + "\n" for line in lines))
    assert mesh.unknown["registers"] == "1 registers are unreadable"
    assert mesh.slc_bytes is None and mesh.unknown["slc_bytes"]


def test_node_ids_that_are_no_grid() -> None:
    hardware = SHAPES["CMN-600 4x4"]()
    hardware.crosspoints[7].node_id = hardware.crosspoints[8].node_id
    mesh = mesh_of_dump(hardware.printed(register_list()))
    assert mesh.width is None and "4 x 4" in mesh.unknown["size"]
    assert [node for node in mesh.nodes if node.x is not None] == []
    assert mesh.counts()["HN-F"] == 16


@pytest.mark.parametrize(("count", "width"), [(16, 3), (16, 0), (17, 17)])
def test_counts_that_are_no_mesh(count: int, width: int) -> None:
    hardware = SHAPES["CMN-600 4x4"]()
    next(xp for xp in hardware.crosspoints if xp.node_id == 8).logical_id = width
    lines = hardware.printed(register_list()).replace(
        f'"children": {len(hardware.crosspoints)}', f'"children": {count}'
    )
    mesh = mesh_of_dump(lines)
    assert mesh.unknown["size"] == f"{count} crosspoints in rows of {width} do not form a mesh"


def test_a_node_that_is_not_where_its_crosspoint_is() -> None:
    hardware = SHAPES["CMN-600 4x4"]()
    hardware.devices[hardware.crosspoints[0].offset][0].node_id = 0x7F8
    mesh = mesh_of_dump(hardware.printed(register_list()))
    odd = next(node for node in mesh.nodes if node.node_id == 0x7F8)
    assert (odd.x, odd.y, odd.port, odd.device) == (0, 0, None, None)
    assert "IDs of some nodes" in mesh.unknown["places"]


def test_types_and_devices_that_are_not_known() -> None:
    hardware = SHAPES["CMN-700 3x7"]()
    hardware.devices[hardware.crosspoints[0].offset][0].code = 0x777
    hardware.crosspoints[2].registers[0x08] = 0x1F
    mesh = mesh_of_dump(hardware.printed(register_list()))
    assert mesh.counts()["0x777"] == 1 and "0x777" in mesh.unknown["types"]
    port = mesh.crosspoints[2].ports[0]
    assert (port.kind, port.device_type, port.code) == (None, None, 0x1F) and "0x1f" in mesh.unknown["ports"]


def test_more_children_than_there_are() -> None:
    """AmpereOneX reports too many children. The additional pointers are zero, and the kernel omits them."""
    hardware = SHAPES["CMN-700 3x7"]()
    for line in (text := hardware.printed(register_list())).splitlines():
        if json.loads(line).get("offset") == hardware.crosspoints[0].offset:
            sample = json.loads(line)
            text = text.replace(line, json.dumps({**sample, "children": sample["children"] + 2}))
    mesh = mesh_of_dump(text)
    assert mesh.unknown["nodes"] == "2 nodes reported by the crosspoints are missing from the output"


def test_devices_behind_an_aggregation_layer_without_a_number() -> None:
    hardware = SHAPES["CI-700 2x1"]()
    hardware.crosspoints[0].registers[0x08] |= 1 << 7
    mesh = mesh_of_dump(hardware.printed(register_list()))
    assert mesh.crosspoints[0].ports[0].devices is None and "share" in mesh.unknown["devices"]
    assert mesh.crosspoints[1].ports[0].devices == 1
