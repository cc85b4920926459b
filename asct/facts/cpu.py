"""The facts of processors and their caches, assembled from the results of one parser per subject."""

from __future__ import annotations

from collections import Counter
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

# The PMUs of hybrid processors list their CPUs (Linux, arch/x86/events/intel/core.c); some Linux kernels list core
# types.
_LISTS = (r"/sys/devices/cpu_(\w+)/cpus", rf"{CPU}/types/(\w+)/cpulist")
_TELLING = (
    "vendor_id", "vendor", "cpu family", "model", "stepping", "model name", "CPU implementer", "CPU variant",
    "CPU part", "CPU revision", "cpu", "revision", "machine", "Model Name", "mvendorid", "marchid", "mimpid", "uarch",
    "cpu model",
)  # fmt: skip
"""Fields of /proc/cpuinfo that identify the core design."""


@dataclass(frozen=True, slots=True)
class CoreKinds:
    """The kind of each online CPU (by number), and the design of each kind. Kinds are numbered in the order of their
    first CPUs."""

    of: Mapping[int, int]
    designs: list[Design]


def kinds(snapshot: Snapshot, cpus: Cpus) -> CoreKinds:
    """Group the CPUs by kind of core.

    Two CPUs are of the same kind if they have the same core design and are in the same list of the Linux kernel. The
    list is necessary because different designs may report the same identity. If there is neither a list nor an
    identity, the CPUs' capacities, which the Linux kernel assigns, are compared instead of the list.
    """
    lists = _lists(snapshot)
    known: dict[tuple[str | None, ...], Design] = {}
    keys: dict[int, tuple[Design, str | None]] = {}
    for cpu in cpus.online:
        values, midr, apart = cpus.info.of(cpu), cpus.of(cpu).get(MIDR), lists.get(cpu)
        alike = (midr, *(values.get(name) for name in _TELLING))
        if alike not in known:  # hundreds of CPUs report the same values
            known[alike] = design(values, midr)
        if apart is None and midr is None and cpu not in cpus.info.own:
            apart = cpus.of(cpu).get("cpu_capacity")
        keys[cpu] = (known[alike], apart)
    of = numbered(keys)
    firsts = {kind: cpu for cpu, kind in reversed(of.items())}
    return CoreKinds(of, [_named(keys[firsts[kind]][0], lists.get(firsts[kind])) for kind in sorted(firsts)])


def _named(found: Design, kind: str | None) -> Design:
    """Replace the processor's name with that of the core if the processor has several kinds of cores."""
    core = None if kind is None else hybrid_core(found.microarchitecture, found.numbers, kind)
    return replace(found, microarchitecture=core, family=found.microarchitecture) if core else found


def _lists(snapshot: Snapshot) -> dict[int, str]:
    """Return the name of the Linux kernel's list that contains each CPU."""
    names: dict[int, str] = {}
    for pattern in _LISTS:
        for match, text in snapshot.matching(pattern):
            names.update(dict.fromkeys(listed(text) or (), match[1]))
    return names


def core_kinds(
    found: CoreKinds, cores: Mapping[int, int], cpus: Cpus, policies: list[FrequencyPolicy]
) -> list[CoreKind]:
    """Return the kinds of cores as facts. The clock range of a kind, in Hz, spans the policies of its CPUs."""
    made = []
    for number, one in enumerate(found.designs):
        members = [cpu for cpu, kind in found.of.items() if kind == number]
        threads = Counter(cores[cpu] for cpu in members if cpu in cores)
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


