"""The topology as an SVG drawing: nested boxes that contain every core and thread.

A standalone drawing follows the reader's light or dark color scheme. Inside a page, it uses the page's variables.
Lengths are in CSS pixels.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from asct.analysis.topology.boxes import Box, each, machine
from asct.analysis.topology.latency import CoreLatency
from asct.resources import text
from asct.sdk.facts import HostFacts
from asct.values.colours import VIRIDIS
from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity

_GAP: Final = 6.0
_LINE: Final = 15.0
_GLYPH: Final = 6.4
"""Mean width of a character in the 11 px font, for wrapping text."""
_CORE: Final = 46.0
_WIDEST: Final = 1080.0
_DEVICES: Final = ("bridge", "controller", "drive", "interface", "gpu")
_LEAST: Final = {
    **dict.fromkeys(("machine", "socket", "node"), 240.0),
    **dict.fromkeys(_DEVICES, 150.0),
    "cluster": 110.0,
}
"""Minimum width of each kind of box."""
_DARK_STEPS: Final = 4
"""The number of colors at the start of VIRIDIS on which white text has a higher contrast than black text."""
_SWATCH: Final = 30.0


def _style() -> str:
    """Return the style sheet drawing.css, extended with the colors for latencies, which are the same in both light and
    dark mode."""
    steps = "".join(
        f".topology .step{number} {{ fill: {colour}; }} "
        f".topology .on{number} {{ fill: {'#ffffff' if number < _DARK_STEPS else '#000000'}; }} "
        for number, colour in enumerate(VIRIDIS)
    )
    return f"{' '.join(text(__file__, 'drawing.css').split())} {steps}"


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """A box with its size. `inner` contains the boxes inside it, with the positions of their corners relative to this
    box."""

    part: Box
    heading: tuple[tuple[str, str], ...]
    """Lines of text with their CSS classes."""
    width: float
    height: float
    inner: tuple[tuple[float, float, _Rectangle], ...] = ()


def drawing(facts: HostFacts, latency: CoreLatency | None = None) -> str:
    """Return an `<svg>` element as text. Values from the facts are escaped. If `latency` is set, the colors of the
    cores show their latencies, and a legend explains the colors."""
    whole, across = machine(facts)
    box = _boxed(whole, _WIDEST, max((len(_cpu_lines(part)) for part in each(whole) if part.kind == "core"), default=1))
    legend = _LINE * 3 if latency is not None else 0.0
    width, height = f"{box.width + 2:g}", f"{box.height + legend + 2:g}"
    size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "topology", "role": "img", **size})
    ET.SubElement(root, "title").text = f"Topology of {whole.title}"
    if across:
        ET.SubElement(root, "desc").text = "; ".join(f"{group} overlaps {box}" for group, box in across)
    ET.SubElement(root, "style").text = _style()
    _draw(root, box, 1.0, 1.0, latency)
    if latency is not None:
        _draw_legend(root, latency, box.height + _GAP)
    return ET.tostring(root, encoding="unicode")


def _step(value: float, scale: tuple[float, float]) -> int:
    """Return the index of the color that represents a latency."""
    low, high = scale
    return min(len(VIRIDIS) - 1, int((value - low) / (high - low) * len(VIRIDIS))) if high > low else 0


def _draw_legend(root: ET.Element, latency: CoreLatency, y: float) -> None:
    group = ET.SubElement(root, "g", {"transform": f"translate({_GAP:g} {y:g})"})
    ET.SubElement(group, "text", {"y": f"{_LINE - 3:g}"}).text = latency.title
    low, high = (format_quantity(end, "s") for end in latency.scale)
    ET.SubElement(group, "text", {"y": f"{2 * _LINE - 1:g}"}).text = low
    x = len(low) * _GLYPH + _GAP
    for number in range(len(VIRIDIS)):
        place = {"x": f"{x:g}", "y": f"{_LINE + 2:g}", "width": f"{_SWATCH:g}", "height": f"{_LINE:g}"}
        ET.SubElement(group, "rect", {**place, "class": f"step{number}"})
        x += _SWATCH
    ET.SubElement(group, "text", {"x": f"{x + _GAP:g}", "y": f"{2 * _LINE - 1:g}"}).text = high


def _boxed(part: Box, widest: float, lines: int, described: bool = False) -> _Rectangle:
    """Lay out the inner boxes in rows that are at most `widest` wide. Every core has the same number of `lines`.
    `described` is true if an outer box already describes the cores."""
    if part.kind == "core":
        return _core(part, lines)
    everywhere = {one.detail for one in each(part) if one.kind == "core"}
    inner = [_boxed(one, widest - 2 * _GAP, lines, described or len(everywhere) == 1) for one in part.parts]
    kinds = groupby(inner, key=lambda box: "device" if box.part.kind in _DEVICES else box.part.kind)
    rows = [row for _, same in kinds for row in _rows(list(same), widest)]
    needed = max((sum(box.width + _GAP for box in row) - _GAP for row in rows), default=0.0)
    width = max(needed + 2 * _GAP, _LEAST.get(part.kind, 60.0))
    heading = _heading(part, [] if described else _core_designs(part, everywhere), width)
    y = _GAP + _LINE * len(heading)
    placed: list[tuple[float, float, _Rectangle]] = []
    for row in rows:
        x = _GAP
        for box in row:
            placed.append((x, y, box))
            x += box.width + _GAP
        y += max(box.height for box in row) + _GAP
    return _Rectangle(part, heading, width, y + (0 if rows else _GAP), tuple(placed))


def _core_designs(part: Box, everywhere: set[str]) -> list[str]:
    """Describe the cores in a box. If all cores have the same design, describe all of them; otherwise, describe those
    directly inside the box, grouped by design."""
    own: dict[str, list[int]] = {}
    for one in part.parts:
        if one.kind == "core":
            own.setdefault(one.detail, []).extend(one.cpus)
    designs = sorted(everywhere) if len(everywhere) == 1 else list(own)
    if len(designs) == 1:
        return [f"each core: {design}" for design in designs if design]
    return [f"{format_cpulist(own[design])}: {design}" for design in designs if design]


def _rows(inner: list[_Rectangle], widest: float) -> list[list[_Rectangle]]:
    """Arrange boxes in rows, preferably of equal length, so that the result is about twice as wide as it is high."""
    width = max(box.width for box in inner) + _GAP
    height = max(box.height for box in inner) + _GAP
    fitting = max(1, min(len(inner), int((widest - _GAP) // width)))
    ideal = min(fitting, math.ceil(math.sqrt(2 * len(inner) * height / width)))
    nearby = [*range(ideal, min(fitting, 2 * ideal) + 1), *([ideal - 1] if ideal > 2 else [])]
    even = [count for count in nearby if len(inner) % count == 0]
    columns = even[0] if even else ideal
    return [inner[start : start + columns] for start in range(0, len(inner), columns)]


def _core(part: Box, lines: int) -> _Rectangle:
    """Lay out a core with its CPU numbers. An outer box and a tooltip show its details."""
    texts = _cpu_lines(part)
    if len(texts) < lines == len(part.cpus):  # one number per line, as in the other cores
        texts = [str(cpu) for cpu in sorted(part.cpus)]
    return _Rectangle(part, tuple((line, "") for line in texts), _CORE, _LINE * lines + 8)


def _cpu_lines(part: Box) -> list[str]:
    return textwrap.wrap(format_cpulist(part.cpus).replace(",", " "), int((_CORE - 8) / _GLYPH)) or [""]


def _heading(part: Box, cores: Sequence[str], width: float) -> tuple[tuple[str, str], ...]:
    room = max(8, int((width - 2 * _GAP) / _GLYPH))
    title = part.detail if part.kind == "cache" else part.title
    details = [part.detail, *cores]
    texts = [(title, ""), *((text, "detail") for text in details if text and text != title)]
    return tuple((line, kind) for text, kind in texts for line in textwrap.wrap(text, room))


def _draw(parent: ET.Element, box: _Rectangle, x: float, y: float, latency: CoreLatency | None) -> None:
    group = ET.SubElement(parent, "g", {"transform": f"translate({x:g} {y:g})"})
    part = box.part
    own = latency.of(part.cpus) if latency is not None and part.kind == "core" else None
    step = None if latency is None or own is None else _step(own, latency.scale)
    cpus = f"CPUs {format_cpulist(part.cpus)}" if part.cpus else ""
    measured = "" if own is None else format_quantity(own, "s")
    ET.SubElement(group, "title").text = ", ".join(filter(None, (part.title, part.detail, cpus, measured)))
    size = {"width": f"{box.width:g}", "height": f"{box.height:g}", "rx": "4"}
    ET.SubElement(group, "rect", {"class": part.kind if step is None else f"{part.kind} step{step}", **size})
    for number, (line, kind) in enumerate(box.heading):
        place = {"x": f"{_GAP:g}", "y": f"{_LINE * (number + 1):g}"}
        css_class = kind if step is None else f"on{step}"
        ET.SubElement(group, "text", {**place, **({"class": css_class} if css_class else {})}).text = line
    for left, top, inner in box.inner:
        _draw(group, inner, left, top, latency)
