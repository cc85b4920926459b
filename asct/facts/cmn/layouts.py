"""The registers of the nodes in each mesh product, and their meaning.

layouts.yaml contains the data and cites its sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from asct.facts.cmn.model import MeshKind

CFG, DTC, HN_F, XP, RN_SAM, HN_S = 2, 3, 5, 6, 0xF, 0x200
PERIPH_ID_01, PERIPH_ID_23, INFO_GLOBAL, UNIT_INFO = 0x08, 0x10, 0x900, 0x900
LINE_BYTES: Final = 64


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
    chi: int | None = None
    crosspoint_trace: Mapping[str, int] = field(default_factory=dict)
    sf_ways: int | None = None

    def revision(self, code: int) -> str | None:
        """Return the name of a revision (`r1p0`); None for an unknown code."""
        return self.revisions[code] if code < len(self.revisions) else None

    def chi_issue(self, info_global: int) -> str | None:
        """Return the issue of the CHI protocol (`CHI-E`); None if it is unknown.

        On CMN-600, bit 49, chic_mode_en, distinguishes C from B (cmn-tools, cmn_devmem.py: `chi_version`).
        """
        number = 2 + (info_global >> 49 & 1) if self.chi is None else info_global >> self.chi & 7
        return f"CHI-{'?ABCDEFG'[number]}" if number else None

    def slc_bytes(self, unit_info: int) -> int | None:
        """Return the size of the system level cache in one home node, in bytes; None for an unknown code."""
        code = unit_info & (7 if len(self.slc_kib) == 8 else 0xF)
        return self.slc_kib[code] << 10 if code < len(self.slc_kib) else None

    def sf_bytes(self, unit_info: int) -> int | None:
        """Return the total size of the cache lines that one home node's snoop filter can track, in bytes; None for an
        unknown code.

        The filter has 512 << sf_size sets of 16 ways, or sf_num_ways ways in products after CMN-650.
        """
        code = unit_info >> 4 & 7
        ways = unit_info >> 54 & 0x3F if self.sf_ways is None else self.sf_ways
        return (512 << code) * ways * LINE_BYTES if code <= 4 and ways else None

    def discovery(self) -> dict[int, tuple[int, ...]]:
        """Return the offsets of the registers that describe the topology and the cache sizes, by node type."""
        domain = () if self.domain is None else (self.domain,)
        return {
            CFG: (PERIPH_ID_01, PERIPH_ID_23, INFO_GLOBAL, 0x908),
            XP: (*self.connect, *self.port_info, *domain),
            HN_F: (UNIT_INFO,),
            HN_S: (UNIT_INFO,),
        }


@cache
def _data() -> dict[str, Any]:
    import yaml  # imported here, because few commands need it

    text = Path(__file__).with_name("layouts.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    return data


@cache
def node_types() -> Mapping[int, str]:
    """Return the name of each node type, by code."""
    return {code: name for code, (name, _) in _data()["node_types"].items()}


@cache
def devices() -> Mapping[int, tuple[str, str]]:
    """Return the family and full name of each device type, by code."""
    return {code: (family, name) for code, (family, name) in _data()["devices"].items()}


@cache
def products() -> Mapping[int, MeshProduct]:
    """Return the known products, by part number."""
    made: dict[int, MeshProduct] = {}
    for kind, entry in _data()["products"].items():
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        made[entry["part"]] = MeshProduct(kind=kind, **values)
    return made


def of_kind(kind: MeshKind) -> MeshProduct:
    """Return the product of this kind."""
    return next(product for product in products().values() if product.kind == kind)


def part_number(periph_id_01: int) -> int:
    """Return the part number in por_cfgm_periph_id_0_periph_id_1 (CMN_CFGM_PID0_PART_0, CMN_CFGM_PID1_PART_1)."""
    return (periph_id_01 >> 32 & 0xF) << 8 | periph_id_01 & 0xFF


@cache
def registers_of(part: int, revision: str | None, code: int) -> tuple[RegisterLayout, ...]:
    """Return the registers of nodes with the type `code` in the product with this part number.

    The result is empty if the product or the type is unknown. In a CMN S3 crosspoint, the offset of the monitor depends
    on the revision; if the revision is unknown, the registers of the monitor are omitted.
    """
    product = products().get(part)
    if product is None or code not in node_types():
        return ()
    return tuple(
        layout
        for entry in _data()["registers"]
        if _applies(entry, product, code)
        for layout in _expanded(entry, product, revision, code)
    )


def _applies(entry: Mapping[str, Any], product: MeshProduct, code: int) -> bool:
    """Return whether a register or field exists in this type of node in this product."""
    node = node_types()[code]
    return (
        product.kind in entry.get("products", (product.kind,))
        and node in entry.get("nodes", (node,))
        and node not in entry.get("not_nodes", ())
    )


def _expanded(
    entry: Mapping[str, Any], product: MeshProduct, revision: str | None, code: int
) -> Iterator[RegisterLayout]:
    prefix = _data()["node_types"][code][1]
    for item, offset in _offsets(entry, product, revision, code):
        yield RegisterLayout(
            name=entry["name"].format(n=item, prefix=prefix),
            offset=offset,
            access=entry.get("access", "RO"),
            description=entry["text"].format(n=item),
            fields=tuple(
                made
                for one in entry.get("fields", ())
                if _applies(one, product, code)
                for made in _fields(one, item, product)
            ),
            reset=entry.get("reset"),
            width=entry.get("width", 8),
        )


def _offsets(
    entry: Mapping[str, Any], product: MeshProduct, revision: str | None, code: int
) -> Iterator[tuple[int | str, int]]:
    """Yield the items of `each`, with the offset of the register for each item."""
    if isinstance(entry["at"], str):
        yield from enumerate(getattr(product, entry["at"]))
        return
    base = getattr(product, entry["from"]) if "from" in entry else 0
    if entry.get("from") == "trace" and code == XP and product.crosspoint_trace:
        base = product.crosspoint_trace.get((revision or "")[:2])
    if base is None:
        return
    each = entry.get("each", 1)
    for number, item in enumerate(range(each) if isinstance(each, int) else each):
        yield item, base + entry["at"] + number * entry.get("step", 0)


def _fields(one: Mapping[str, Any], item: int | str, product: MeshProduct) -> Iterator[FieldLayout]:
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
