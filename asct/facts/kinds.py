"""Kinds of cores: one on most machines, several on big.LITTLE and hybrid ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from asct.facts.cores import MIDR, Cpus
from asct.facts.cpusets import listed, numbered
from asct.facts.design import Design
from asct.facts.designs import design
from asct.facts.gaps import whole
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.x86parts import hybrid_core
from asct.sdk.facts import CoreKind, FrequencyPolicy

# The PMUs of hybrid processors name their CPUs (Linux, arch/x86/events/intel/core.c); other kernels list types.
_LISTS = (r"/sys/devices/cpu_(\w+)/cpus", rf"{CPU}/types/(\w+)/cpulist")
_TELLING = (
    "vendor_id", "vendor", "cpu family", "model", "stepping", "model name", "CPU implementer", "CPU variant",
    "CPU part", "CPU revision", "cpu", "revision", "machine", "Model Name", "mvendorid", "marchid", "mimpid", "uarch",
    "cpu model",
)  # fmt: skip
"""Fields of /proc/cpuinfo that tell designs apart."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Of each online CPU the number of its kind, and of each kind its design, in the order of their first CPU."""

    of: Mapping[int, int]
    designs: list[Design]


def kinds(found: Snapshot, cpus: Cpus) -> Kinds:
    """Apart by what the core says of itself, and by the kernel's list where cores of different designs say the same.

    Where neither tells cores apart and the kernel gives them different capacities, those do.
    """
    lists = _lists(found)
    known: dict[tuple[str | None, ...], Design] = {}
    keys: dict[int, tuple[Design, str | None]] = {}
    for cpu in cpus.online:
        values, midr, apart = cpus.info.of(cpu), cpus.of(cpu).get(MIDR), lists.get(cpu)
        alike = (midr, *(values.get(name) for name in _TELLING))
        if alike not in known:  # hundreds of CPUs say the same
            known[alike] = design(values, midr)
        if apart is None and midr is None and cpu not in cpus.info.own:
            apart = cpus.of(cpu).get("cpu_capacity")
        keys[cpu] = (known[alike], apart)
    of = numbered(keys)
    firsts: dict[int, int] = {}
    for cpu, kind in of.items():
        firsts.setdefault(kind, cpu)
    return Kinds(of, [_named(keys[cpu][0], lists.get(cpu)) for cpu in firsts.values()])


def _named(found: Design, kind: str | None) -> Design:
    """The core's own name instead of its processor's where a processor has several."""
    core = None if kind is None else hybrid_core(found.microarchitecture, found.numbers, kind)
    return replace(found, microarchitecture=core, family=found.microarchitecture) if core else found


def _lists(found: Snapshot) -> dict[int, str]:
    """The name of the kernel's list that a CPU is in."""
    names: dict[int, str] = {}
    for pattern in _LISTS:
        for match, text in found.matching(pattern):
            names.update(dict.fromkeys(listed(text) or (), match[1]))
    return names


def core_kinds(found: Kinds, cores: Mapping[int, int], cpus: Cpus, policies: list[FrequencyPolicy]) -> list[CoreKind]:
    """The kinds as facts; clocks are the widest range of the policies of their CPUs, in Hz."""
    made = []
    for number, one in enumerate(found.designs):
        members = [cpu for cpu, kind in found.of.items() if kind == number]
        threads: dict[int, int] = {}
        for cpu in members:
            if cpu in cores:
                threads[cores[cpu]] = threads.get(cores[cpu], 0) + 1
        own = [policy for policy in policies if set(policy.cpus) & set(members)]
        capacities = [value for cpu in members if (value := whole(cpus.of(cpu).get("cpu_capacity"))) is not None]
        made.append(
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
    return made
