"""The kinds of cores in a machine: big.LITTLE, hybrid x86, or sockets with different processors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from asct.facts.caches import cache_size
from asct.facts.cores import MIDR, Cpus
from asct.facts.cpusets import listed, numbered
from asct.facts.designs import Design, design, hybrid_core
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import whole
from asct.resources import data
from asct.sdk.facts import CoreKind, FrequencyPolicy

# The PMUs of hybrid processors list their CPUs (Linux, arch/x86/events/intel/core.c); some Linux kernels list core
# types.
_LISTS = (r"/sys/devices/cpu_(\w+)/cpus", rf"{CPU}/types/(\w+)/cpulist")


@dataclass(frozen=True, slots=True)
class CoreKinds:
    """The kinds of cores. `of` maps each online CPU to the index of its kind, and `designs` lists the design of each
    kind. Kinds are numbered in the order of their first CPUs."""

    of: Mapping[int, int]
    designs: list[Design]


def kinds(snapshot: Snapshot, cpus: Cpus, policies: list[FrequencyPolicy]) -> CoreKinds:
    """Group the CPUs by kind of core.

    Two CPUs are of the same kind if they have the same core design and are in the same list provided by the Linux
    kernel. The list is necessary because different designs may report the same identity. If there is neither a list nor
    an identity, the capacities that the Linux kernel assigns to the CPUs are compared. On hybrid x86 machines without a
    list, the kinds are distinguished by their level-1 caches or clocks.
    """
    lists = _lists(snapshot) or _differing(cpus, policies)
    known: dict[tuple[str | None, ...], Design] = {}
    keys: dict[int, tuple[Design, str | None]] = {}
    for cpu in cpus.online:
        values, midr, group = cpus.info.of(cpu), cpus.of(cpu).get(MIDR), lists.get(cpu)
        identity = (midr, *(values.get(name) for name in data(__file__, "kernel.yaml")["identity"]))
        if identity not in known:  # cached, because hundreds of CPUs may report the same values
            known[identity] = design(values, midr)
        if group is None and midr is None and cpu not in cpus.info.own:
            group = cpus.of(cpu).get("cpu_capacity")
        keys[cpu] = (known[identity], group)
    of = numbered(keys)
    firsts = {kind: cpu for cpu, kind in reversed(of.items())}
    return CoreKinds(of, [_core_design(keys[firsts[kind]][0], lists.get(firsts[kind])) for kind in sorted(firsts)])


def _core_design(found: Design, kind: str | None) -> Design:
    """Replace the processor's name with that of the core if the processor has several kinds of cores."""
    core = None if kind is None else hybrid_core(found.microarchitecture, found.numbers, kind)
    return replace(found, microarchitecture=core, family=found.microarchitecture) if core else found


def _lists(snapshot: Snapshot) -> dict[int, str]:
    """For each CPU, return the name of the Linux kernel's list that contains it."""
    names: dict[int, str] = {}
    for pattern in _LISTS:
        for match, text in snapshot.matching(pattern):
            names.update(dict.fromkeys(listed(text) or (), match[1]))
    return names


_APART = 1.1
"""Cores whose clocks differ by less than this factor are assumed to have the same design, because some cores reach a
higher clock than others of the same design (Intel Turbo Boost Max 3.0, AMD preferred cores)."""
_NAMES = ("core", "atom", "lowpower")
_LEVEL_1 = re.compile(r"(cache/index[0-9])/level")


def _differing(cpus: Cpus, policies: list[FrequencyPolicy]) -> dict[int, str]:
    """Return a name for each CPU's kind of core, as used in the Linux kernel's lists. The result is empty unless there
    are several kinds.

    Only x86 reports the same identity for different designs. The fastest kind is called `core`.
    """
    if "cpu family" not in cpus.info.common:
        return {}
    highest = {cpu: one.highest_hz for one in policies if one.highest_hz for cpu in one.cpus}
    perf = {cpu: float(value) for cpu in cpus.online if (value := whole(cpus.of(cpu).get("acpi_cppc/highest_perf")))}
    first = {cpu: sizes for cpu in cpus.online if (sizes := _level_1(cpus, cpu))}
    signals = [one for one in (_steps(highest), _steps(perf), first) if one.keys() >= set(cpus.online)]
    keys = {cpu: tuple(one[cpu] for one in signals) for cpu in cpus.online}
    ordered = sorted(set(keys.values()), reverse=True)
    if not 1 < len(ordered) <= len(_NAMES):
        return {}
    return {cpu: _NAMES[ordered.index(key)] for cpu, key in keys.items()}


def _steps(values: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """Number the values in ascending order; values that differ by less than _APART get the same number."""
    steps: dict[float, int] = {}
    before = None
    for value in sorted(set(values.values())):
        steps[value] = 0 if before is None else steps[before] + (value >= before * _APART)
        before = value
    return {cpu: (steps[value],) for cpu, value in values.items()}


def _level_1(cpus: Cpus, cpu: int) -> tuple[int, ...]:
    """Return the sizes of a CPU's level-1 caches, data cache first."""
    texts = cpus.of(cpu)
    folders = [match[1] for path in texts if (match := _LEVEL_1.fullmatch(path)) and texts[path] == "1"]
    sizes = {texts.get(f"{folder}/type", ""): cache_size(texts.get(f"{folder}/size")) for folder in folders}
    return tuple(size for _, size in sorted(sizes.items()) if size)


def core_kinds(
    found: CoreKinds, cores: Mapping[int, int], cpus: Cpus, policies: list[FrequencyPolicy]
) -> list[CoreKind]:
    """Return the kinds of cores as facts. The clock range of a kind, in Hz, spans the policies of its CPUs."""
    kinds = []
    for number, one in enumerate(found.designs):
        members = [cpu for cpu, kind in found.of.items() if kind == number]
        threads = Counter(cores[cpu] for cpu in members if cpu in cores)
        own = [policy for policy in policies if set(policy.cpus) & set(members)]
        capacities = [value for cpu in members if (value := whole(cpus.of(cpu).get("cpu_capacity"))) is not None]
        kinds.append(
            CoreKind(
                microarchitecture=one.microarchitecture,
                model=one.model,
                vendor=one.vendor,
                identity=dict(one.numbers),
                cpus=members,
                cores=len(threads) or None,
                threads_per_core=max(threads.values(), default=None),
                min_hz=min((policy.lowest_hz for policy in own if policy.lowest_hz), default=None),
                max_hz=max((policy.highest_hz for policy in own if policy.highest_hz), default=None),
                capacity=max(capacities, default=None),
            )
        )
    return kinds
