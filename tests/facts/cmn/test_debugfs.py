"""The maps of the arm_cmn driver, drawn by the tests in the same way as by the driver."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.facts.cmn.debugfs import mesh_of_map
from asct.facts.cmn.model import Mesh, Port
from tests.facts.cmn.maps import STYLES, Hung, Style, drawn, read, server, server_mesh


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (2, 1), (1, 4), (2, 2), (4, 4), (8, 8), (10, 3), (12, 12), (16, 16)]
)
def test_size_and_places_are_as_drawn(width: int, height: int, style: Style) -> None:
    places = server(width, height)
    mesh = read(drawn(width, height, places, style))
    assert (mesh.width, mesh.height, mesh.source) == (width, height, "debugfs")
    assert "crosspoints" not in mesh.unknown
    assert [(xp.logical_id, xp.x, xp.y) for xp in mesh.crosspoints] == [
        (y * width + x, x, y) for y in range(height) for x in range(width)
    ]
    nodes = {(node.x, node.y, node.port, node.device, node.logical_id) for node in mesh.nodes}
    wanted = {
        (x, y, port, device, number)
        for (x, y), ports in places.items()
        for port, hung in ports.items()
        for device, number in hung.ids.items()
    }
    assert nodes == wanted and len(mesh.nodes) == len(wanted)


@pytest.mark.parametrize("style", STYLES)
def test_counts_of_a_server(style: Style) -> None:
    mesh = read(drawn(4, 4, server(4, 4), style))
    assert mesh.counts() == {"HN-F": 16, "RN-D": 4, "RN-F ports": 6, "SBSX": 8, "XP": 16}


def test_requesters_behind_one_port_are_counted_once_the_registers_report_them() -> None:
    """The map does not contain the number of devices without a node, so ports are counted instead."""
    ports = [Port(port=0, kind="RN-F", devices=2), Port(port=1, kind="RN-F", devices=None)]
    mesh = server_mesh()
    one = mesh.model_copy(update={"crosspoints": [mesh.crosspoints[0].model_copy(update={"ports": ports[:1]})]})
    both = mesh.model_copy(update={"crosspoints": [mesh.crosspoints[0].model_copy(update={"ports": ports})]})
    assert one.counts()["RN-F"] == 2 and "RN-F ports" not in one.counts()
    assert both.counts()["RN-F ports"] == 2 and "RN-F" not in both.counts()


KINDS = {
    "RN-F_B_E": ("RN-F", "RN-F_CHIB_ESAM", 5),
    "RN-F_F_E": ("RN-F", "RN-F_CHIF_ESAM", 0x21),
    "HN-T": ("HN-I", "HN-T", 8),
    "HN-D": ("HN-I", "HN-D", 10),
    "HN-V": ("HN-I", "HN-V", 0x1D),
    "HN-S": ("HN-S", "HN-S", 0x1A),
    "SN-F_E": ("SN-F", "SN-F_CHIE", 15),
    "CXRH": ("CXG", "CXRH", 0x13),
    "CCG": ("CCG", "CCG", 0x1E),
    "MTSX": ("MTSX", "MTSX", 0x1C),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("style", STYLES)
def test_devices_have_the_names_and_numbers_of_the_manuals(name: str, style: Style) -> None:
    mesh = read(drawn(2, 2, {(1, 0): {1: Hung(name, {0: 7, 1: 123})}}, style))
    (port,) = [port for xp in mesh.crosspoints for port in xp.ports]
    assert (port.kind, port.device_type, port.code) == KINDS[name]
    assert (port.port, port.devices) == (1, 2)
    assert [(node.type, node.logical_id, node.device) for node in mesh.nodes] == [
        (KINDS[name][0], 7, 0),
        (KINDS[name][0], 123, 1),
    ]


def test_a_requester_has_no_node_and_so_no_number_of_devices() -> None:
    mesh = read(drawn(2, 2, {(0, 0): {0: Hung("RN-F_D")}}))
    (port,) = [port for xp in mesh.crosspoints for port in xp.ports]
    assert (port.kind, port.devices, mesh.nodes) == ("RN-F", None, [])


def test_a_device_that_the_driver_does_not_know_is_unknown() -> None:
    mesh = read(drawn(2, 2, {(0, 1): {0: Hung("????", {0: 3})}}))
    (port,) = [port for xp in mesh.crosspoints for port in xp.ports]
    assert (port.kind, port.device_type, port.code, port.devices) == (None, None, None, 1)
    assert mesh.nodes == [], "what kind of node has the id is not told"


def test_ports_from_two_to_five() -> None:
    ports = {port: Hung("RN-F_E") for port in range(6)}
    mesh = read(drawn(1, 1, {(0, 0): ports}))
    assert [port.port for port in mesh.crosspoints[0].ports] == list(range(6))


def test_domains_for_debug_and_trace() -> None:
    mesh = read(drawn(2, 2, {}, dtc={0: 0, 1: 1, 2: 3, 3: None}))
    assert [xp.dtc for xp in mesh.crosspoints] == [0, 1, 3, None]


def test_a_driver_before_domains_were_shown() -> None:
    lines = [line for line in drawn(3, 2, server(3, 2)).split("\n") if "DTC" not in line]
    mesh = read("\n".join(lines))
    assert {xp.dtc for xp in mesh.crosspoints} == {None} and len(mesh.nodes) == len(server_mesh(3, 2).nodes)


def test_what_the_map_lacks_is_said() -> None:
    mesh = read(drawn(2, 2, {}), 3)
    assert mesh.instance == 3
    assert {"chi", "registers", "slc_bytes"} <= mesh.unknown.keys()


def test_rows_that_are_cut_off_are_missed_and_noted() -> None:
    whole = drawn(4, 4, server(4, 4))
    cut = whole[: whole.index("XP #4")]
    mesh = read(cut)
    assert (mesh.width, mesh.height) == (4, 4)
    assert {xp.y for xp in mesh.crosspoints} == {2, 3}
    assert "8 crosspoints are missing" in mesh.unknown["crosspoints"]


@pytest.mark.parametrize(
    "text", ["", "\n", "X", "     X    0    ", "     X    0    \nY P D+", "     X" + "  0" * 17, "no map"]
)
def test_what_is_no_map_is_none(text: str) -> None:
    assert mesh_of_map(text, 0) is None


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_garbled_maps_never_raise_and_never_leave_the_grid(seed: int, changes: int) -> None:
    chance = random.Random(seed)
    text = list(drawn(chance.randint(1, 5), chance.randint(1, 5), server(5, 5), chance.choice(STYLES)))
    for _ in range(changes):
        at = chance.randrange(len(text))
        text[at : at + chance.randint(0, 9)] = chance.choice(
            ["|", "#", "9", "XP #1", "\n", "DTC ", "é", "", "  1  |", "99"]
        )
    mesh = mesh_of_map("".join(text), 0)
    if mesh is not None:
        assert mesh.width is not None and mesh.height is not None
        assert all(0 <= xp.x < mesh.width <= 16 and 0 <= xp.y < mesh.height <= 16 for xp in mesh.crosspoints)
        assert Mesh.model_validate_json(mesh.model_dump_json()) == mesh


@given(st.text())
def test_any_text_is_a_map_or_none(text: str) -> None:
    mesh_of_map(text, 0)


@given(st.integers(0, 2000))
def test_a_map_cut_anywhere_has_no_more_than_the_whole_one(end: int) -> None:
    whole = drawn(3, 3, server(3, 3))
    mesh = mesh_of_map(whole[:end], 0)
    known = {node.model_dump_json() for node in read(whole).nodes}
    assert mesh is None or {node.model_dump_json() for node in mesh.nodes} <= known
