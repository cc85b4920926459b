"""The facts about processors and their caches, assembled from the results of several parsers, one per subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asct.facts import caches, clocks, groups
from asct.facts.cores import Cpus, CpuTopology, cpuinfo, places
from asct.facts.cpusets import by_cpu, listed
from asct.facts.designs import Design
from asct.facts.kinds import CoreKinds, core_kinds, kinds
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts, real, whole
from asct.sdk.facts import Cache, CacheLevel, Cpu, LogicalCpu

_BOGOMIPS = ("bogomips", "BogoMIPS", "bogomips per cpu")
_ADDRESSES = re.compile(r"(\d{1,3}) bits physical, (\d{1,3}) bits virtual", re.ASCII)


@dataclass(frozen=True, slots=True)
class Processors:
    """The facts about a machine's processors. `caches` contains the caches of the first CPU."""

    cpu: Cpu
    caches: list[Cache]
    cache_levels: list[CacheLevel]


def processors(snapshot: Snapshot, gaps: UnknownFacts) -> Processors:
    """Return the facts about the processors.

    `cpus` counts all present CPUs, including offline ones, as `CPU(s)` does in the output of lscpu.
    """
    texts, info = by_cpu(snapshot), cpuinfo(snapshot.text("/proc/cpuinfo"))
    online = _online(snapshot, texts, sorted(info.own), gaps)
    cpus = Cpus(online, texts, info, gaps)
    every = caches.find(snapshot, cpus)
    policies = clocks.policies(snapshot, cpus, gaps)
    topology, what = places(snapshot, cpus, caches.shared(every), gaps), kinds(snapshot, cpus, policies)
    present, names = _present(snapshot, online, gaps), _names(what, gaps)
    flags = next((text for name in ("flags", "Features", "features") if (text := info.common.get(name))), "").split()
    smt = snapshot.line(f"{CPU}/smt/control")
    active = whole(snapshot.text(f"{CPU}/smt/active"))
    cpu = Cpu(
        cpus=len(present) or None,
        online=online,
        offline=sorted(set(present) - set(online)),
        allowed=groups.allowed(snapshot, gaps),
        vendor=names["vendor"],
        model=names["model"],
        microarchitecture=names["microarchitecture"],
        instruction_set=names["instruction_set"],
        sockets=_count(topology.socket.values()),
        dies=_count(topology.die.values()),
        clusters=_count(topology.cluster.values()),
        cores=_count(topology.core.values()),
        threads_per_core=topology.threads_per_core,
        kinds=core_kinds(what, topology.core, cpus, policies),
        logical=_logical(online, topology, what),
        flags=flags,
        bogomips=_bogomips(info.common, gaps),
        **_address_bits(info.common, gaps),
        sve_bits=_sve(snapshot, flags, gaps),
        governor=clocks.governor(policies, gaps),
        microcode=_microcode(info.common, gaps),
        frequency_hz=clocks.frequency(policies, info.common, online, gaps),
        policies=policies,
        boost=clocks.boost(snapshot, cpus, gaps),
        idle_driver=clocks.idle(snapshot, "driver", gaps),
        idle_governor=clocks.idle(snapshot, "governor", gaps),
        idle_states=clocks.idle_states(cpus, gaps),
        smt=gaps.known("cpu.smt", smt, f"{CPU}/smt is missing"),
        smt_active=None if active is None else active != 0,
        isolated=_kernel_list(snapshot, "isolated", gaps),
        nohz_full=_kernel_list(snapshot, "nohz_full", gaps),
        quota=groups.quota(snapshot, gaps),
    )
    return Processors(cpu, caches.caches(every, cpus, gaps), caches.cache_levels(every, gaps))


def _online(snapshot: Snapshot, texts: dict[int, dict[str, str]], printed: list[int], gaps: UnknownFacts) -> list[int]:
    """Return the CPUs that the Linux kernel lists as online.

    If there is no list, return the CPUs in /proc/cpuinfo and those that have a folder, excluding any whose `online`
    file contains 0 (CPU 0 often has no such file).
    """
    if online := listed(snapshot.text(f"{CPU}/online")):
        return sorted(online)
    up = {cpu for cpu in {*texts, *printed} if texts.get(cpu, {}).get("online") != "0"}
    why = f"{CPU}/online is missing or malformed, and /proc/cpuinfo lists no CPUs"
    return sorted(gaps.known("cpu.online", up, why))


