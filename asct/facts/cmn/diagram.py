"""Draw a mesh as text: the grid of crosspoints with their devices and CPUs.

North is at the top. A mesh that is wider than the page is drawn in panels from west to east.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from asct.facts.cmn.model import Crosspoint, Mesh
from asct.values.cpulist import format_cpulist

NARROWEST: Final = 30
_MARGIN: Final = 4
"""Number of columns reserved for the row numbers."""


def diagram(mesh: Mesh, width: int) -> list[str]:
    """Draw the mesh with its links, at most `width` columns wide (even a single crosspoint may need more).

    Each crosspoint is shown with its logical ID in brackets, its ports as `<port> <device>` (`*2` for two devices), and
    its CPUs in parentheses. If node IDs are known, they follow the logical ID of the crosspoint and the first device on
    each port.
    """
    cpus = cpus_by_place(mesh)
    cells = {(xp.x, xp.y): _cell(xp, cpus.get((xp.x, xp.y), [])) for xp in mesh.crosspoints}
    columns = sorted({x for x, _ in cells})
    rows = sorted({y for _, y in cells}, reverse=True)
    widest = max((len(line) for cell in cells.values() for line in cell), default=0) + 1
    lines: list[str] = []
    for panel in _panels(columns, widest, width):
        lines += [""] if lines else []
        lines.append(_row("", [f" {x}" for x in panel], widest))
        for y in rows:
            last = y == rows[-1]
            lines += _drawn_row([cells.get((x, y)) for x in panel], y, widest, last=last, more=panel[-1] != columns[-1])
    return lines


def _cell(xp: Crosspoint, cpus: list[int]) -> list[str]:
    lines = [f"[{xp.logical_id}]{_id(xp.node_id)}"]
    for port in xp.ports:
        count = f"*{port.devices}" if port.devices and port.devices > 1 else ""
        lines.append(f"{port.port} {port.kind or '?'}{count}{_id(port.node_id)}")
    if cpus:
        lines.append(f"({format_cpulist(cpus)})")
    return lines


def _id(node_id: int | None) -> str:
    return "" if node_id is None else f" {node_id:#x}"


def _drawn_row(cells: list[list[str] | None], y: int, widest: int, *, last: bool, more: bool) -> Iterator[str]:
    """Draw the crosspoints in a row with their links to the east, then their ports and their links to the south."""
    heads = []
    for number, cell in enumerate(cells):
        linked = cell is not None and (more or any(later is not None for later in cells[number + 1 :]))
        heads.append((cell[0] if cell else "").ljust(widest, "-" if linked else " "))
    yield _row(str(y), heads, widest)
    deepest = max((len(cell) for cell in cells if cell), default=0)
    link = " " if last else "|"
    for depth in range(1, deepest + (not last)):
        texts = [cell[depth] if cell and depth < len(cell) else "" for cell in cells]
        yield _row("", [f"{link}{text}" if cell else "" for cell, text in zip(cells, texts, strict=True)], widest)


def _row(label: str, cells: list[str], widest: int) -> str:
    return (label.rjust(_MARGIN - 2) + "  " + "".join(cell.ljust(widest) for cell in cells)).rstrip()


def _panels(columns: list[int], cell: int, width: int) -> list[list[int]]:
    """Split the columns into groups that fit the width."""
    fit = max(1, (max(width, NARROWEST) - _MARGIN) // cell)
    return [columns[at : at + fit] for at in range(0, len(columns), fit)]


def grid(mesh: Mesh, width: int) -> list[str]:
    """Draw the CPUs of each crosspoint in parentheses, or `()` if a crosspoint has none. The result is empty if no CPU
    has been located."""
    cpus = cpus_by_place(mesh)
    if not cpus or mesh.width is None or mesh.height is None:
        return []
    places = [(x, y) for x in range(mesh.width) for y in range(mesh.height)]
    texts = {at: f"({format_cpulist(cpus.get(at, []))})" for at in places}
    widest = max(map(len, texts.values()), default=0) + 1
    lines: list[str] = []
    for panel in _panels(list(range(mesh.width)), widest, width):
        lines += [""] if lines else []
        lines.append(_row("", [f" {x}" for x in panel], widest))
        lines += [_row(str(y), [texts[x, y] for x in panel], widest) for y in reversed(range(mesh.height))]
    return lines


def cpus_by_place(mesh: Mesh) -> dict[tuple[int, int], list[int]]:
    """Return the CPUs with known locations, keyed by (x, y)."""
    cpus: dict[tuple[int, int], list[int]] = {}
    for cpu, place in sorted(mesh.cpus.items()):
        if place is not None:
            cpus.setdefault((place.x, place.y), []).append(cpu)
    return cpus
