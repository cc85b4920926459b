"""Detect where each CPU enters a mesh: at the port that receives more requests while the CPU is under load.

A watchpoint counts the flits of one channel at one port of a crosspoint (`wp_dev_sel`, `wp_chn_sel` of
por_dtm_wp0_config in Arm's Technical Reference Manuals; Documentation/admin-guide/perf/arm-cmn.rst in the Linux
kernel). A read that misses the caches of its CPU becomes a request (channel REQ), which the CPU's RN-F sends into the
mesh through its port. The `cmnwatch` kernel puts load on CPUs and counts requests. The pure functions in this module
choose its watchpoints and evaluate its counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.facts.cmn.mesh import usual_bits
from asct.facts.cmn.model import CpuPort, Mesh
from asct.facts.cmn.sysfs import Pmu

KERNEL: Final = "cmnwatch"
EVENTS_FILE: Final = "events"
REQUESTER: Final = "RN-F"
"""The mesh device type for a CPU or a cluster of CPUs."""

LEAST: Final = 0.1
"""Minimum number of requests per cache line read that identifies the port of a CPU. The usual number is about one;
prefetchers increase it, and hits in a cache shared by several CPUs decrease it."""
SURE: Final = 0.5
"""Number of requests per cache line read that identifies a port even if the requests at other ports could not be
counted."""
RIVAL: Final = 0.5
"""If the number of requests at a second port exceeds this share of the first port's requests, the result is
ambiguous."""

_WATCHPOINT: Final = {"type": 0x7770, "eventid": 0}
"""The driver's event watchpoint_up (CMN_TYPE_WP, CMN_WP_UP), which counts flits that devices send to the mesh."""
_REQ: Final = 0
"""The value of wp_chn_sel for the request channel (por_dtm_wp0_config)."""
_ANY: Final = (1 << 64) - 1
"""A wp_mask that matches every flit, because bits set in the mask are not compared (por_dtm_wp0_mask)."""
_BEYOND: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class WatchedPort:
    """A watched port and the event that counts its requests."""

    mesh: int
    x: int
    y: int
    port: int
    device: int | None
    """The device number: 0 if the port has only one device, otherwise None, because a watchpoint cannot distinguish the
    devices on a port."""
    line: str
    """The event in the form that cmnwatch reads: type, CPU on which to open it, config, config1, config2."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The counts that cmnwatch reports for one CPU under load, with one item per watchpoint.

    `counts` and `idle` are the numbers of requests with and without load (None if not counted), `lines` is the number
    of cache lines read, and `ns` and `idle_ns` are the durations, in nanoseconds, with and without load.
    """

    cpu: int
    counts: Sequence[int | None]
    idle: Sequence[int | None]
    lines: Sequence[int]
    ns: Sequence[int]
    idle_ns: Sequence[int]


@dataclass(frozen=True, slots=True)
class PortMatch:
    """The port of a CPU, with a confidence from 0 to 1. If the port was not found, `watch` is None and `why` is the
    reason."""

    watch: WatchedPort | None
    confidence: float | None = None
    why: str = ""


def watches(mesh: Mesh, pmu: Pmu) -> list[WatchedPort]:
    """Return a WatchedPort for each port of the mesh that has requesters. Raises ValueError if required data is
    missing.

    The list keeps the ports of a crosspoint far apart: adjacent ports in the list are watched at the same time, and a
    crosspoint has only a few watchpoints.
    """
    if pmu.type is None or pmu.cpu is None:
        raise ValueError(f"{pmu.name} does not report its type or the CPU that reads its counters")
    bits = usual_bits(mesh.width or 1, mesh.height or 1)
    found: list[tuple[int, WatchedPort]] = []
    for xp in mesh.crosspoints:
        for rank, port in enumerate(port for port in xp.ports if port.kind == REQUESTER):
            node_id = xp.node_id if xp.node_id is not None else xp.x << (3 + bits) | xp.y << 3
            words = event_words(pmu, {"nodeid": node_id, "wp_dev_sel": port.port})
            line = f"{pmu.type} {pmu.cpu} {words[0]:#x} {words[1]:#x} {words[2]:#x}"
            device = 0 if port.devices == 1 else None
            found.append((rank, WatchedPort(mesh.instance, xp.x, xp.y, port.port, device, line)))
    if not found:
        raise ValueError("no known port has an RN-F")
    return [one for _, one in sorted(found, key=lambda item: item[0])]


