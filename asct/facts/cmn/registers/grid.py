"""Where nodes are: their node ids taken apart.

From its highest bits a node id has x, y, port, device (CMN-600 TRM 100180, Node ID mapping). How many bits each has is
told by no register. The three lowest are port and device: two and one where a crosspoint has more than two ports, else
one and two (Linux, drivers/perf/arm-cmn.c, `arm_cmn_discover`: portid_bits, deviceid_bits). Above them x and y have
equally many, as the mesh needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asct.facts.cmn.layouts.products import PERIPH_ID_01, PRODUCTS, part_number
from asct.facts.cmn.registers.dump import Dump, Found
from asct.facts.gaps import Gaps

_MOST = 16
"""Crosspoints along one axis: four bits."""
_PLACE_0_1 = 1 << 3
"""The node id of the crosspoint at (0, 1), however many bits x and y have."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Crosspoints by the offset of their registers, and the bits that x and y have each."""

    width: int
    height: int
    bits: int
    places: Mapping[int, tuple[int, int]]
    ports: Mapping[int, int]
    """How many ports a crosspoint has, as far as node ids are concerned."""

    def port(self, node: Found, crosspoint: Found) -> tuple[int | None, int | None]:
        """Port and device of a node; twice None if its id is not one of the crosspoint's."""
        low = 5 if len(self.places) == 1 and self.width * self.height == 1 else 3
        if node.node_id >> low != crosspoint.node_id >> low:
            return None, None
        devices = 1 if low == 3 and self.ports[crosspoint.offset] > 2 else 2
        return node.node_id >> devices & ((1 << (low - devices)) - 1), node.node_id & ((1 << devices) - 1)


def grid_of(dump: Dump, root: Found, gaps: Gaps) -> Grid | None:
    """The grid; None and a note if the ids of the crosspoints are not those of a rectangle."""
    crosspoints = dump.crosspoints()
    size = _size(crosspoints, root.children)
    if isinstance(size, str):
        gaps.note("size", size)
        return None
    width, height = size
    for bits in (usual_bits(width, height), 1, 2, 3, 4):
        places = {
            node.offset: (node.node_id >> 3 >> bits, node.node_id >> 3 & ((1 << bits) - 1)) for node in crosspoints
        }
        if all(x < width and y < height for x, y in places.values()) and len(set(places.values())) == len(places):
            break
    else:
        gaps.note("size", f"the node ids of the crosspoints are not those of a mesh of {width} x {height}")
        return None
    if len(crosspoints) < root.children:
        gaps.note("crosspoints", f"{root.children - len(crosspoints)} of {root.children} are not in the output")
    connect = _connect(root)
    return Grid(width, height, bits, places, {node.offset: _ports(node, connect) for node in crosspoints})


def _size(crosspoints: list[Found], count: int) -> tuple[int, int] | str:
    """Width and height, or why they are unknown. Logical ids count along x first, so that of (0, 1) is the width."""
    if not crosspoints:
        return "the output has no crosspoints"
    width = next((node.logical_id for node in crosspoints if node.node_id == _PLACE_0_1), None)
    if width is None and len(crosspoints) < count:
        return "the crosspoint at (0, 1), which tells the width, is not in the output"
    width = count if width is None else width
    if not 0 < width <= _MOST or count % width or not 0 < count // width <= _MOST:
        return f"{count} crosspoints in rows of {width} are no mesh"
    return width, count // width


def usual_bits(width: int, height: int) -> int:
    """Two, three or four bits, as the manuals have it; smaller meshes were seen with fewer."""
    most = max(width, height)
    return 2 if most <= 4 else 3 if most <= 8 else 4


def _connect(root: Found) -> tuple[int, ...]:
    product = PRODUCTS.get(part_number(root.registers.get(PERIPH_ID_01, 0)))
    return product.connect if product else ()


def _ports(node: Found, connect: tuple[int, ...]) -> int:
    """num_device_port of por_mxp_node_info (CMN-700 and later), or the highest port that something hangs on."""
    used = [port + 1 for port, offset in enumerate(connect) if node.registers.get(offset, 0) & 0x3F]
    return max(node.info >> 48 & 0xF, *used, 0)
