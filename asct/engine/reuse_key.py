"""Compute a key from everything that a measurement depends on. The result can be reused as long as the key is
unchanged.

The key is a SHA-256 of the benchmark and its version, the settings (with results from other jobs filled in), the
kernels with their compiler and flags, the tools, the host with its hardware and software, and the drives below the
targets. File times, plan names and asct versions are not included. `--reuse` compares these keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from asct.engine.host import HostSession
from asct.engine.points import BoundPoint
from asct.engine.programs import Programs
from asct.errors import HostTimeout
from asct.hosts.base import Host
from asct.planner.identity import digest
from asct.planner.model import Job
from asct.resources import text
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Needs
from asct.sdk.record import Scalar

_MOVING: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("schema_", "host", "collected_at", "dated_by_file", "load", "tools", "unknown", "not_applicable", "notes",
         "work_free_bytes", "thermal", "network", "mounts", "block_devices", "perf", "limits"), True
    ),
    "system": {"uptime_s": True},
    "cpu": {"policies": {"__all__": {"current_hz"}}},
    "memory": {
        "available_bytes": True, "swap_free_bytes": True, "dirty_bytes": True, "huge_pages": {"__all__": {"free"}}
    },
    "nodes": {"__all__": {"free_bytes": True, "available_bytes": True, "huge_pages": {"__all__": {"free"}}}},
}  # fmt: skip
"""Facts that are not part of the key because they change on their own or do not affect measurements.

Tools and drives are listed here because the key contains separate items for those that a point uses.
"""
_GRAIN: Final = 64 << 20
"""Granularity, in bytes, to which memory sizes are rounded, because the Linux kernel reserves a slightly different
amount of memory at each boot."""


def can_be_reused(needs: Needs) -> bool:
    """Return whether a point modifies only files that it creates. A point that writes or purges a target is always
    measured."""
    return not needs.purges and not any(path for path, _ in needs.writes_bytes)


def conditions(facts: HostFacts) -> dict[str, Any]:
    """Return the facts that change only when someone changes the host, keyed by name (`cpu.governor`, `nodes`)."""
    found: dict[str, Any] = {}
    for name, value in facts.model_dump(mode="json", exclude=_MOVING).items():
        parts = {f"{name}.{part}": inner for part, inner in value.items()} if isinstance(value, dict) else {name: value}
        found.update(parts)
    found["memory.total_bytes"] = _coarse(found["memory.total_bytes"])
    found["nodes"] = [{**node, "memory_bytes": _coarse(node["memory_bytes"])} for node in found["nodes"]]
    if facts.cpu.governor is None:  # without a governor, the frequency is only a snapshot
        del found["cpu.frequency_hz"]
    return found


def _coarse(size: int | None) -> int | None:
    return None if size is None else round(size / _GRAIN)


def changes(before: HostFacts, after: HostFacts) -> list[str]:
    """Return the names of facts that affect measurements and differ between two states of a host."""
    first, second = conditions(before), conditions(after)
    return [name for name in dict.fromkeys((*first, *second)) if first.get(name) != second.get(name)]


def with_reuse_keys(
    job: Job,
    benchmark: Benchmark[Any],
    points: Sequence[BoundPoint],
    session: HostSession,
    needed: Mapping[str, Scalar],
) -> list[BoundPoint]:
    """Return the points with their keys. A point that cannot be reused or measured has no key.

    `needed` contains the results from other jobs that the points use. Raises HostLost.
    """
    facts, spec, host = session.facts, session.spec, session.host
    needs_by_point = {
        point.id: needs
        for point in points
        if point.unfit is None and can_be_reused(needs := benchmark.needs(point.params, facts))
    }
    try:
        opened = drives(host, {path for needs in needs_by_point.values() for path in _opened(needs, host)})
    except HostTimeout:  # a drive that does not respond may have changed
        return list(points)
    place = [spec.name, spec.transport, spec.address, spec.user, spec.sudo, spec.workdir]
    common = digest([job.benchmark, job.version, place, conditions(facts), dict(needed)])
    return [
        replace(point, reuse_key=digest([common, point.settings, *_used(needs_by_point[point.id], session, opened)]))
        if point.id in needs_by_point
        else point
        for point in points
    ]


def _opened(needs: Needs, host: Host) -> list[str]:
    """Return the paths that a point opens, except files that its job creates in the work folder."""
    return [*needs.targets, *([host.work] if needs.scratch is not None else [])]


def _used(needs: Needs, session: HostSession, opened: Mapping[str, str]) -> list[Any]:
    programs = session.programs
    kernels = {name: _build(name, programs) for name in needs.kernels}
    tools = {name: _tool(name, programs) for name in (*dict(needs.tools), *needs.optional_tools)}
    below = {path if path in needs.targets else "": opened[path] for path in _opened(needs, session.host)}
    return [kernels, tools, below]


def _build(name: str, programs: Programs) -> list[Any]:
    """Return a description of how a measurement kernel was built, and whether it runs as root."""
    built = programs.built[name]
    return [built.sha256, built.compiler, list(built.flags), name in programs.elevated]


def _tool(name: str, programs: Programs) -> list[str | None]:
    """Return the path and version of a tool, or an empty list if the host does not have it."""
    fact = programs.facts.tools.get(name)
    if fact is not None:
        return [fact.path, fact.version]
    return [programs.found[name]] if name in programs.found else []


_HEAD = re.compile(r"^=\n", re.MULTILINE)


def drives(host: Host, paths: Collection[str]) -> dict[str, str]:
    """Return a description of the drives below each path after following links, using a single command. Raises
    HostError."""
    if not paths:
        return {}
    names = list(paths)
    answer = host.execute(["sh", "-c", text(__file__, "targets.sh"), "sh", *names])
    texts = _HEAD.split(answer.stdout)[1:]
    return dict(zip(names, [*texts, *[""] * len(names)], strict=False))
