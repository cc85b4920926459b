"""The registers of a mesh one by one, with their fields and what these stand for."""

from __future__ import annotations

from asct.facts.cmn.layouts import FieldLayout, registers_of
from asct.facts.cmn.layouts.names import NODE_TYPES, RN_SAM
from asct.facts.cmn.layouts.products import of_kind
from asct.facts.cmn.model import Mesh, Register, RegisterField
from asct.facts.cmn.registers.dump import Dump, Found
from asct.facts.gaps import Gaps

_ADDRESSES = 1 << 64


def registers(dump: Dump, mesh: Mesh, gaps: Gaps) -> list[Register]:
    """Of each node that was read those that are known, in the order of the output."""
    if mesh.kind is None:
        gaps.note("registers", "what they are depends on the kind of mesh, which is unknown")
        return []
    unreadable = sum(node.unreadable for node in dump.nodes)
    if unreadable:
        gaps.note("registers", f"{unreadable} could not be read")
    part = of_kind(mesh.kind).part
    return [one for node in dump.nodes if not node.skipped for one in _of_node(node, part, mesh)]


def _of_node(node: Found, part: int, mesh: Mesh) -> list[Register]:
    name = _name(node, mesh)
    found = []
    for layout in registers_of(part, mesh.revision, node.code):
        value = node.info if layout.offset == 0 else node.registers.get(layout.offset)
        if value is None:
            continue
        address = None if mesh.base is None else mesh.base + node.offset + layout.offset
        found.append(
            Register(
                node=name,
                node_offset=node.offset,
                name=layout.name,
                offset=layout.offset,
                address=address if address is not None and address < _ADDRESSES else None,
                value=value,
                access=layout.access,
                reset=layout.reset,
                description=layout.description,
                fields=[_field(one, value) for one in layout.fields],
            )
        )
    return found


def _field(layout: FieldLayout, value: int) -> RegisterField:
    number = layout.of(value)
    return RegisterField(
        name=layout.name,
        msb=layout.msb,
        lsb=layout.lsb,
        value=number,
        meaning=layout.values.get(number),
        description=layout.description,
    )


def _name(node: Found, mesh: Mesh) -> str:
    """`XP 3 (1,0)`, `HN-F 7`."""
    kind = NODE_TYPES.get(node.code, f"{node.code:#x}")
    number = f"at {node.node_id:#x}" if node.code == RN_SAM else str(node.logical_id)
    place = next((f" ({xp.x},{xp.y})" for xp in mesh.crosspoints if xp.offset == node.offset), "")
    return f"{kind} {number}{place}"
