"""The meshes of a machine, combined from all sources in order of preference: registers, driver map, PMU, firmware.

Each source fills gaps left by the preceding ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from asct.facts.cmn.cpumap import noted, with_cached
from asct.facts.cmn.debugfs import mesh_of_map
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import CmnReport, Mesh
from asct.facts.cmn.sysfs import Pmu, Region, pmus, regions
from asct.facts.snapshot import Snapshot
from asct.facts.sources import EVENTS, MESH_MAPS

REGISTERS: Final = "cmn-registers-"
"""Prefix of the snapshot command whose output contains the registers of a mesh, as printed by the `cmn` kernel. The
mesh number follows the prefix."""
_NONE: Final = (
    f"there are no arm_cmn PMUs ({EVENTS}/arm_cmn*), no arm_cmn maps ({MESH_MAPS}/map*), and no address ranges of"
    " ARMHC600, ARMHC650, ARMHC700 or ARMHC003 in /proc/iomem"
)
_MAP: Final = rf"{MESH_MAPS}/(?:[a-z_-]*(\d{{0,3}})/)?map(?:_(\d{{1,3}}))?"
"""Matches the path of a mesh's map, which is either a numbered file (`map_1`) or a file in a numbered folder
(`arm_cmn_1/map`)."""
_FOR_ROOT: Final = "not read, because this requires root (`sudo asct cmn`, or `--sudo`)"
_LOADED: Final = "load the driver (`modprobe arm-cmn`), mount debugfs, and run asct as root"


@dataclass(frozen=True, slots=True)
class MeshSources:
    """The data about one mesh from all sources."""

    instance: int
    pmu: Pmu | None = None
    region: Region | None = None
    map: Mesh | None = None
    registers: Mesh | None = None
    unread: str | None = None
    """The reason why the registers could not be read."""


def mesh_sources(snapshot: Snapshot) -> list[MeshSources]:
    """Return the sources of each mesh, ordered by instance.

    The instance is the number that the driver assigns. Meshes that the driver does not know are numbered after those
    that it knows.
    """
    watched, described = pmus(snapshot), regions(snapshot)
    owned = _owners(watched, described)
    maps = {int(match[1] or match[2] or 0): text for match, text in snapshot.matching(_MAP)}
    dumps, unread = _dumps(snapshot)
    numbers = {pmu.instance for pmu in watched} | owned.keys() | maps.keys() | dumps.keys()
    by_number = {pmu.instance: pmu for pmu in watched}
    return [
        MeshSources(
            number,
            by_number.get(number),
            owned.get(number),
            mesh_of_map(maps[number], number) if number in maps else None,
            mesh_of_dump(dumps[number], number) if number in dumps else None,
            unread.get(number),
        )
        for number in sorted(numbers)
    ]


def _dumps(snapshot: Snapshot) -> tuple[dict[int, str], dict[int, str]]:
    """Return the output of the `cmn` kernel for each mesh number, and the error messages of failed calls."""
    good: dict[int, str] = {}
    failed: dict[int, str] = {}
    for name, output in snapshot.commands.items():
        match = re.fullmatch(rf"{REGISTERS}(\d{{1,3}})", name)
        if match is not None:
            (good if output.status == 0 else failed)[int(match[1])] = output.text
    return good, failed


def _owners(watched: list[Pmu], described: list[Region]) -> dict[int, Region]:
    """Return the regions, keyed by instance. Regions without a PMU come last.

    If the Linux kernel does not link PMUs to devices, and there are as many PMUs as devices, they are matched in order,
    because the driver numbers meshes in the order of discovery.
    """
    names = {region.name: region for region in described}
    linked = {pmu.instance: names[pmu.device] for pmu in watched if pmu.device in names}
    if not linked and watched:
        if len(watched) != len(described):
            return {}
        return {pmu.instance: region for pmu, region in zip(watched, described, strict=True)}
    free = 1 + max((pmu.instance for pmu in watched), default=-1)
    return linked | dict(enumerate((one for one in described if one not in linked.values()), free))


def report(snapshot: Snapshot, host: str | None = None, collected_at: str | None = None) -> CmnReport:
    """Return the meshes of a machine. If no source reports one, `unknown` contains the reason."""
    meshes = [mesh_of(item) for item in mesh_sources(snapshot)]
    empty = CmnReport(host=host, collected_at=collected_at, notes=list(snapshot.notes))
    if not meshes:
        return empty.model_copy(update={"unknown": {"meshes": _NONE}})
    return empty.model_copy(update={"meshes": with_cached(snapshot, meshes)})


def mesh_of(item: MeshSources) -> Mesh:
    """Build a mesh from its best source. If the kind, the revision or the base is missing, the other sources supply
    it."""
    dump = item.registers if item.registers is not None and item.registers.crosspoints else None
    best = dump or item.map or _bare(item)
    if item.registers is not None and dump is None:
        best = noted(best, item.registers.unknown)
    elif dump is None:
        best = noted(best, {"registers": item.unread or _FOR_ROOT})
    kinds = [best.kind, *(part.kind for part in (item.pmu, item.region) if part is not None)]
    kind = next((one for one in kinds if one), None)
    revision = best.revision or (item.pmu.revision if item.pmu else None)
    base = best.base if best.base is not None else item.region.base if item.region else None
    unknown = dict(best.unknown)
    for name, value, why in (
        ("kind", kind, "not reported by the registers, the driver or the firmware"),
        ("revision", revision, _no_revision(item.pmu)),
        ("base", base, "not reported by /proc/iomem; it shows addresses only to root"),
    ):
        if value is None:
            unknown.setdefault(name, why)
        else:
            unknown.pop(name, None)
    _compare(item, unknown)
    return best.model_copy(update={"kind": kind, "revision": revision, "base": base, "unknown": unknown})


def _no_revision(pmu: Pmu | None) -> str:
    if pmu is not None and pmu.identifier:
        return f"the driver's `identifier` is {pmu.identifier}, which does not identify a known product and revision"
    return "requires the registers, or a driver with an `identifier` (Linux 6.6 or later)"


def _bare(item: MeshSources) -> Mesh:
    """Build a mesh for which neither registers nor a map is available."""
    why = f"the {'driver' if item.pmu else 'firmware'} reports this mesh, but not its structure: {_LOADED}"
    unknown = dict.fromkeys(("width", "height", "crosspoints", "nodes", "chi"), why)
    return Mesh(source="pmu" if item.pmu else "acpi", instance=item.instance, unknown=unknown)


def _compare(item: MeshSources, unknown: dict[str, str]) -> None:
    """Report contradictions between sources. Contradictory values are never averaged."""
    sizes: Mapping[str, Mesh | None] = {"registers": item.registers, "driver map": item.map}
    known = {name: (mesh.width, mesh.height) for name, mesh in sizes.items() if mesh is not None and mesh.width}
    if len(set(known.values())) > 1:
        unknown["size"] = "sources differ: " + ", ".join(f"{x} x {y} from the {name}" for name, (x, y) in known.items())
