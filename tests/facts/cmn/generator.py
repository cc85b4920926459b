"""Synthetic meshes for tests: a description, the registers of hardware that matches this description, and an image of
them.

This module shares no code or data with what it tests. It repeats the offsets and bits from Linux
(drivers/perf/arm-cmn.c) and from the Technical Reference Manuals.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DVM, CFG, DTC, HN_I, HN_F, XP, SBSX, RN_I, RN_SAM, CXRA, CXHA, CXLA, CCG_RA, CCG_HA, CCLA, HN_S = (
    0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0xA, 0xF, 0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x200,
)  # fmt: skip
RNF_B_ESAM, RNF_E_ESAM, RNF_F, P_HNT, P_HND, P_SNF, P_SBSX, P_HNF, P_CXHA, P_HNS, P_CCG, P_RNI = (
    0x05, 0x19, 0x20, 0x08, 0x0A, 0x0C, 0x0D, 0x0E, 0x11, 0x1A, 0x1E, 0x01,
)  # fmt: skip
EXTERNAL, ISOLATED = 1 << 31, 1 << 30


@dataclass(frozen=True)
class Model:
    """The properties that differ between the products."""

    part: int
    step: int
    """Distance from the registers of one node to those of the next."""
    connect: tuple[int, ...]
    info: tuple[int, ...] = ()
    domain: int | None = None
    chi_shift: int = 0
    root: int = 0
    first: int = 0x20000
    """Offset of the registers of the first crosspoint."""


_SIX = (0x08, 0x10, 0x18, 0x20, 0x28, 0x30)
_INFO_SIX = (0x900, 0x910, 0x920, 0x930, 0x940, 0x950)
CMN_600 = Model(0x434, 0x4000, (0x08, 0x10), (0x900, 0x908), root=0x104000, first=0x200000)
CMN_650 = Model(0x436, 0x4000, (0x08, 0x10), (0x900, 0x908), 0x910, 60)
CMN_700 = Model(0x43C, 0x10000, _SIX, _INFO_SIX, 0x960, 60)
CI_700 = Model(0x43A, 0x10000, (0x08, 0x10, 0x28, 0x30, 0x38, 0x40), (), 0x910, 60)
CMN_S3_R0 = Model(0x43E, 0x10000, _SIX, _INFO_SIX, 0x960, 60)
CMN_S3 = Model(0x43E, 0x10000, _SIX, _INFO_SIX, 0x960, 56)
"""Revisions since r2, in which por_info_global has a different layout."""


@dataclass(frozen=True)
class Plug:
    """What is connected to a port: the device type, the number of devices, and the nodes of each."""

    port: int
    device_type: int
    nodes: tuple[int, ...] = ()
    devices: int = 1
    external: bool = False
    """Whether the nodes are outside the mesh."""


@dataclass
class Made:
    """A node and its registers, keyed by their offset from the base of the node."""

    code: int
    node_id: int
    logical_id: int
    offset: int
    registers: dict[int, int] = field(default_factory=dict)
    children: list[int] = field(default_factory=list)
    flags: int = 0
    """Flags in the pointer to the node."""
    place: tuple[int, int, int, int] | None = None
    """x, y, port, device."""

    @property
    def info(self) -> int:
        return self.registers.get(0, 0) or self.code | self.node_id << 16 | self.logical_id << 32

    def words(self) -> dict[int, int]:
        """Return all 64-bit words of the node."""
        pointers = {0x100 + 8 * at: child for at, child in enumerate(self.children)}
        return {**self.registers, 0x0: self.info, 0x80: len(self.children) | 0x100 << 16, **pointers}


@dataclass
class Hardware:
    """A mesh as the hardware contains it: the root, its crosspoints, and the devices of each."""

    model: Model
    width: int
    height: int
    plugs: Mapping[tuple[int, int], Sequence[Plug]]
    root: Made
    crosspoints: list[Made]
    devices: dict[int, list[Made]]
    """The devices, keyed by the offset of the crosspoint."""

    @property
    def nodes(self) -> list[Made]:
        below = [node for xp in self.crosspoints for node in (xp, *self.devices[xp.offset])]
        return [self.root, *below]

    def words(self) -> dict[int, int]:
        """Return every register word that is not zero by definition, keyed by its offset from the base."""
        present = [node for node in self.nodes if not node.flags]
        return {node.offset + at: value for node in present for at, value in node.words().items()}

    def write(self, path: Path) -> Path:
        """Write a sparse image."""
        words = self.words()
        with path.open("wb") as file:
            for at, value in sorted(words.items()):
                file.seek(at)
                file.write(struct.pack("<Q", value))
            file.truncate(max(words) + self.model.step)
        return path

    def printed(self, wanted: str, base: int = -1) -> str:
        """Return what the kernel prints about the mesh if `wanted` is requested."""
        asked = {
            tuple(int(word, 16) for word in key.split("/")): offsets.split(",")
            for key, offsets in map(_halves, wanted.split(";"))
        }
        isolation = bool(self.root.words().get(0x900, 0) >> 44 & 1)
        lines: list[dict[str, Any]] = [
            {"t": "meta", "kernel": "cmn", "options": {"base": base}},
            {"t": "ready"},
            {"t": "mesh", "part": self.model.part, "isolation": isolation},
            self._sample(self.root, None, asked),
        ]
        for xp in self.crosspoints:
            lines.append(self._sample(xp, self.root.offset, asked))
            for node in self.devices[xp.offset]:
                why = (
                    "external" if node.flags & EXTERNAL else "isolation" if isolation or node.flags & ISOLATED else None
                )
                place = {"t": "sample", "offset": node.offset, "parent": xp.offset}
                lines.append({**place, "skipped": why} if why else self._sample(node, xp.offset, asked))
        lines.append({"t": "end", "ok": True, "nodes": sum("info" in line for line in lines)})
        return "".join(json.dumps(line) + "\n" for line in lines)

    def _sample(self, node: Made, parent: int | None, asked: Mapping[tuple[int, ...], Sequence[str]]) -> dict[str, Any]:
        words = node.words()
        registers = []
        for text in asked.get((self.model.part, node.code), ()):
            at = int(text.rstrip("w"), 16)
            value = words.get(at & ~7, 0) >> 8 * (at & 7)
            registers.append([at, value & 0xFFFF_FFFF if text.endswith("w") else value])
        place = {"t": "sample", "offset": node.offset, "parent": parent}
        return {**place, "info": node.info, "children": len(node.children), "regs": registers}


def _halves(group: str) -> tuple[str, str]:
    key, _, offsets = group.partition(":")
    return key, offsets


def build(
    model: Model, width: int, height: int, plugs: Callable[[int, int], Sequence[Plug]], *,
    revision: int = 1, chi: int = 5, bits: int | None = None, global_info: int = 0, home_info: int = 0x1035,
) -> Hardware:  # fmt: skip
    """Build hardware from a description. `bits` are the numbers of bits of x and y in a node ID; `home_info` is
    por_hnf_unit_info."""
    most = max(width, height)
    bits = bits or (2 if most <= 4 else 3 if most <= 8 else 4)
    places = {(x, y): plugs(x, y) for y in range(height) for x in range(width)}
    root = Made(CFG, 0, 0, model.root, _root_registers(model, revision, chi, global_info))
    offsets = iter(range(model.first, 1 << 30, model.step))
    logical: Counter[int] = Counter()
    crosspoints, devices = [], {}
    for number, ((x, y), here) in enumerate(places.items()):
        xp = Made(XP, (x << bits | y) << 3, number, next(offsets), place=(x, y, 0, 0))
        _crosspoint_registers(model, xp, here, number)
        low = (3, 2) if width * height == 1 else (2, 1) if max((plug.port for plug in here), default=0) > 1 else (1, 2)
        devices[xp.offset] = [
            _device(code, xp, plug, device, low, logical, next(offsets), home_info)
            for plug in here
            for device in range(plug.devices)
            for code in plug.nodes
        ]
        xp.children = [node.offset | node.flags for node in devices[xp.offset]]
        crosspoints.append(xp)
    root.children = [xp.offset for xp in crosspoints]
    return Hardware(model, width, height, places, root, crosspoints, devices)


def _root_registers(model: Model, revision: int, chi: int, more: int) -> dict[int, int]:
    issue = chi << model.chi_shift if model.chi_shift else (chi - 2) << 49
    part = (model.part & 0xFF) | (0xB0 | model.part >> 8) << 32
    return {0x08: part, 0x10: revision << 4 | 0xB, 0x900: issue | 48 << 16 | 48 << 8 | 8 | more, 0x908: 5}


def _crosspoint_registers(model: Model, xp: Made, plugs: Sequence[Plug], number: int) -> None:
    for plug in plugs:
        xp.registers[model.connect[plug.port]] = plug.device_type | (1 << 7 if plug.devices > 1 else 0) | 2 << 8
        if model.info:
            xp.registers[model.info[plug.port]] = plug.devices | 1 << 8
    if model.domain is not None:
        xp.registers[model.domain] = xp.registers.get(model.domain, 0) | number % 2
    if model.part in (0x43C, 0x43E):
        ports = max((plug.port + 1 for plug in plugs), default=0)
        xp.registers[0x0] = XP | xp.node_id << 16 | xp.logical_id << 32 | max(ports, 2) << 48


def _device(
    code: int, xp: Made, plug: Plug, device: int, low: tuple[int, int], logical: Counter[int], offset: int, info: int
) -> Made:
    x, y, *_ = xp.place or (0, 0)
    node = Made(code, xp.node_id | plug.port << low[1] | device, logical[code], offset, place=(x, y, plug.port, device))
    logical[code] += 1
    if code in (HN_F, HN_S):
        node.registers[0x900] = info
    node.flags = EXTERNAL if plug.external else 0
    return node
