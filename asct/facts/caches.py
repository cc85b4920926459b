"""All caches of a machine, from cpu*/cache in sysfs (Documentation/ABI/testing/sysfs-devices-system-cpu).

On s390, only /proc/cpuinfo reports the caches outside the CPU (arch/s390/kernel/cache.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from asct.facts.cores import Cpus
from asct.facts.cpusets import Set
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts, whole
from asct.sdk.facts import Cache, CacheLevel, CacheType

_MOST = {
    "level": 9,
    "size": 1 << 40,
    "coherency_line_size": 4096,
    "ways_of_associativity": 1 << 16,
    "number_of_sets": 1 << 30,
}
"""The largest plausible value for each property. Larger values result from bugs or corruption and are treated as not
reported."""
_FILE = re.compile(r"cache/index([0-9]{1,3})/level")
_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)(?:i?B)?")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PRINTED = re.compile(
    r"^cache[0-9]+\s*:\s*level=([1-9]) type=(Data|Instruction|Unified) scope=(Shared|Private) size=([0-9]{1,12}K)"
    r"(?: line_size=([0-9]{1,4}))?(?: associativity=([0-9]{1,5}))?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, order=True)
class CacheKind:
    """The properties shared by all caches of one kind. Sizes are in bytes; 0 means not reported."""

    level: int
    type: str
    size: int
    line: int
    ways: int
    sets: int


Caches = dict[CacheKind, list[Set]]
"""The caches of each kind, in order. Each cache is represented by the set of CPUs that share it. The list is empty if
the sets are unknown."""


def shared(caches: Caches) -> list[Set]:
    """Return, for each cache, the set of CPUs that share it."""
    return [cpus for instances in caches.values() for cpus in instances]


def find(snapshot: Snapshot, cpus: Cpus) -> Caches:
    """Find all caches of the online CPUs, ordered by level and type."""
    found: dict[tuple[int, str], dict[int, int]] = {}
    for cpu in cpus.online:
        for path, text in cpus.of(cpu).items():
            match = _FILE.fullmatch(path)
            kind = cpus.of(cpu).get(f"cache/index{match[1]}/type", "").capitalize() if match else ""
            level = _plausible("level", whole(text))
            if match and level and kind in ("Data", "Instruction", "Unified"):
                found.setdefault((level, kind), {})[cpu] = int(match[1])
    kinds: Caches = {}
    for (level, kind), indexes in found.items():
        sharers = _sharers(cpus, indexes)
        seen: set[Set] = set()
        for cpu, index in sorted(indexes.items()):
            members = sharers.get(cpu)
            if members is None or members not in seen:
                instances = kinds.setdefault(_kind(cpus, cpu, index, level, kind), [])
                if members is not None:
                    instances.append(members)
                    seen.add(members)
    known = {(kind.level, kind.type) for kind in kinds}
    for kind_ in _printed(snapshot.text("/proc/cpuinfo") or ""):
        if (kind_.level, kind_.type) not in known:
            kinds[kind_] = []
    return dict(sorted(_joined(kinds).items(), key=lambda item: (item[0].level, item[0].type)))


def _joined(kinds: Caches) -> Caches:
    """Merge each cache that has no known properties except level, type and size into the first cache with the same
    level, type and size."""
    joined: Caches = {}
    full: dict[tuple[int, str, int], CacheKind] = {}
    for kind, instances in kinds.items():
        detailed = any((kind.line, kind.ways, kind.sets))
        first = full.setdefault((kind.level, kind.type, kind.size), kind)
        joined.setdefault(kind if detailed else first, []).extend(instances)
    return joined


def _sharers(cpus: Cpus, indexes: dict[int, int]) -> dict[int, Set]:
    """Return, for each CPU, the CPUs that share its cache of the given level and type.

    `indexes` contains the index of this cache for each CPU; the index may differ between CPUs.
    """
    sharers: dict[int, Set] = {}
    for index in set(indexes.values()):
        folder = f"cache/index{index}"
        sets = cpus.sets([(f"{folder}/shared_cpu_list", f"{folder}/shared_cpu_map")])
        sharers.update({cpu: sets[cpu] for cpu in indexes if indexes[cpu] == index and cpu in sets})
    return sharers


def _kind(cpus: Cpus, cpu: int, index: int, level: int, kind: str) -> CacheKind:
    texts, folder = cpus.of(cpu), f"cache/index{index}"
    names = ("coherency_line_size", "ways_of_associativity", "number_of_sets")
    line, ways, sets = (_plausible(name, whole(texts.get(f"{folder}/{name}"))) or 0 for name in names)
    return CacheKind(level, kind, cache_size(texts.get(f"{folder}/size")) or 0, line, ways, sets)


def _plausible(name: str, value: int | None) -> int | None:
    return value if value is not None and value <= _MOST[name] else None


def _printed(text: str) -> Iterable[CacheKind]:
    """Parse the caches listed in /proc/cpuinfo on s390: `cache2 : level=3 type=Unified scope=Shared size=65536K
    line_size=256 ...`."""
    for level, kind, _, size, line, ways in _PRINTED.findall(text):
        if bytes_ := cache_size(size):
            yield CacheKind(int(level), kind, bytes_, int(line or 0), int(ways or 0), 0)


def cache_levels(caches: Caches, gaps: UnknownFacts) -> list[CacheLevel]:
    """Return all caches of the machine. If the Linux kernel lists none, record a note and return an empty list."""
    gaps.known("cache_levels", caches, f"{CPU} lists no caches")
    for kind, instances in caches.items():
        name = f"cache_levels.L{kind.level}.{kind.type}"
        gaps.known(f"{name}.size_bytes", kind.size or None, f"not reported by {CPU}")
        gaps.known(f"{name}.instances", instances, "the Linux kernel does not report which CPUs share them")
    return [
        CacheLevel(
            level=kind.level,
            type=cast(CacheType, kind.type),
            size_bytes=kind.size or None,
            line_bytes=kind.line or None,
            ways=kind.ways or None,
            sets=kind.sets or None,
            instances=[sorted(one) for one in instances],
        )
        for kind, instances in caches.items()
    ]


def caches(every: Caches, cpus: Cpus, gaps: UnknownFacts) -> list[Cache]:
    """Return the caches of the first online CPU that has any, from the lowest level up. Caches of unknown size are
    omitted."""
    first = min((min(one) for one in shared(every)), default=cpus.online[0] if cpus.online else 0)
    listed = [
        Cache(
            level=kind.level,
            type=cast(CacheType, kind.type),
            size_bytes=kind.size,
            line_bytes=kind.line or None,
            ways=kind.ways or None,
            shared_cpus=sorted(next((one for one in instances if first in one), ())),
        )
        for kind, instances in every.items()
        if kind.size and (not instances or any(first in one for one in instances))
    ]
    return gaps.known("caches", listed, f"{CPU} lists no caches with known sizes")


def cache_size(text: str | None) -> int | None:
    """Convert a size (`32K`, `1M`) to bytes; return None for any other text."""
    match = _SIZE.fullmatch((text or "").strip())
    return _plausible("size", int(match[1]) * _SCALE[match[2]]) if match else None