def processors(snapshot: Snapshot, gaps: UnknownFacts) -> Processors:
    """Return the facts of the processors.

    `cpus` counts all present CPUs, including offline ones, like `CPU(s)` of lscpu.
    """
    texts, info = by_cpu(snapshot), cpuinfo(snapshot.text("/proc/cpuinfo"))
    online = _online(snapshot, texts, sorted(info.own), gaps)
    cpus = Cpus(online, texts, info, gaps)
    every = caches.find(snapshot, cpus)
    where, what = places(snapshot, cpus, caches.shared(every), gaps), kinds(snapshot, cpus)
    present, names = _present(snapshot, online, gaps), _names(what, gaps)
    policies = clocks.policies(snapshot, cpus, gaps)
    flags = next((text for name in ("flags", "Features", "features") if (text := info.common.get(name))), "").split()
    smt = snapshot.line(f"{CPU}/smt/control")
    active = whole(snapshot.text(f"{CPU}/smt/active"))
    made = Cpu(
        cpus=len(present) or None,
        online=online,
        offline=sorted(set(present) - set(online)),
        allowed=groups.allowed(snapshot, gaps),
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
    return Processors(made, caches.caches(every, cpus, gaps), caches.cache_levels(every, gaps))


def _online(snapshot: Snapshot, texts: dict[int, dict[str, str]], printed: list[int], gaps: UnknownFacts) -> list[int]:
    """Return the CPUs that the Linux kernel lists as online.

    Without a list, return the CPUs in /proc/cpuinfo and those that have a folder, except those marked as offline (CPU 0
    often has no mark).
    """
    if online := listed(snapshot.text(f"{CPU}/online")):
        return sorted(online)
    up = {cpu for cpu in {*texts, *printed} if texts.get(cpu, {}).get("online") != "0"}
    why = f"{CPU}/online is missing or malformed, and /proc/cpuinfo does not report it"
    return sorted(gaps.known("cpu.online", up, why))


def _present(snapshot: Snapshot, online: list[int], gaps: UnknownFacts) -> list[int]:
    """Return the CPUs that are plugged in or, if the Linux kernel lists none, those that have a folder. Online CPUs are
    always included."""
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
    names = {name: ", ".join(dict.fromkeys(one for one in said if one)) or None for name, said in of_all.items()}
    found = {"vendor": designs[0].vendor, "model": designs[0].model, **names}
    numbers = ", ".join(f"{name} 0x{value:x}" for name, value in designs[0].numbers)
    why = f"no table entry for {numbers}" if numbers else "/proc/cpuinfo does not report it"
    return {name: gaps.known(f"cpu.{name}", value, why) for name, value in found.items()}


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


def _sve(snapshot: Snapshot, flags: list[str], gaps: UnknownFacts) -> int | None:
    """Return the SVE vector length of a new process in bits.

    The sysctl contains it in bytes, at most 64 by default; the hardware may support more
    (Documentation/arch/arm64/sve.rst).
    """
    if flags and "sve" not in flags:
        gaps.not_applicable("cpu.sve_bits", "the kernel does not support SVE")
        return None
    file = "/proc/sys/abi/sve_default_vector_length"
    return gaps.known("cpu.sve_bits", (whole(snapshot.text(file)) or 0) * 8 or None, f"{file} does not report it")


def _microcode(printed: Mapping[str, str], gaps: UnknownFacts) -> str | None:
    """Return the microcode revision of the first CPU. Only x86, identified by the field `flags`, prints it."""
    revision = printed.get("microcode") or None
    if not revision and printed and "flags" not in printed:
        gaps.not_applicable("cpu.microcode", "the kernel reports microcode revisions only on x86")
        return None
    return gaps.known("cpu.microcode", revision, "/proc/cpuinfo does not report it")


def _kernel_list(snapshot: Snapshot, name: str, gaps: UnknownFacts) -> list[int]:
    """Return the CPUs in one of the Linux kernel's lists. Some versions print `(null)` for an empty list."""
    text = snapshot.text(f"{CPU}/{name}")
    if text is None and name == "nohz_full" and snapshot.text(f"{CPU}/isolated") is not None:
        gaps.not_applicable(f"cpu.{name}", "the kernel was built without it")  # drivers/base/cpu.c
        return []
    return [] if text and text.strip() == "(null)" else gaps.cpus(f"cpu.{name}", text, f"{CPU}/{name}")
