"""Processors and their caches, combined from the parsers of each subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from asct.facts import caches, clocks, groups
from asct.facts.cores import MIDR, Cpus, CpuTopology, cpuinfo, places
from asct.facts.cpusets import by_cpu, listed, numbered
from asct.facts.designs import Design, design, hybrid_core
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts, whole
from asct.sdk.facts import Cache, CacheLevel, CoreKind, Cpu, FrequencyPolicy, LogicalCpu

# The PMUs of hybrid processors name their CPUs (Linux, arch/x86/events/intel/core.c); other kernels list types.
_LISTS = (r"/sys/devices/cpu_(\w+)/cpus", rf"{CPU}/types/(\w+)/cpulist")
_TELLING = (
    "vendor_id", "vendor", "cpu family", "model", "stepping", "model name", "CPU implementer", "CPU variant",
    "CPU part", "CPU revision", "cpu", "revision", "machine", "Model Name", "mvendorid", "marchid", "mimpid", "uarch",
    "cpu model",
)  # fmt: skip
"""Fields of /proc/cpuinfo that identify the design."""


@dataclass(frozen=True, slots=True)
class CoreKinds:
    """The kind number of each online CPU, and the design of each kind, in the order of their first CPU."""

    of: Mapping[int, int]
    designs: list[Design]


def kinds(found: Snapshot, cpus: Cpus) -> CoreKinds:
    """Distinguish kinds by the identity of the cores, and by the kernel's list if different designs report the same
    identity.

    If neither distinguishes cores and the kernel assigns different capacities, those do.
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
    return CoreKinds(of, [_named(keys[cpu][0], lists.get(cpu)) for cpu in firsts.values()])


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


def core_kinds(
    found: CoreKinds, cores: Mapping[int, int], cpus: Cpus, policies: list[FrequencyPolicy]
) -> list[CoreKind]:
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


@dataclass(frozen=True, slots=True)
class Processors:
    """The facts of a machine's processors; `caches` are the caches of the first CPU."""

    cpu: Cpu
    caches: list[Cache]
    cache_levels: list[CacheLevel]


def processors(found: Snapshot, gaps: UnknownFacts) -> Processors:
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
        idle_driver=clocks.idle_driver(found, gaps),
        idle_governor=clocks.idle_governor(found, gaps),
        idle_states=clocks.idle_states(cpus, gaps),
        smt=_smt(found, gaps),
        smt_active=_smt_active(found),
        isolated=_kernel_list(found, "isolated", gaps),
        nohz_full=_kernel_list(found, "nohz_full", gaps),
        quota=groups.quota(found, gaps),
    )
    return Processors(made, caches.caches(every, cpus, gaps), caches.cache_levels(every, gaps))


def _online(found: Snapshot, texts: dict[int, dict[str, str]], printed: list[int], gaps: UnknownFacts) -> list[int]:
    """The online CPUs as the kernel lists them; else by their folders (CPU 0 often cannot go offline and has no such
    file) and those that /proc/cpuinfo prints."""
    if online := listed(found.text(f"{CPU}/online")):
        return sorted(online)
    up = {cpu for cpu, files in texts.items() if files.get("online") != "0"} | set(printed)
    if not up:
        gaps.note("cpu.online", f"{CPU}/online is missing or malformed, and /proc/cpuinfo does not report it")
    return sorted(up)


def _present(found: Snapshot, online: list[int], gaps: UnknownFacts) -> list[int]:
    """The CPUs that are plugged in; without such a list those with a folder. CPUs that run are there in any case."""
    present = listed(found.text(f"{CPU}/present"))
    if present is None:
        present = frozenset(by_cpu(found))
    if not present and not online:
        gaps.note("cpu.cpus", f"{CPU}/present is missing or malformed")
    return sorted(present | set(online))


def _count(numbers: Iterable[int]) -> int | None:
    return len(set(numbers)) or None


def _names(what: CoreKinds, gaps: UnknownFacts) -> dict[str, str | None]:
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
            gaps.note(f"cpu.{name}", f"no table entry for {numbers}" if numbers else "/proc/cpuinfo does not report it")
    return found


def _logical(online: list[int], where: CpuTopology, what: CoreKinds) -> list[LogicalCpu]:
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


def _sve(found: Snapshot, flags: list[str], gaps: UnknownFacts) -> int | None:
    """SVE vector length of a new process in bits (Documentation/arch/arm64/sve.rst: the sysctl is in bytes, at most 64
    by default; the hardware may support more)."""
    length = whole(found.text("/proc/sys/abi/sve_default_vector_length"))
    if flags and "sve" not in flags:
        gaps.not_applicable("cpu.sve_bits", "the kernel does not support SVE")
        return None
    if not length:
        gaps.note("cpu.sve_bits", "/proc/sys/abi/sve_default_vector_length does not report it")
        return None
    return length * 8


def _microcode(printed: Mapping[str, str], gaps: UnknownFacts) -> str | None:
    """The revision of the first CPU's microcode; only x86 prints one, and only x86 lists its features as `flags`."""
    if not printed.get("microcode"):
        if printed and "flags" not in printed:
            gaps.not_applicable("cpu.microcode", "the kernel reports microcode revisions only on x86")
        else:
            gaps.note("cpu.microcode", "/proc/cpuinfo does not report it")
    return printed.get("microcode") or None


def _smt(found: Snapshot, gaps: UnknownFacts) -> str | None:
    control = (found.text(f"{CPU}/smt/control") or "").strip()
    if not control:
        gaps.note("cpu.smt", f"{CPU}/smt is missing")
    return control or None


def _smt_active(found: Snapshot) -> bool | None:
    active = whole(found.text(f"{CPU}/smt/active"))
    return None if active is None else active != 0


def _kernel_list(found: Snapshot, name: str, gaps: UnknownFacts) -> list[int]:
    """CPUs isolated by the kernel; some kernels print `(null)` for none."""
    text = found.text(f"{CPU}/{name}")
    if text is None or text.strip() == "(null)":
        if text is None and name == "nohz_full" and found.text(f"{CPU}/isolated") is not None:
            gaps.not_applicable(f"cpu.{name}", "the kernel was built without it")  # drivers/base/cpu.c
        elif text is None:
            gaps.note(f"cpu.{name}", f"{CPU}/{name} is missing")
        return []
    return gaps.cpus(f"cpu.{name}", text, f"{CPU}/{name}")
