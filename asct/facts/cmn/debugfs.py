"""The map of a mesh that the arm_cmn driver prints: /sys/kernel/debug/arm-cmn/map, map_1, ... (one file per mesh).

`arm_cmn_map_show` in the Linux kernel's drivers/perf/arm-cmn.c defines the format. Rows go from north to south. Each
row contains its crosspoints with their debug and trace domains and, for each port, the device and the logical IDs of
devices 0 and 1. Devices without a node in the configuration tree, such as the requesters for CPUs, have no ID. The cell
width differs between driver versions, and three-digit numbers break the column alignment, so the parser splits rows
into cells at the vertical bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from asct.facts.cmn.layouts import devices
from asct.facts.cmn.model import Crosspoint, Mesh, MeshNode, Port
from asct.facts.unknown import UnknownFacts

MOST: Final = 16
"""Maximum number of crosspoints along one axis. The node IDs of CMN S3 allow 16; the node IDs of other products allow
fewer."""

_CODES: Final = {
    "RN-I": 0x01, "RN-D": 0x02, "RN-F_B": 0x04, "RN-F_B_E": 0x05, "RN-F_A": 0x06, "RN-F_A_E": 0x07, "HN-T": 0x08,
    "HN-I": 0x09, "HN-D": 0x0A, "HN-P": 0x0B, "SN-F": 0x0C, "SBSX": 0x0D, "HN-F": 0x0E, "SN-F_E": 0x0F, "SN-F_D": 0x10,
    "CXHA": 0x11, "CXRA": 0x12, "CXRH": 0x13, "RN-F_D": 0x14, "RN-F_D_E": 0x15, "RN-F_C": 0x16, "RN-F_C_E": 0x17,
    "RN-F_E": 0x18, "RN-F_E_E": 0x19, "HN-S": 0x1A, "LCN": 0x1B, "MTSX": 0x1C, "HN-V": 0x1D, "CCG": 0x1E,
    "RN-F_F": 0x20, "RN-F_F_E": 0x21, "SN-F_F": 0x22,
}  # fmt: skip
"""The device type for each short name in the map (`arm_cmn_device_type` in the driver)."""
_HEAD: Final = re.compile(r"\s*X((\s+\d{1,2})+)\s*")
_XP: Final = re.compile(r"XP #(\d{1,4})")
_DTC: Final = re.compile(r"DTC (\d)")
_ID: Final = re.compile(r"#(\d{1,5})")


@dataclass(slots=True)
class _CrosspointRow:
    """A crosspoint whose rows are being read, with the device names and IDs of each port."""

    logical_id: int
    dtc: int | None = None
    names: dict[int, str] = field(default_factory=dict)
    ids: dict[int, dict[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class _MapReader:
    """The state of the map reader. `places` maps positions (x, y) to crosspoints."""

    width: int
    places: dict[tuple[int, int], _CrosspointRow] = field(default_factory=dict)
    y: int | None = None
    port: int | None = None
    odd: int = 0

    def row(self, cells: list[str]) -> Iterator[tuple[_CrosspointRow, str]]:
        """Yield the crosspoints of the current row with their cells, and count rows of the wrong length in `odd`."""
        self.odd += len(cells) != self.width
        for x, cell in enumerate(cells):
            place = None if self.y is None else self.places.get((x, self.y))
            if place is not None:
                yield place, cell.strip()


def mesh_of_map(text: str, instance: int) -> Mesh | None:
    """Parse a map; return None if the text is not a map. `unknown` reports truncated and malformed parts."""
    lines = text.split("\n")
    head = _HEAD.fullmatch(lines[0])
    width = len(head[1].split()) if head else 0
    if not 0 < width <= MOST:
        return None
    reading = _MapReader(width)
    for line in lines[1:]:
        _read(reading, line)
    if not reading.places:
        return None
    gaps = UnknownFacts()
    height = max(y for _, y in reading.places) + 1
    missing = width * height - len(reading.places)
    if missing or reading.odd:
        gaps.note("crosspoints", f"the driver's map is truncated or malformed: {missing} crosspoints are missing")
    for name in ("node_id", "registers", "slc_bytes", "sf_bytes", "chi", "multiple_dtm"):
        gaps.note(name, "not reported by the driver's map")
    rows = sorted(reading.places.items(), key=lambda item: item[0][::-1])
    return Mesh(
        width=width,
        height=height,
        source="debugfs",
        instance=instance,
        crosspoints=[_crosspoint(at, place) for at, place in rows],
        nodes=[node for at, place in rows for node in _nodes(at, place)],
        unknown=gaps.reasons,
    )


def _read(reading: _MapReader, line: str) -> None:
    """Parse one line. Any text after the last bar is ignored, because it is empty or truncated."""
    head, bar, rest = line.partition("|")
    cells = rest.split("|")[:-1]
    if not bar or not cells:
        return
    if _XP.search(cells[0]):
        _begin_row(reading, head.strip(), cells)
    elif "DTC" in rest:
        for place, cell in reading.row(cells):
            found = _DTC.search(cell)
            place.dtc = int(found[1]) if found else None
    elif re.fullmatch(r" {2}\d {2}", head):
        reading.port = int(head)
        for place, cell in reading.row(cells):
            if cell:
                place.names[reading.port] = cell
    elif re.fullmatch(r" {4}\d", head) and reading.port is not None:
        _read_ids(reading, reading.port, int(head), cells)


def _read_ids(reading: _MapReader, port: int, device: int, cells: list[str]) -> None:
    for place, cell in reading.row(cells):
        if found := _ID.search(cell):
            place.ids.setdefault(port, {})[device] = int(found[1])


def _begin_row(reading: _MapReader, label: str, cells: list[str]) -> None:
    reading.port = None
    reading.y = int(label) if re.fullmatch(r"\d{1,2}", label) and int(label) < MOST else None
    for x, cell in enumerate(cells[: reading.width]):
        found = _XP.search(cell)
        if found and reading.y is not None:
            reading.places[x, reading.y] = _CrosspointRow(int(found[1]))
    reading.odd += len(cells) != reading.width or reading.y is None


def _crosspoint(at: tuple[int, int], place: _CrosspointRow) -> Crosspoint:
    ports = [_port(port, name, place.ids.get(port, {})) for port, name in sorted(place.names.items())]
    return Crosspoint(logical_id=place.logical_id, x=at[0], y=at[1], dtc=place.dtc, ports=ports)


def _port(port: int, name: str, ids: dict[int, int]) -> Port:
    code = _CODES.get(name)
    if code is None:
        return Port(port=port, devices=len(ids) or None)
    kind, device_type = devices()[code]
    return Port(port=port, kind=kind, device_type=device_type, code=code, devices=len(ids) or None)


def _nodes(at: tuple[int, int], place: _CrosspointRow) -> Iterator[MeshNode]:
    """Yield the nodes whose IDs are in the map. The map does not show the other nodes of a port."""
    for port, ids in sorted(place.ids.items()):
        kind = _port(port, place.names.get(port, ""), {}).kind
        if kind is None:
            continue
        for device, logical_id in sorted(ids.items()):
            yield MeshNode(type=kind, logical_id=logical_id, x=at[0], y=at[1], port=port, device=device)
