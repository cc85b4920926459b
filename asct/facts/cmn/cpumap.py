"""The mesh locations detected for CPUs. They are stored in the account's cache folder on the host.

The locations remain valid until the firmware, the meshes or the CPUs change. They survive a reboot, because the
firmware assigns the CPU numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from asct.facts.cmn.model import CpuPort, Mesh
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.sdk.facts import Fact
from asct.values.cpulist import MAX_CPU


class CachedCpuMap(Fact):
    """Detected CPU locations, and the machine state for which they are valid. `places` maps each mesh instance to the
    CPU locations in that mesh."""

    schema_: Literal["asct.cmn-cpus/1"] = Field("asct.cmn-cpus/1", alias="schema")
    detected_at: str
    holds_for: list[str]
    """The result of the function `holds_for` at the time of detection."""
    places: dict[int, dict[Annotated[int, Field(ge=0, le=MAX_CPU)], CpuPort | None]]
    unknown: dict[str, str] = Field(default_factory=dict)


def holds_for(snapshot: Snapshot, meshes: Sequence[Mesh]) -> list[str]:
    """Return the machine state that cached locations depend on: firmware version, CPUs and meshes."""
    return [
        snapshot.line("/sys/class/dmi/id/bios_version") or "",
        snapshot.line(f"{CPU}/present") or "",
        *map(_shape, meshes),
    ]


def _shape(mesh: Mesh) -> str:
    """Return a digest of a mesh's size and devices. The digest does not cover the source of the data, which depends on
    the account."""
    ports = [(xp.x, xp.y, port.port, port.kind) for xp in mesh.crosspoints for port in xp.ports]
    text = json.dumps([mesh.width, mesh.height, sorted(ports, key=str)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_name(snapshot: Snapshot) -> str:
    """Return the name of the cache file. The name contains the host name, because hosts may share a home folder."""
    lines = (snapshot.command_output("uname") or "").split("\n")
    name = lines[1].strip() if len(lines) > 1 else ""
    return f"cmn-cpus-{re.sub('[^A-Za-z0-9._-]', '_', name)}.json"


def cached_text(places: CachedCpuMap) -> str:
    """Return the content of the cache file."""
    return places.model_dump_json(by_alias=True) + "\n"


def with_cached(snapshot: Snapshot, meshes: Sequence[Mesh]) -> list[Mesh]:
    """Add the CPU locations from the host's cache to the meshes. If the cache does not match the meshes, add the reason
    instead."""
    text = (snapshot.command_output("cmn-cpus") or "").strip()
    why = "CPU locations have not been detected yet; run `asct cmn --detect`"
    cached = None
    if text:
        why = "the cached CPU locations are unreadable; run `asct cmn --detect` again"
        with suppress(ValidationError):
            cached = CachedCpuMap.model_validate_json(text)
    if cached is not None and cached.holds_for != holds_for(snapshot, meshes):
        cached = None
        why = "the meshes, CPUs or firmware have changed since the last detection; run `asct cmn --detect` again"
    if cached is None or not all(_inside(mesh, cached.places.get(mesh.instance, {})) for mesh in meshes):
        return [noted(mesh, {"cpus": why}) for mesh in meshes]
    return [
        noted(
            mesh.model_copy(update={"cpus": cached.places.get(mesh.instance, {}), "detected_at": cached.detected_at}),
            cached.unknown,
        )
        for mesh in meshes
    ]


def _inside(mesh: Mesh, cpus: Mapping[int, CpuPort | None]) -> bool:
    """Return whether all locations are crosspoints of the mesh."""
    there = {(xp.x, xp.y) for xp in mesh.crosspoints}
    return all(place is None or (place.x, place.y) in there for place in cpus.values())


def noted(mesh: Mesh, reasons: Mapping[str, str]) -> Mesh:
    """Return the mesh with additional reasons why fields are unknown."""
    return mesh.model_copy(update={"unknown": {**mesh.unknown, **reasons}})
