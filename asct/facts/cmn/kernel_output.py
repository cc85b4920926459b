"""The arguments and the output of the `cmn` kernel. kernels/cmn/README.md documents the output lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeGuard

from asct.facts.cmn.layouts import CFG, XP, node_types, of_kind, products, registers_of
from asct.facts.cmn.model import Mesh
from asct.values.grouping import grouped
from asct.values.strict_json import json_object

KERNEL: Final = "cmn"
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class PrintedNode:
    """A node as printed by the `cmn` kernel.

    `offset` and `parent` are the register offsets of the node and its parent; the keys of `registers` are relative to
    `offset`. `skipped` says why the node was not read; it is None if the node was read.
    """

    offset: int
    parent: int | None
    info: int = 0
    children: int = 0
    registers: Mapping[int, int] = field(default_factory=dict)
    unreadable: int = 0
    skipped: str | None = None

    @property
    def code(self) -> int:
        """The number that identifies the node type."""
        return self.info & 0xFFFF

    @property
    def node_id(self) -> int:
        """The ID that encodes the node's position in the mesh."""
        return self.info >> 16 & 0xFFFF

    @property
    def logical_id(self) -> int:
        """The node's number among all nodes of its type."""
        return self.info >> 32 & 0xFFFF


@dataclass(frozen=True)
class KernelOutput:
    """All nodes, one per offset. `base` is the physical address of the registers, or None if they come from a file."""

    nodes: tuple[PrintedNode, ...] = ()
    base: int | None = None
    isolation: bool = False
    """Whether device nodes were skipped."""
    fault: str | None = None
    """Description of the malformed output, or None if nothing is malformed."""

    @property
    def root(self) -> PrintedNode | None:
        """The configuration node."""
        return next((node for node in self.nodes if node.parent is None and node.code == CFG), None)

    def below(self, parent: PrintedNode) -> list[PrintedNode]:
        """Return the nodes directly below a node, in output order."""
        return [node for node in self._by_parent.get(parent.offset, ()) if node is not parent]

    @cached_property
    def _by_parent(self) -> dict[int | None, list[PrintedNode]]:
        """The nodes, keyed by the offset of their parent. The result is cached to keep lookups fast even if malformed
        output contains a huge number of nodes."""
        return grouped(self.nodes, lambda node: node.parent)

    def crosspoints(self) -> list[PrintedNode]:
        """Return the crosspoints below the root node."""
        root = self.root
        return [node for node in self.below(root) if node.code == XP and not node.skipped] if root else []


def register_list(mesh: Mesh | None = None) -> str:
    """Return the value of the `cmn` kernel's `--registers` option.

    The value selects all known registers of `mesh`. Without a mesh, the value selects the registers that describe the
    topology of any known mesh.
    """
    if mesh is None or mesh.kind is None:
        groups = {
            (product.part, code): offsets
            for product in products().values()
            for code, offsets in product.discovery().items()
        }
        return _listed({key: [f"{offset:x}" for offset in offsets] for key, offsets in groups.items()})
    product = of_kind(mesh.kind)
    part = product.part
    found = {
        (part, code): [
            f"{register.offset:x}{'w' if register.width == 4 else ''}"
            for register in registers_of(part, mesh.revision, code)
        ]
        for code in node_types()
    }
    for code, offsets in product.discovery().items():
        found[part, code] += [f"{offset:x}" for offset in offsets if f"{offset:x}" not in found[part, code]]
    return _listed(found)


def _listed(groups: Mapping[tuple[int, int], Iterable[str]]) -> str:
    return ";".join(f"{part:x}/{code:x}:{','.join(offsets)}" for (part, code), offsets in groups.items())


def read_dump(text: str) -> KernelOutput:
    """Parse the kernel's standard output. Malformed lines do not raise an error: they are skipped and counted in
    `fault`."""
    nodes: dict[int, PrintedNode] = {}
    base, isolation, ended, odd = None, False, False, 0
    for line in text.splitlines():
        match json_object(line) or {}:
            case {"t": "sample"} as sample if (node := _node(sample)) is not None:
                odd += node.offset in nodes
                nodes.setdefault(node.offset, node)
            case {"t": "mesh", "isolation": bool(isolated)}:
                isolation = isolated
            case {"t": "end", "ok": True}:
                ended = True
            case {"t": "meta", "options": {"base": address}} if _number(address):
                base = address
            case {"t": "meta" | "ready"}:
                pass
            case _:
                odd += 1
    faults = [f"{odd} lines are malformed"] * (odd > 0) + ["it is truncated"] * (not ended)
    return KernelOutput(tuple(nodes.values()), base, isolation, " and ".join(faults) or None)


def _node(sample: Mapping[str, Any]) -> PrintedNode | None:
    """Parse a node; return None if it is malformed."""
    offset, parent = sample.get("offset"), sample.get("parent")
    if not _number(offset) or not (parent is None or _number(parent)):
        return None
    skipped = sample.get("skipped")
    if skipped is not None:
        return PrintedNode(offset, parent, skipped=skipped) if isinstance(skipped, str) else None
    info, children, listed = sample.get("info"), sample.get("children", 0), sample.get("regs")
    if not _number(info) or not _number(children) or not isinstance(listed, list):
        return None
    registers: dict[int, int] = {}
    for pair in listed:
        match pair:
            case [at, value] if _number(at) and _number(value):
                registers[at] = value
            case [at, None] if _number(at):
                continue
            case _:
                return None
    return PrintedNode(offset, parent, info, children, registers, len(listed) - len(registers))


def _number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _WORD
