"""Draw meshes as the arm_cmn driver does in /sys/kernel/debug/arm-cmn/map (drivers/perf/arm-cmn.c), in the style of
Linux 5.16 to 6.11 (`old`) or of later versions (`new`), which add padding for numbers of two and three digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from asct.facts.cmn.debugfs import mesh_of_map
from asct.facts.cmn.model import Mesh

Style = Literal["old", "new"]
STYLES: tuple[Style, ...] = ("old", "new")

_CELLS = {
    "": "        ", "RN-I": "  RN-I  ", "RN-D": "  RN-D  ", "HN-T": "  HN-T  ", "HN-I": "  HN-I  ", "HN-D": "  HN-D  ",
    "HN-P": "  HN-P  ", "SN-F": "  SN-F  ", "SBSX": "  SBSX  ", "HN-F": "  HN-F  ", "HN-S": "  HN-S  ",
    "RN-F_B": " RN-F_B ", "RN-F_B_E": "RN-F_B_E", "RN-F_C_E": "RN-F_C_E", "RN-F_D": " RN-F_D ", "RN-F_E": " RN-F_E ",
    "RN-F_F_E": "RN-F_F_E", "CXRH": "  CXRH  ", "CCG": "  CCG   ", "MTSX": "  MTSX  ", "HN-V": "  HN-V  ",
    "SN-F_E": " SN-F_E ", "????": "  ????  ",
}  # fmt: skip


@dataclass(frozen=True)
class Hung:
    """What is connected to a port, in the terms of the driver, and the logical IDs of the devices, keyed by number."""

    name: str
    ids: Mapping[int, int] = field(default_factory=dict)


Places = Mapping[tuple[int, int], Mapping[int, Hung]]
"""Ports, keyed by (x, y)."""


def drawn(
    width: int, height: int, places: Places, style: Style = "new", dtc: Mapping[int, int | None] | None = None
) -> str:
    """Return the text of the map. `dtc` contains the domain of each crosspoint, keyed by crosspoint number; None means
    that the domain is ambiguous."""
    ports = 1 + max((port for hung in places.values() for port in hung), default=0)
    header = "    {:d}    " if style == "old" else "    {:<2d}   "
    text = "     X" + "".join(header.format(x) for x in range(width)) + "\nY P D+"
    for y in reversed(range(height)):
        text += "--------+" * width
        text += f"\n{y:d}    |" if style == "old" else f"\n{y:<2d}   |"
        numbers = [width * y + x for x in range(width)]
        text += "".join(f" XP #{n:<2d} |" if style == "old" else f" XP #{n:<3d}|" for n in numbers)
        text += "\n     |" + "".join(_domain((dtc or {}).get(n, 0)) for n in numbers)
        text += "\n     |" + "........|" * width
        for port in range(ports):
            hung = [places.get((x, y), {}).get(port, Hung("")) for x in range(width)]
            text += f"\n  {port}  |" + "".join(f"{_CELLS[one.name]}|" for one in hung)
            for device in (0, 1):
                text += f"\n    {device}|" + "".join(_logical(one.ids.get(device), style) for one in hung)
        text += "\n-----+"
    return text + "--------+" * width + "\n"


def _domain(number: int | None) -> str:
    return " DTC ?? |" if number is None else f" DTC {number}  |"


def _logical(number: int | None, style: Style) -> str:
    if number is None:
        return "        |"
    if style == "old":
        return f"   #{number:<2d}  |"
    pad = number < 10
    return " " + " " * (pad + 1) + "#" + f"{number:<{3 - pad}d}" + "  |"


def server(
    width: int, height: int, requester: str = "RN-F_D", home: str = "HN-F"
) -> dict[tuple[int, int], dict[int, Hung]]:
    """Return a mesh as in servers: CPUs on port 0 of the inner crosspoints, home nodes on port 1 of all, memory at the
    western and eastern edges, and I/O at the northern edge."""
    places: dict[tuple[int, int], dict[int, Hung]] = {}
    homes = memory = others = 0
    for y in range(height):
        for x in range(width):
            ports = {1: Hung(home, {0: homes})}
            homes += 1
            if x in (0, width - 1):
                ports[0] = Hung("SBSX", {0: memory})
                memory += 1
            elif y == height - 1:
                ports[0] = Hung("RN-D", {0: others, 1: others + 1})
                others += 2
            else:
                ports[0] = Hung(requester)
            places[x, y] = ports
    return places


def read(text: str, instance: int = 0) -> Mesh:
    """Return the mesh of a map that can be read."""
    mesh = mesh_of_map(text, instance)
    assert mesh is not None
    return mesh


def server_mesh(width: int = 4, height: int = 4, **changed: object) -> Mesh:
    return read(drawn(width, height, server(width, height))).model_copy(update=changed)
