"""Processors and caches."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from asct.analysis.grid import size_text
from asct.analysis.machine.rows import MachineSection, Row, clock, counted, cpus, listed, section, yes
from asct.sdk.facts import CacheLevel, CoreKind, Cpu, FrequencyPolicy, HostFacts
from asct.values.cpulist import format_cpulist

_MOST_INSTANCES = 4
_WITHOUT_SMT = {"notsupported": "not supported", "notimplemented": "not implemented by the kernel"}
"""As /sys/devices/system/cpu/smt/control has it (Documentation/ABI/testing/sysfs-devices-system-cpu)."""
_TYPES = {"Data": "d", "Instruction": "i", "Unified": ""}


def sections(facts: HostFacts) -> Iterator[MachineSection]:
    """CPU and caches."""
    yield section("CPU", _cpu(facts.cpu), _cpu_details(facts.cpu))
    yield section(
        "Caches",
        _caches(facts),
        ((f"L{level.level}{_TYPES[level.type]}", _level(level)) for level in facts.cache_levels),
    )


def processor(cpu: Cpu) -> str:
    """The model; with several kinds of cores the number of each: `4 x Cortex-A55, 4 x Cortex-A78`, or in parentheses
    after their common name."""
    models = {kind.model for kind in cpu.kinds}
    one = cpu.model or cpu.vendor or ""
    if len(cpu.kinds) < 2:
        return one
    if len(models) > 1:
        return ", ".join(f"{_cores(kind)} x {kind.model or kind.microarchitecture or 'unknown'}" for kind in cpu.kinds)
    cores = ", ".join(f"{_cores(kind)} x {_core(kind)}" for kind in cpu.kinds)
    return f"{one} ({cores})" if one else cores


def _cores(kind: CoreKind) -> int:
    """Its cores; where the kernel does not report them, its CPUs."""
    return kind.cores or len(kind.cpus)


def _core(kind: CoreKind) -> str:
    if kind.microarchitecture:
        return kind.microarchitecture
    return f"core of capacity {kind.capacity}" if kind.capacity is not None else "core of unknown type"


def _cpu(cpu: Cpu) -> Iterator[Row]:
    yield "Processor", processor(cpu)
    yield "Microarchitecture", cpu.microarchitecture or ""
    yield "Instruction set", cpu.instruction_set or ""
    if cpu.cpus is not None:
        threads = f"{counted(cpu.threads_per_core, 'thread')} per core" if cpu.threads_per_core else ""
        several = [counted(count, word) for count, word in ((cpu.dies, "die"), (cpu.clusters, "cluster")) if count]
        shape = listed(counted(cpu.sockets, "socket"), *several, counted(cpu.cores, "core"), threads)
        yield "CPUs", listed(str(cpu.cpus), shape, by="; ")
    yield "CPUs offline", cpus(cpu.offline)
    if cpu.allowed and cpu.online and set(cpu.allowed) != set(cpu.online):
        yield "CPUs allowed", cpus(cpu.allowed)
    yield "CPUs isolated", cpus(cpu.isolated)
    yield "Tickless CPUs", cpus(cpu.nohz_full)
    yield "CPU limit", f"{cpu.quota:g} CPUs (control group)" if cpu.quota is not None else ""
    yield "SMT", _smt(cpu)
    yield "Clock", clock(cpu.frequency_hz)
    yield "Clock before the run", _now(cpu)
    yield "Governor", cpu.governor or ""
    yield "Boost", yes(cpu.boost, "on", "off")
    yield "Idle states", _idle(cpu)
    yield "Microcode", cpu.microcode or ""


def _now(cpu: Cpu) -> str:
    """The clock when the facts were read, with several policies their median and range, for each kind of core."""
    several = len(cpu.kinds) > 1
    told = []
    for kind in cpu.kinds:
        members = set(kind.cpus)
        policies = [one for one in cpu.policies if one.current_hz and not members.isdisjoint(one.cpus)]
        clocks = [one.current_hz for one in policies if one.current_hz]
        if clocks:
            low, middle, high = clock(min(clocks)), clock(median(clocks)), clock(max(clocks))
            text = low if low == high else f"{middle} ({low} to {high})"
            told.append(f"{_core(kind)} {text}" if several else text)
    return "; ".join(told)


def _smt(cpu: Cpu) -> str:
    active = None if cpu.smt_active is None else yes(cpu.smt_active, "active", "not active")
    if cpu.smt in _WITHOUT_SMT:
        return _WITHOUT_SMT[cpu.smt]
    return listed("off until reboot" if cpu.smt == "forceoff" else cpu.smt, active)


def _idle(cpu: Cpu) -> str:
    names = ", ".join(state.name for state in cpu.idle_states)
    driver = f"driver {cpu.idle_driver}" if cpu.idle_driver else ""
    governor = f"governor {cpu.idle_governor}" if cpu.idle_governor else ""
    return listed(names, driver, governor, by="; ")


def _cpu_details(cpu: Cpu) -> Iterator[Row]:
    if len(cpu.kinds) > 1:
        for number, kind in enumerate(cpu.kinds):
            clocks = "-".join(clock(one) for one in (kind.min_hz, kind.max_hz) if one)
            shape = listed(counted(kind.cores, "core"), f"CPUs {cpus(kind.cpus)}" if kind.cpus else "")
            capacity = f"capacity {kind.capacity}" if kind.capacity is not None else ""
            name = kind.microarchitecture or kind.model or "unknown type"
            yield f"Kind {number}", listed(name, shape, clocks, capacity, by="; ")
    yield "SVE", f"{cpu.sve_bits} bits in a new process" if cpu.sve_bits else ""
    for policy, members in _policies(cpu):
        yield f"Clock of {cpus(members)}", _policy(policy)
    for state in cpu.idle_states:
        back = f"wake-up {state.latency_us} us" if state.latency_us is not None else ""
        stay = f"target residency {state.residency_us} us" if state.residency_us is not None else ""
        off = f"disabled on {cpus(state.disabled_cpus)}" if state.disabled_cpus else ""
        described = state.description if state.description != state.name else None
        yield f"Idle {state.name}", listed(described, back, stay, off)
    yield "Flags", " ".join(cpu.flags)


def _policies(cpu: Cpu) -> list[tuple[FrequencyPolicy, list[int]]]:
    """Equal policies are merged, with all of their CPUs."""
    found: dict[str, tuple[FrequencyPolicy, list[int]]] = {}
    for policy in cpu.policies:
        alike = policy.model_copy(update={"cpus": [], "current_hz": None}).model_dump_json()
        found.setdefault(alike, (policy, []))[1].extend(policy.cpus)
    return [(policy, sorted(members)) for policy, members in found.values()]


def _policy(policy: FrequencyPolicy) -> str:
    able = "-".join(clock(one) for one in (policy.lowest_hz, policy.highest_hz) if one)
    asked = "-".join(clock(one) for one in (policy.min_hz, policy.max_hz) if one)
    return listed(
        listed(policy.driver, policy.governor, by=" "),
        able,
        f"limited to {asked}" if asked and asked != able else "",
        f"base {clock(policy.base_hz)}" if policy.base_hz else "",
        policy.energy_preference,
    )


def _caches(facts: HostFacts) -> Iterator[Row]:
    named = [
        f"L{one.level}{'d' if one.type == 'Data' else ''} {size_text(one.size_bytes)}" for one in facts.data_caches()
    ]
    yield "Caches", ", ".join(dict.fromkeys(named))


def _level(level: CacheLevel) -> str:
    count = len(level.instances)
    shared = [format_cpulist(members) for members in level.instances]
    if len(shared) > _MOST_INSTANCES:
        shared = [*shared[: _MOST_INSTANCES - 1], "...", shared[-1]]
    each = size_text(level.size_bytes) if level.size_bytes is not None else "size unknown"
    return listed(
        f"{count} x {each}" if count else each,
        f"lines of {level.line_bytes} B" if level.line_bytes else "",
        f"{level.ways} ways" if level.ways else "",
        f"{level.sets} sets" if level.sets else "",
        f"CPUs {' | '.join(shared)}" if shared else "",
    )