def _present(snapshot: Snapshot, online: list[int], gaps: UnknownFacts) -> list[int]:
    """Return the CPUs that are present or, if the Linux kernel provides no such list, those that have a folder. Online
    CPUs are always included."""
    present = listed(snapshot.text(f"{CPU}/present"))
    every = set(by_cpu(snapshot) if present is None else present) | set(online)
    return sorted(gaps.known("cpu.cpus", every, f"{CPU}/present is missing or malformed"))


def _count(numbers: Iterable[int]) -> int | None:
    return len(set(numbers)) or None


def _names(what: CoreKinds, gaps: UnknownFacts) -> dict[str, str | None]:
    """Return the vendor and model of the first kind of core, and the microarchitectures and instruction sets of all
    kinds."""
    designs = what.designs or [Design()]
    of_all = {
        "microarchitecture": [one.family or one.microarchitecture for one in designs],
        "instruction_set": [one.instruction_set for one in designs],
    }
    names = {name: ", ".join(dict.fromkeys(one for one in values if one)) or None for name, values in of_all.items()}
    found = {"vendor": designs[0].vendor, "model": designs[0].model, **names}
    numbers = ", ".join(f"{name} 0x{value:x}" for name, value in designs[0].numbers)
    why = f"asct does not know the identification numbers {numbers}" if numbers else "not reported by /proc/cpuinfo"
    return {name: gaps.known(f"cpu.{name}", value, why) for name, value in found.items()}


def _logical(online: list[int], topology: CpuTopology, what: CoreKinds) -> list[LogicalCpu]:
    return [
        LogicalCpu(
            cpu=cpu,
            core=topology.core.get(cpu),
            cluster=topology.cluster.get(cpu),
            die=topology.die.get(cpu),
            socket=topology.socket.get(cpu),
            node=topology.node.get(cpu),
            kind=what.of.get(cpu),
        )
        for cpu in online
    ]


def _sve(snapshot: Snapshot, flags: list[str], gaps: UnknownFacts) -> int | None:
    """Return the SVE vector length, in bits, of a new process.

    The sysctl value is in bytes and is at most 64 by default, but the hardware may support longer vectors
    (Documentation/arch/arm64/sve.rst).
    """
    if flags and "sve" not in flags:
        gaps.not_applicable("cpu.sve_bits", "the Linux kernel does not support SVE")
        return None
    file = "/proc/sys/abi/sve_default_vector_length"
    return gaps.known("cpu.sve_bits", (whole(snapshot.text(file)) or 0) * 8 or None, f"not reported by {file}")


def _bogomips(printed: Mapping[str, str], gaps: UnknownFacts) -> float | None:
    bogomips = next((text for name in _BOGOMIPS if (text := printed.get(name))), None)
    return gaps.known("cpu.bogomips", real(bogomips), "not reported by /proc/cpuinfo")


def _address_bits(printed: Mapping[str, str], gaps: UnknownFacts) -> dict[str, int | None]:
    """Return the widths of physical and virtual addresses in bits, which the Linux kernel reports on x86 and
    LoongArch."""
    sizes = printed.get("address sizes") or printed.get("Address Sizes") or ""
    match = _ADDRESSES.fullmatch(sizes)
    fields = ("physical_address_bits", "virtual_address_bits")
    for field in fields:
        if match is None and printed and not sizes:
            gaps.not_applicable(f"cpu.{field}", "not reported by the Linux kernel on this architecture")
        elif match is None:
            gaps.note(f"cpu.{field}", "not reported by /proc/cpuinfo")
    return {field: int(match[at]) if match else None for at, field in enumerate(fields, 1)}


def _microcode(printed: Mapping[str, str], gaps: UnknownFacts) -> str | None:
    """Return the microcode revision of the first CPU. The Linux kernel prints it only on x86, where /proc/cpuinfo
    contains the field `flags`."""
    revision = printed.get("microcode") or None
    if not revision and printed and "flags" not in printed:
        gaps.not_applicable("cpu.microcode", "the Linux kernel reports microcode revisions only on x86")
        return None
    return gaps.known("cpu.microcode", revision, "not reported by /proc/cpuinfo")


def _kernel_list(snapshot: Snapshot, name: str, gaps: UnknownFacts) -> list[int]:
    """Return the CPUs in one of the Linux kernel's lists. Some versions print `(null)` for an empty list."""
    text = snapshot.text(f"{CPU}/{name}")
    if text is None and name == "nohz_full" and snapshot.text(f"{CPU}/isolated") is not None:
        gaps.not_applicable(f"cpu.{name}", "this build of the Linux kernel does not support it")  # drivers/base/cpu.c
        return []
    return [] if text and text.strip() == "(null)" else gaps.cpus(f"cpu.{name}", text, f"{CPU}/{name}")