def event_words(pmu: Pmu, place: Mapping[str, int]) -> tuple[int, int, int]:
    """Return config, config1 and config2 of a watchpoint that counts all requests from `place` (`nodeid`,
    `wp_dev_sel`).

    Raises ValueError if the driver lacks a field or the field is too narrow.
    """
    values = {**_WATCHPOINT, "bynodeid": 1, "wp_chn_sel": _REQ, "wp_grp": 0, "wp_val": 0, "wp_mask": _ANY, **place}
    words = [0, 0, 0]
    for name, value in values.items():
        bits = pmu.formats.get(name)
        if bits is None:
            raise ValueError(f"{pmu.name} has no field {name}: the driver is too old to support watchpoints")
        if not bits.holds(value):
            raise ValueError(f"the field {name} of {pmu.name} cannot hold {value:#x}")
        words[bits.word] |= value << bits.low
    return words[0], words[1], words[2]


def counted(line: Mapping[str, object], watched: int) -> RequestCounts | None:
    """Parse a sample of cmnwatch with `watched` watchpoints; return None for any other line."""
    rows = [_numbers(line.get(name), watched) for name in ("counts", "idle", "lines", "ns", "idle_ns")]
    cpu = line.get("cpu")
    if not isinstance(cpu, int) or any(row is None for row in rows):
        return None
    counts, idle, lines, ns, idle_ns = (row or [] for row in rows)
    with_load, without = ([one if one >= 0 else None for one in values] for values in (counts, idle))
    return RequestCounts(cpu, with_load, without, lines, ns, idle_ns)


def _numbers(value: object, length: int) -> list[int] | None:
    """Return a list of 64-bit integers as printed by `cmnwatch`, or None for any other value."""
    if not isinstance(value, list) or len(value) != length:
        return None
    return value if all(type(one) is int and -_BEYOND <= one < _BEYOND for one in value) else None


def decide(row: RequestCounts, watched: Sequence[WatchedPort]) -> PortMatch:
    """Decide which of the watched ports belongs to a CPU."""
    shares = sorted(((share, index) for index, share in _shares(row)), reverse=True)
    missing = len(watched) - len(shares)
    if not shares:
        return PortMatch(
            None, why="no watchpoint counted events: the mesh counters are in use, or the mesh is powered down"
        )
    best, index = shares[0]
    second = shares[1][0] if len(shares) > 1 else 0.0
    if best < LEAST:
        return PortMatch(
            None, why=f"no port showed load from this CPU (the busiest had {best:.3f} requests per cache line read)"
        )
    if missing and best < SURE:
        return PortMatch(
            None,
            why=f"the requests at {missing} ports could not be counted, and no other port "
            "clearly showed the load of this CPU",
        )
    if second > RIVAL * best:
        rivals = " and ".join(f"({one.x},{one.y}) P{one.port}" for one in (watched[index], watched[shares[1][1]]))
        return PortMatch(None, why=f"the load of this CPU appears at two ports: {rivals}")
    return PortMatch(watched[index], round(1 - max(second, 0.0) / best, 3))


def _shares(row: RequestCounts) -> Iterator[tuple[int, float]]:
    """Yield the index of each watchpoint that counted requests, and the number of these requests per cache line read.

    Requests that occur without load are subtracted.
    """
    for index, (count, idle) in enumerate(zip(row.counts, row.idle, strict=True)):
        lines, ns, idle_ns = row.lines[index], row.ns[index], row.idle_ns[index]
        if count is not None and idle is not None and lines > 0 and idle_ns > 0:
            yield index, (count - idle * ns / idle_ns) / lines


def places(verdicts: Mapping[int, PortMatch], meshes: Sequence[int]) -> dict[int, dict[int, CpuPort | None]]:
    """Return the locations of CPUs, keyed by mesh.

    A CPU that was not located is mapped to None in every mesh, because it may be in any of them.
    """
    locations: dict[int, dict[int, CpuPort | None]] = {mesh: {} for mesh in meshes}
    for cpu, verdict in sorted(verdicts.items()):
        at = verdict.watch
        for mesh, cpus in locations.items():
            if at is None:
                cpus[cpu] = None
            elif at.mesh == mesh:
                cpus[cpu] = CpuPort(x=at.x, y=at.y, port=at.port, device=at.device, confidence=verdict.confidence)
    return locations
