"""Render coherent meshes as text (summary, diagram, registers) and as table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from asct.cli.text import wrapped
from asct.facts.cmn.diagram import diagram, grid
from asct.facts.cmn.model import CmnReport, Mesh, Register
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity
from asct.values.text import counted

COLUMNS: Final = (
    "mesh", "record", "name", "node_id", "logical_id", "x", "y", "port", "device", "cpu", "address", "value", "meaning",
)  # fmt: skip
"""Columns of cmn.csv. The file has one line per property, count, crosspoint, port, node, CPU and register."""
_LABEL: Final = 16
_FOLDED: Final = 2
"""If more than this many consecutive numbered registers are zero, such as unused child pointers, they are shown on one
line."""
_STUCK: Final = "\N{NO-BREAK SPACE}"
_SOURCES: Final = {
    "registers": "configuration registers",
    "debugfs": "arm_cmn driver map (debugfs)",
    "pmu": "arm_cmn driver PMU",
    "acpi": "firmware device list (ACPI)",
}


def report_lines(report: CmnReport, width: int, *, drawn: bool, registers: bool) -> Iterator[str]:
    """Yield a text description of all meshes, at most `width` columns wide: a summary, the CPUs and, on request, a
    diagram and the registers."""
    for number, mesh in enumerate(report.meshes):
        if number:
            yield ""
        yield from _mesh_lines(mesh, len(report.meshes), width, drawn=drawn, registers=registers)


def _mesh_lines(mesh: Mesh, total: int, width: int, *, drawn: bool, registers: bool) -> Iterator[str]:
    yield from _summary(mesh, total, width)
    if drawn:
        yield ""
        ids = ", each with its node ID" if any(xp.node_id is not None for xp in mesh.crosspoints) else ""
        head = f"Crosspoints by logical ID, with the devices on their ports{ids} (north at the top):"
        yield from wrapped(head, width, "  ")
        yield from _indented(diagram(mesh, width - 2))
    cpus = grid(mesh, width - 2)
    if cpus:
        yield ""
        yield "  CPUs by crosspoint (north at the top):"
        yield from _indented(cpus)
    if registers and mesh.registers:
        yield ""
        yield from _indented(list(_registers(mesh.registers, width - 2)))
    yield from _unknown(mesh.unknown, width)


def _indented(lines: list[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _summary(mesh: Mesh, total: int, width: int) -> Iterator[str]:
    name = " ".join(part for part in (mesh.kind or "mesh of unknown type", mesh.revision) if part)
    size = f": {mesh.width} x {mesh.height} crosspoints" if mesh.width and mesh.height else ""
    number = f" (mesh {mesh.instance}, one of {total})" if total > 1 else ""
    yield f"{name}{f', {mesh.chi}' if mesh.chi else ''}{size}{number}"
    yield from _labelled("read from", _SOURCES[mesh.source], width)
    if mesh.base is not None:
        yield from _labelled("base address", hex(mesh.base), width)
    if mesh.slc_bytes is not None:
        filters = f", snoop filters for {format_quantity(mesh.sf_bytes, 'B')}" if mesh.sf_bytes is not None else ""
        yield from _labelled("system cache", f"{format_quantity(mesh.slc_bytes, 'B')}{filters}", width)
    counts = ", ".join(f"{count}{_STUCK}{kind}" for kind, count in mesh.counts().items())
    if counts:
        yield from (line.replace(_STUCK, " ") for line in _labelled("nodes", counts, width))
    if mesh.cpus:
        yield from _labelled("CPUs", _detected(mesh), width)


def _detected(mesh: Mesh) -> str:
    """Describe the detection: `128 CPUs, detected at 2026-11-21T20:40:00Z, lowest confidence 0.93`."""
    placed = [port for port in mesh.cpus.values() if port is not None]
    lost = len(mesh.cpus) - len(placed)
    parts = [counted(len(placed), "CPU") + (f" ({lost} not located)" if lost else "")]
    if mesh.detected_at:
        parts.append(f"detected at {mesh.detected_at}")
    confidence = [port.confidence for port in placed if port.confidence is not None]
    if confidence:
        parts.append(f"lowest confidence {min(confidence):.2f}")
    return ", ".join(parts)


def _labelled(label: str, text: str, width: int) -> list[str]:
    head = f"  {label.ljust(_LABEL)}"
    return wrapped(text, width, head, " " * len(head))


def _unknown(reasons: dict[str, str], width: int) -> Iterator[str]:
    """Yield the unknown values, grouped by reason."""
    if reasons:
        yield ""
        yield "  Unknown:"
    for why, names in grouped(reasons, reasons.__getitem__).items():
        yield from wrapped(f"{', '.join(names)}: {why}", width, "    ")


def _registers(registers: list[Register], width: int) -> Iterator[str]:
    for (node, offset), group in groupby(registers, key=lambda one: (one.node, one.node_offset)):
        yield f"{node}, registers at offset {offset:#x}"
        for _, similar in groupby(group, key=_zero_series):
            series = list(similar)
            if len(series) > _FOLDED:
                first, last = series[0], series[-1]
                text = f"{first.name} to {last.name} ({first.offset:#06x} to {last.offset:#06x}) = 0x0"
                yield from wrapped(text, width, "  ", "      ")
            else:
                for one in series:
                    yield from _register(one, width)


def _zero_series(register: Register) -> str:
    """Return a key for grouping: zero registers in a numbered series all have the same key; for any other register, the
    key is its name."""
    return re.sub(r"\d+", "#", register.name) if register.value == 0 else register.name


def _register(one: Register, width: int) -> Iterator[str]:
    reset = f", {one.reset:#x} after reset" if one.reset is not None and one.reset != one.value else ""
    text = f"{one.name} ({one.offset:#06x}, {one.access}) = {one.value:#x}{reset}"
    yield from wrapped(text, width, "  ", "      ")
    if one.value or one.reset != 0:  # the fields of an unused register are all zero
        yield from _fields(one, width)


def _fields(register: Register, width: int) -> Iterator[str]:
    for field in register.fields:
        bits = f"{field.msb}:{field.lsb}" if field.msb != field.lsb else str(field.lsb)
        meaning = f" = {field.meaning}" if field.meaning else ""
        text = f"{field.value:#x}{meaning}"
        head = f"    {bits:>5} {field.name.ljust(24)} "
        yield from wrapped(text, width, head, " " * len(head))


def rows(report: CmnReport) -> Iterator[dict[str, Any]]:
    """Yield the lines of cmn.csv."""
    for mesh in report.meshes:
        for row in _mesh_rows(mesh):
            yield {"mesh": mesh.instance, **row}


def _mesh_rows(mesh: Mesh) -> Iterator[dict[str, Any]]:
    for name in ("kind", "revision", "chi", "width", "height", "source", "slc_bytes", "sf_bytes"):
        yield {"record": "mesh", "name": name, "value": getattr(mesh, name)}
    yield {"record": "mesh", "name": "base", "value": None if mesh.base is None else hex(mesh.base)}
    for kind, count in mesh.counts().items():
        yield {"record": "count", "name": kind, "value": count}
    for xp in mesh.crosspoints:
        at = {"x": xp.x, "y": xp.y}
        yield {"record": "crosspoint", "name": "XP", "node_id": xp.node_id, "logical_id": xp.logical_id, **at}
        for port in xp.ports:
            yield {"record": "port", "name": port.device_type, "port": port.port, "value": port.devices, **at}
    for node in mesh.nodes:
        at = node.model_dump(include={"node_id", "logical_id", "x", "y", "port", "device"})
        yield {"record": "node", "name": node.type, **at}
    for cpu, found in mesh.cpus.items():
        at = {} if found is None else found.model_dump(include={"node_id", "x", "y", "port", "device"})
        yield {"record": "cpu", "cpu": cpu, **at, "value": None if found is None else found.confidence}
    for register in mesh.registers:
        yield from _register_rows(register)


def _register_rows(register: Register) -> Iterator[dict[str, Any]]:
    address = None if register.address is None else hex(register.address)
    name = f"{register.node}: {register.name}"
    yield {"record": "register", "name": name, "address": address, "value": hex(register.value)}
    for field in register.fields:
        yield {
            "record": "field",
            "name": f"{name}.{field.name}[{field.msb}:{field.lsb}]",
            "address": address,
            "value": hex(field.value),
            "meaning": field.meaning,
        }
