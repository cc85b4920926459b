"""Processors and their caches: puts together what the parsers of each subject find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asct.facts import caches, clocks, groups, idle
from asct.facts.cores import Cpus, Places, places
from asct.facts.cpuinfo import cpuinfo
from asct.facts.cpusets import by_cpu, listed
from asct.facts.design import Design
from asct.facts.gaps import Gaps, whole
from asct.facts.kinds import Kinds, core_kinds, kinds
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.sdk.facts import Cache, CacheLevel, Cpu, LogicalCpu


@dataclass(frozen=True, slots=True)
class Processors:
    """The facts of a machine's processors; `caches` are those of the first CPU."""

    cpu: Cpu
    caches: list[Cache]
    cache_levels: list[CacheLevel]


def processors(found: Snapshot, gaps: Gaps) -> Processors:
    """`cpus` counts the present CPUs, as lscpu's `CPU(s)` does, offline ones too."""
    texts, info = by_cpu(found), cpuinfo(found.text("/proc/cpuinfo"))
    online = _online(found, texts, sorted(info.own), gaps)
    cpus = Cpus(online, texts, info)
    every = caches.find(found, cpus)
    where, what = places(found, cpus, every.shared(), gaps), kinds(found, cpus)
    present, names = _present(found, online, gaps), _names(what, gaps)
    policies = clocks.policies(found, cpus, gaps)
    flags = (info.common.get("flags") or info.common.get("Features") or info.common.get("features") or "").split()
    made = Cpu(
        cpus=len(present) or None,
        online=online,
        offline=sorted(set(present) - set(online)),
        allowed=groups.allowed(found, gaps),
        vendor=names["vendor"],
        model=names["model"],
        microarchitecture=names["microarchitecture"],
        instruction_set=names["instruction_set"],
        sockets=_count(where.socket.values()),
        dies=_count(where.die.values()),
        clusters=_count(where.cluster.values()),
        cores=_count(where.core.values()),
        threads_per_core=where.threads_per_core,
        kinds=core_kinds(what, where.core, cpus, policies),
        logical=_logical(online, where, what),
        flags=flags,
        sve_bits=_sve(found, flags, gaps),
        governor=clocks.governor(policies, gaps),
        microcode=_microcode(info.common, gaps),
        frequency_hz=clocks.frequency(policies, info.common, online, gaps),
        policies=policies,
        boost=clocks.boost(found, cpus, gaps),
        idle_driver=idle.driver(found, gaps),
        idle_governor=idle.governor(found, gaps),
        idle_states=idle.states(cpus, gaps),
        smt=_smt(found, gaps),
        smt_active=_smt_active(found),
        isolated=_kernel_list(found, "isolated", gaps),
        nohz_full=_kernel_list(found, "nohz_full", gaps),
        quota=groups.quota(found, gaps),
    )
    return Processors(made, caches.caches(every, cpus, gaps), caches.cache_levels(every, gaps))


def _online(found: Snapshot, texts: dict[int, dict[str, str]], printed: list[int], gaps: Gaps) -> list[int]:
    """The online CPUs as the kernel lists them; else by their folders (CPU 0 often cannot go offline and has no such
    file) and those that /proc/cpuinfo prints."""
    if online := listed(found.text(f"{CPU}/online")):
        return sorted(online)
    up = {cpu for cpu, files in texts.items() if files.get("online") != "0"} | set(printed)
    if not up:
        gaps.note("cpu.online", f"{CPU}/online is missing or odd, and /proc/cpuinfo does not say it")
    return sorted(up)


def _present(found: Snapshot, online: list[int], gaps: Gaps) -> list[int]:
    """The CPUs that are plugged in; without such a list those with a folder. CPUs that run are there in any case."""
    present = listed(found.text(f"{CPU}/present"))
    if present is None:
        present = frozenset(by_cpu(found))
    if not present and not online:
        gaps.note("cpu.cpus", f"{CPU}/present is missing or odd")
    return sorted(present | set(online))


def _count(numbers: Iterable[int]) -> int | None:
    return len(set(numbers)) or None


def _names(what: Kinds, gaps: Gaps) -> dict[str, str | None]:
    """Vendor, model and names of the first CPU's kind; of what kinds differ in, each once."""
    designs = what.designs or [Design()]
    of_all = {
        "microarchitecture": [one.family or one.microarchitecture for one in designs],
        "instruction_set": [one.instruction_set for one in designs],
    }
    names = {name: ", ".join(dict.fromkeys(one for one in said if one)) or None for name, said in of_all.items()}
    found = {"vendor": designs[0].vendor, "model": designs[0].model, **names}
    numbers = ", ".join(f"{name} 0x{value:x}" for name, value in designs[0].numbers)
    for name, value in found.items():
        if not value:
            gaps.note(f"cpu.{name}", f"not told by {numbers}" if numbers else "/proc/cpuinfo does not say it")
    return found


def _logical(online: list[int], where: Places, what: Kinds) -> list[LogicalCpu]:
    return [
        LogicalCpu(
            cpu=cpu,
            core=where.core.get(cpu),
            cluster=where.cluster.get(cpu),
            die=where.die.get(cpu),
            socket=where.socket.get(cpu),
            node=where.node.get(cpu),
            kind=what.of.get(cpu),
        )
        for cpu in online
    ]


def _sve(found: Snapshot, flags: list[str], gaps: Gaps) -> int | None:
    """Bits of SVE vectors in a new process (Documentation/arch/arm64/sve.rst: the sysctl has bytes, at most 64 unless
    somebody raised it; the hardware may be able to do more)."""
    length = whole(found.text("/proc/sys/abi/sve_default_vector_length"))
    if flags and "sve" not in flags:
        gaps.lacks("cpu.sve_bits", "the kernel offers no SVE")
        return None
    if not length:
        gaps.note("cpu.sve_bits", "/proc/sys/abi/sve_default_vector_length does not say it")
        return None
    return length * 8


def _microcode(printed: Mapping[str, str], gaps: Gaps) -> str | None:
    """The revision of the first CPU's microcode; only x86 prints one, and only x86 lists its features as `flags`."""
    if not printed.get("microcode"):
        if printed and "flags" not in printed:
            gaps.lacks("cpu.microcode", "only x86 has revisions of microcode that the kernel tells")
        else:
            gaps.note("cpu.microcode", "/proc/cpuinfo does not say it")
    return printed.get("microcode") or None


def _smt(found: Snapshot, gaps: Gaps) -> str | None:
    control = (found.text(f"{CPU}/smt/control") or "").strip()
    if not control:
        gaps.note("cpu.smt", f"{CPU}/smt is missing")
    return control or None


def _smt_active(found: Snapshot) -> bool | None:
    active = whole(found.text(f"{CPU}/smt/active"))
    return None if active is None else active != 0


def _kernel_list(found: Snapshot, name: str, gaps: Gaps) -> list[int]:
    """CPUs that the kernel was told to keep apart; `(null)` is how some print that there are none."""
    text = found.text(f"{CPU}/{name}")
    if text is None or text.strip() == "(null)":
        if text is None and name == "nohz_full" and found.text(f"{CPU}/isolated") is not None:
            gaps.lacks(f"cpu.{name}", "the kernel was built without it")  # drivers/base/cpu.c
        elif text is None:
            gaps.note(f"cpu.{name}", f"{CPU}/{name} is missing")
        return []
    return gaps.cpus(f"cpu.{name}", text, f"{CPU}/{name}")
