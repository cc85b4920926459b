"""Mesh data that is available without reading registers: the PMUs of the arm_cmn driver, the devices described by the
firmware (ACPI or device tree), and the addresses of their registers (/proc/iomem).

The driver names a PMU arm_cmn_<instance>. `identifier` is the part number in three hexadecimal digits, followed by the
revision in two; `format/*` lists the bits of each event field (drivers/perf/arm-cmn.c, and
Documentation/ABI/testing/sysfs-bus-event_source-devices-format in the Linux kernel).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from asct.facts.snapshot import Snapshot
from asct.facts.sources import EVENTS
from asct.facts.unknown import whole

if TYPE_CHECKING:
    from asct.facts.cmn.model import MeshKind

_HIDS: Final[Mapping[str, MeshKind]] = {
    "ARMHC600": "CMN-600", "ARMHC650": "CMN-650", "ARMHC700": "CMN-700", "ARMHC003": "CMN S3",
}  # fmt: skip
"""The IDs in ACPI tables (`arm_cmn_acpi_match` in the driver)."""
_COMPATIBLE: Final[Mapping[str, MeshKind]] = {
    "arm,cmn-600": "CMN-600", "arm,cmn-650": "CMN-650", "arm,cmn-700": "CMN-700", "arm,cmn-s3": "CMN S3",
    "arm,ci-700": "CI-700",
}  # fmt: skip
"""The names in device trees (Documentation/devicetree/bindings/perf/arm,cmn.yaml in the Linux kernel)."""
_RANGE: Final = re.compile(r" *([0-9a-f]{1,16})-([0-9a-f]{1,16}) : (.+)")
_BITS: Final = re.compile(r"config([12]?):(\d{1,2})(?:-(\d{1,2}))?")


@dataclass(frozen=True, slots=True)
class Bits:
    """The position of an event field: bits `low` to `high` of word `config`, `config1` or `config2`."""

    word: int
    low: int
    high: int

    def holds(self, value: int) -> bool:
        """Return whether a value fits into the field."""
        return 0 <= value < 1 << (self.high - self.low + 1)


@dataclass(frozen=True, slots=True)
class Pmu:
    """A PMU of the driver. `type` is the type to pass to perf_event_open(2), and `cpu` is the CPU on which to open its
    events.

    `device` is the PMU's platform device, which the Linux kernel reports only since 6.12. `kind` and `revision` are
    parsed from `identifier`.
    """

    name: str
    instance: int
    type: int | None
    cpu: int | None
    kind: MeshKind | None
    revision: str | None
    formats: Mapping[str, Bits]
    device: str | None = None
    identifier: str | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A device that the firmware describes, and its registers, which occupy `size` bytes starting at `base`. `base` and
    `size` are None if they are not reported.

    `root` is the offset of the root of the configuration tree. It is 0 except on CMN-600, where the root has its own
    range within the range of the registers.
    """

    name: str
    kind: MeshKind
    base: int | None = None
    size: int | None = None
    root: int = 0


def pmus(snapshot: Snapshot) -> list[Pmu]:
    """Return the PMUs of the driver, ordered by number."""
    names = {match[1]: int(match[2] or 0) for match, _ in snapshot.matching(rf"{EVENTS}/(arm_cmn(?:_(\d{{1,3}}))?)/.+")}
    parents = _parents(snapshot)
    return [_pmu(snapshot, name, names[name], parents.get(name)) for name in sorted(names, key=names.__getitem__)]


def _pmu(snapshot: Snapshot, name: str, instance: int, device: str | None) -> Pmu:
    from asct.facts.cmn.layouts import products  # imported here, because few machines have a mesh

    at = f"{EVENTS}/{name}"
    text = snapshot.line(f"{at}/identifier")
    identifier = re.fullmatch(r"([0-9a-f]{3})([0-9a-f]{2})", text or "")
    product = products().get(int(identifier[1], 16)) if identifier else None
    fields = snapshot.matching(rf"{at}/format/(\w+)")
    formats = {match[1]: bits for match, line in fields if (bits := bits_of(line)) is not None}
    return Pmu(
        name=name,
        instance=instance,
        type=whole(snapshot.text(f"{at}/type")),
        cpu=whole(re.split("[-,]", snapshot.text(f"{at}/cpumask") or "")[0]),
        kind=product.kind if product else None,
        revision=product.revision(int(identifier[2], 16)) if product and identifier else None,
        formats=formats,
        device=device,
        identifier=text,
    )


def bits_of(text: str) -> Bits | None:
    """Parse `config:27-30`, `config1:0-63` or `config:31`; return None for any other text."""
    match = _BITS.fullmatch(text.strip())
    if match is None:
        return None
    low, high = int(match[2]), int(match[3] or match[2])
    return Bits(int(match[1] or 0), low, high) if low <= high < 64 else None


def _parents(snapshot: Snapshot) -> dict[str, str]:
    """Return the platform device of each PMU, based on the real paths printed by the `cmn-links` command."""
    parents: dict[str, str] = {}
    for line in (snapshot.command_output("cmn-links") or "").split("\n"):
        match = re.fullmatch(r"(arm_cmn(?:_\d+)?) (/sys/devices/.+)/\1", line.strip())
        if match is not None and match[2] != "/sys/devices":
            parents[match[1]] = match[2].rpartition("/")[2]
    return parents


def regions(snapshot: Snapshot) -> list[Region]:
    """Return the meshes that the firmware describes, ordered by name.

    ACPI devices have address ranges. Device tree nodes are found only while the driver is bound to them.
    """
    ranges: dict[str, list[tuple[int, int]]] = {}
    for owner, start, end in _ranges(snapshot.text("/proc/iomem") or ""):
        ranges.setdefault(owner, []).append((start, end))
    kinds = {name: kind for name in ranges if (kind := _HIDS.get(name.partition(":")[0]))}
    for match, text in snapshot.matching(r"/sys/bus/platform/drivers/arm-cmn/([^/:]+)/uevent"):
        names = re.findall(r"^OF_COMPATIBLE_\d+=(.+)$", text, re.MULTILINE)
        kinds.update((match[1], kind) for name in names if (kind := _COMPATIBLE.get(name)))
    return [_region(name, kinds[name], ranges) for name in sorted(kinds)]


def _region(name: str, kind: MeshKind, ranges: Mapping[str, list[tuple[int, int]]]) -> Region:
    """Return the region of a device. On machines with a device tree, the range of the device `50000000.pmu` is called
    `pmu@50000000`."""
    names = dict.fromkeys((name, "@".join(reversed(name.split(".", 1)))))
    mine = sorted((one for owner in names for one in ranges.get(owner, ())), key=lambda one: one[0] - one[1])
    if not mine or mine[0][1] == 0:
        return Region(name, kind)
    base, end = mine[0]
    inner = [start for start, last in mine[1:] if base <= start and last <= end]
    return Region(name, kind, base, end - base + 1, inner[0] - base if inner and kind == "CMN-600" else 0)


def _ranges(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the owner, first address and last address in each line of /proc/iomem.

    Only root can see the addresses; other accounts get zeros. A range claimed by a driver has two owners: the device
    and the driver.
    """
    for line in text.split("\n"):
        match = _RANGE.fullmatch(line)
        if match is not None:
            for owner in dict.fromkeys(match[3].split(" ")):
                yield owner, int(match[1], 16), int(match[2], 16)
