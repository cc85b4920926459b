"""The mesh products, the registers of their nodes, and the meanings of register values.

layouts.yaml and registers.yaml contain the data and cite their sources. registers.yaml, the larger file, is read only
if registers are requested by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from asct.facts.cmn.model import MeshKind
from asct.resources import data

BitPlace = int | Mapping[str, int] | None
"""The bit position of a value: either one for all revisions, or one for each major revision (`r0`)."""

CFG, DTC, HN_F, XP, RN_SAM, HN_S = 2, 3, 5, 6, 0xF, 0x200
PERIPH_ID_01, PERIPH_ID_23, INFO_GLOBAL, UNIT_INFO = 0x08, 0x10, 0x900, 0x900
LINE_BYTES: Final = 64
_MONITOR_BYTES: Final = 0x200
"""Distance, in bytes, between the registers of a crosspoint's consecutive monitors (CMN-700 TRM 102308,
por_dtm_control_dt1)."""
_ARRAY_BYTES: Final = 0x1000
"""Distance, in bytes, between the error record arrays in the root node of a CMN S3 (cmns3-r2.regdefs in cmn-tools)."""


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """A field of a register: bits `msb` to `lsb`. `values` maps codes to their meaning, and is empty for a plain
    number."""

    name: str
    msb: int
    lsb: int
    description: str = ""
    values: Mapping[int, str] = field(default_factory=dict)

    def of(self, value: int) -> int:
        """Extract the field from the value of the register."""
        return value >> self.lsb & ((1 << (self.msb - self.lsb + 1)) - 1)


@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """A register of a node. `offset` is relative to the base of the node; `width` is the access width in bytes.

    `reset` is None if the reset value depends on the configuration or is not published.
    """

    name: str
    offset: int
    access: Literal["RO", "RW"]
    description: str
    fields: tuple[FieldLayout, ...] = ()
    reset: int | None = None
    width: int = 8


@dataclass(frozen=True, slots=True)
class MeshProduct:
    """A mesh product. The comment above `products` in layouts.yaml explains the fields."""

    kind: MeshKind
    part: int
    connect: tuple[int, ...]
    mesh_connect: int
    device_bits: int
    trace: int
    slc_kib: tuple[int, ...]
    revisions: tuple[str | None, ...] = ()
    port_info: tuple[int, ...] = ()
    domain: int | None = None
    chi: BitPlace = None
    multiple_dtm: BitPlace = None
    crosspoint_trace: BitPlace = None
    identity: BitPlace = None
    monitors: BitPlace = None
    sf_ways: int | None = None

    def revision(self, code: int) -> str | None:
        """Return the name of a revision (`r1p0`), or None for an unknown code."""
        return self.revisions[code] if code < len(self.revisions) else None

    def chi_issue(self, info_global: int, revision: str | None) -> str | None:
        """Return the issue (version) of the CHI protocol, such as `CHI-E`, or None if it is unknown.

        On CMN-600, bit 49, chic_mode_en, distinguishes C from B (cmn-tools, cmn_devmem.py: `chi_version`).
        """
        place = _at(self.chi, revision)
        if self.chi is not None and place is None:
            return None
        number = 2 + (info_global >> 49 & 1) if place is None else info_global >> place & 7
        return f"CHI-{'?ABCDEFG'[number]}" if number else None

    def has_multiple_dtms(self, info_global: int, revision: str | None) -> bool | None:
        """Return whether a crosspoint has one debug and trace monitor for every two ports, or None if this is
        unknown."""
        place = _at(self.multiple_dtm, revision)
        if place is None:
            return False if self.multiple_dtm is None else None
        return bool(info_global >> place & 1)

    def slc_bytes(self, unit_info: int) -> int | None:
        """Return the size, in bytes, of the system level cache in one home node, or None for an unknown code."""
        code = unit_info & (7 if len(self.slc_kib) == 8 else 0xF)
        return self.slc_kib[code] << 10 if code < len(self.slc_kib) else None

    def sf_bytes(self, unit_info: int) -> int | None:
        """Return the total size, in bytes, of the cache lines that one home node's snoop filter can track, or None for
        an unknown code.

        The filter has 512 << sf_size sets of 16 ways, or sf_num_ways ways in products after CMN-650.
        """
        code = unit_info >> 4 & 7
        ways = unit_info >> 54 & 0x3F if self.sf_ways is None else self.sf_ways
        return (512 << code) * ways * LINE_BYTES if code <= 4 and ways else None

    def discovery(self) -> dict[int, tuple[int, ...]]:
        """Return the offsets of the registers that describe the topology and the cache sizes, keyed by node type."""
        domain = () if self.domain is None else (self.domain,)
        return {
            CFG: (PERIPH_ID_01, PERIPH_ID_23, INFO_GLOBAL, 0x908),
            XP: (*self.connect, *self.port_info, *domain),
            HN_F: (UNIT_INFO,),
            HN_S: (UNIT_INFO,),
        }


def _at(place: BitPlace, revision: str | None) -> int | None:
    return place.get((revision or "")[:2]) if isinstance(place, Mapping) else place


def _data(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = data(__file__, f"{name}.yaml")
    return found


@cache
def node_types() -> Mapping[int, str]:
    """Return the names of the node types, keyed by code."""
    return {code: name for code, (name, _) in _data("layouts")["node_types"].items()}


@cache
def devices() -> Mapping[int, tuple[str, str]]:
    """Return the family and full name of each device type, keyed by code."""
    return {code: (family, name) for code, (family, name) in _data("layouts")["devices"].items()}


@cache
def products() -> Mapping[int, MeshProduct]:
    """Return the known products, keyed by part number."""
    known: dict[int, MeshProduct] = {}
    for kind, entry in _data("layouts")["products"].items():
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        known[entry["part"]] = MeshProduct(kind=kind, **values)
    return known


def of_kind(kind: MeshKind) -> MeshProduct:
    """Return the mesh product of this kind, such as `CMN-700`."""
    return next(product for product in products().values() if product.kind == kind)


def part_number(periph_id_01: int) -> int:
    """Return the part number in por_cfgm_periph_id_0_periph_id_1 (CMN_CFGM_PID0_PART_0, CMN_CFGM_PID1_PART_1)."""
    return (periph_id_01 >> 32 & 0xF) << 8 | periph_id_01 & 0xFF


@cache
def registers_of(part: int, revision: str | None, code: int) -> tuple[RegisterLayout, ...]:
    """Return the registers of nodes with the type `code` in the product with this part number, ordered by offset.

    The result is empty if the product or the type is unknown. Registers and fields that differ between revisions are
    omitted if the revision is unknown.
    """
    product = products().get(part)
    if product is None or code not in node_types():
        return ()
    node = _NodeScope(product, revision, code)
    found = (layout for entry in _data("registers")["registers"] if node.has(entry) for layout in node.layouts(entry))
    return tuple(sorted(found, key=lambda layout: layout.offset))


@dataclass(frozen=True, slots=True)
class _NodeScope:
    """A node type in a revision of a product. Together, they determine which registers and fields in registers.yaml
    apply."""

    product: MeshProduct
    revision: str | None
    code: int

    @property
    def node(self) -> str:
        return node_types()[self.code]

    @property
    def kinds(self) -> set[str]:
        """Return the names that the table uses for the product, such as `CMN-700` and `CMN-700 r3`."""
        return {self.product.kind, f"{self.product.kind} {(self.revision or '')[:2]}"}

    def has(self, entry: Mapping[str, Any], item: int | str | None = None) -> bool:
        """Return whether a register, or a field of a register, exists in this node."""
        kinds = self.kinds
        return (
            not kinds.isdisjoint(entry.get("products", kinds))
            and kinds.isdisjoint(entry.get("not_products", ()))
            and self.node in entry.get("nodes", (self.node,))
            and self.node not in entry.get("not_nodes", ())
            and item in entry.get("items", (item,))
        )

    def layouts(self, entry: Mapping[str, Any]) -> Iterator[RegisterLayout]:
        prefix, reset = _data("layouts")["node_types"][self.code][1], entry.get("reset")
        for suffix, shift in self._repeats(entry):
            for item, offset in self._offsets(entry):
                name = self._spelled(entry, entry["name"]).format(n=item, prefix=prefix)
                yield RegisterLayout(
                    name=name + suffix,
                    offset=offset + shift,
                    access=entry.get("access", "RO"),
                    description=entry["text"].format(n=item),
                    fields=tuple(self._fields(entry, item)),
                    reset=reset.get(self.node) if isinstance(reset, Mapping) else reset,
                    width=entry.get("width", 8),
                )

    def _repeats(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """Yield the name suffix and the offset of each copy of a register. There is one copy per array or per
        monitor."""
        if "arrays" in entry:
            yield from ((f"_sra_{array}", array * _ARRAY_BYTES) for array in range(entry["arrays"]))
            return
        for monitor in range(self._monitors(entry)):
            yield f"_dt{monitor}" if monitor else "", monitor * _MONITOR_BYTES

    def _monitors(self, entry: Mapping[str, Any]) -> int:
        """Return the number of copies of a register: one for each monitor if it belongs to a monitor, otherwise one."""
        of_monitor = self.code == XP and entry.get("from") == "trace"
        return (of_monitor and _at(self.product.monitors, self.revision)) or 1

    def _offsets(self, entry: Mapping[str, Any]) -> Iterator[tuple[int | str, int]]:
        """Yield each item of `each` with the offset of its register."""
        if isinstance(entry["at"], str):
            yield from enumerate(getattr(self.product, entry["at"]))
            return
        base = _at(getattr(self.product, entry["from"]), self.revision) if "from" in entry else 0
        if entry.get("from") == "trace" and self.code == XP and self.product.crosspoint_trace:
            base = _at(self.product.crosspoint_trace, self.revision)
        if base is None:
            return
        each = entry.get("each", 1)
        for number, item in enumerate(range(each) if isinstance(each, int) else each):
            yield item, base + entry["at"] + number * entry.get("step", 8)

    def _fields(self, entry: Mapping[str, Any], item: int | str) -> Iterator[FieldLayout]:
        listed: str | Iterable[Mapping[str, Any]] = entry.get("fields", ())
        for one in _short_fields(listed) if isinstance(listed, str) else listed:
            if self.has(one, item):
                yield from _field_layouts({**one, "name": self._spelled(entry, one["name"])}, item, self.product)

    def _spelled(self, entry: Mapping[str, Any], name: str) -> str:
        for kind, parts in entry.get("spelled", {}).items():
            for part, own in parts.items() if kind in self.kinds else ():
                name = name.replace(part, own)
        return name


def _short_fields(text: str) -> Iterator[dict[str, Any]]:
    """Yield the fields in a list that uses the short form: `ED[1:0] UE[29]`."""
    for name, msb, lsb in re.findall(r"(\S+)\[(\d+)(?::(\d+))?\]", text):
        yield {"name": name, "bits": [int(msb), int(lsb or msb)]}


def _field_layouts(one: Mapping[str, Any], item: int | str, product: MeshProduct) -> Iterator[FieldLayout]:
    bits = one["bits"]
    msb, lsb = (
        (bits, bits) if isinstance(bits, int) else (product.device_bits - 1, 0) if bits == "device_bits" else bits
    )
    for number in range(one.get("each", 1)):
        by = number * one.get("step", 0)
        name, text = (str(one.get(key, "")).format(n=item, i=number) for key in ("name", "text"))
        yield FieldLayout(name, msb + by, lsb + by, text, _values(one.get("values", {}), product))


def _values(values: Mapping[int, str] | str, product: MeshProduct) -> Mapping[int, str]:
    match values:
        case "node_types":
            return node_types()
        case "devices":
            known = {code: name for code, (_, name) in devices().items() if code < 1 << product.device_bits}
            return {0: "nothing", **known}
        case "slc_kib":
            return {
                code: f"{kib / 1024:g} MiB" if kib >= 1024 else f"{kib} KiB" if kib else "none"
                for code, kib in enumerate(product.slc_kib)
            }
        case str():
            raise KeyError(values)
        case _:
            return values
