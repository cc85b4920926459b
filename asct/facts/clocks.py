"""Clocks and idle states of CPUs (Documentation/admin-guide/pm: cpufreq, intel_pstate, amd-pstate, cpuidle.rst)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import median

from asct.facts.cores import Cpus
from asct.facts.cpusets import Texts, listed
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts, real, whole
from asct.sdk.facts import FrequencyPolicy, IdleState
from asct.values.cpulist import MAX_CPU

Key = tuple[str, int | None]

_STATE = re.compile(r"cpuidle/state([0-9]{1,3})/(name|desc|latency|residency|disable)")
_NONE: Key = ("", None)


def idle_driver(found: Snapshot, gaps: UnknownFacts) -> str | None:
    """The driver of the machine; null where there is none."""
    return _said(found, "driver", ("current_driver",), gaps)


def idle_governor(found: Snapshot, gaps: UnknownFacts) -> str | None:
    """The governor; older kernels have it read-only under another name."""
    return _said(found, "governor", ("current_governor", "current_governor_ro"), gaps)


def _said(found: Snapshot, what: str, names: tuple[str, ...], gaps: UnknownFacts) -> str | None:
    texts = [(found.text(f"{CPU}/cpuidle/{name}") or "").strip() for name in names]
    said = next((text for text in texts if text and text != "none"), None)
    if said is None:
        if "none" in texts:
            gaps.not_applicable(f"cpu.idle_{what}", "the kernel has no cpuidle driver or governor")
        else:
            gaps.note(f"cpu.idle_{what}", "the kernel has no cpuidle")
    return said


def idle_states(cpus: Cpus, gaps: UnknownFacts) -> list[IdleState]:
    """The idle states of each kind of core in CPU order, shallowest first.

    Different core designs have different states; states with equal name and latency are merged. Names are read only for
    the first CPUs; CPUs without names have the states of the first.
    """
    texts: dict[Key, Texts] = {}
    first: dict[int, Key] = {}
    disabled: dict[Key, list[int]] = {}
    for cpu in cpus.online:
        for number, state in sorted(_folders(cpus.of(cpu)).items()):
            if "name" in state:
                key = (state["name"], whole(state.get("latency")))
                first.setdefault(number, key)
                texts.setdefault(key, state)
            else:
                key = first.get(number, _NONE)
            if whole(state.get("disable")):
                disabled.setdefault(key, []).append(cpu)
    if not texts:
        gaps.note("cpu.idle_states", "the kernel has no cpuidle")
    return [
        IdleState(
            name=name,
            description=state.get("desc") or None,
            latency_us=latency,
            residency_us=whole(state.get("residency")),
            disabled_cpus=disabled.get((name, latency), []),
        )
        for (name, latency), state in texts.items()
    ]


def _folders(files: Texts) -> dict[int, dict[str, str]]:
    """The texts of a CPU's states by their number."""
    found: dict[int, dict[str, str]] = {}
    for name, text in files.items():
        if match := _STATE.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = text
    return found


_POLICY = rf"{CPU}/cpufreq/policy([0-9]{{1,5}})/(\w+)"
_NOW = re.compile(rf"^{CPU}/cpufreq/policy([0-9]{{1,5}})/scaling_cur_freq:([0-9]+)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def policies(found: Snapshot, cpus: Cpus, gaps: UnknownFacts) -> list[FrequencyPolicy]:
    """The policies in the order of their first CPU, from cpufreq/policy* and cpu*/cpufreq: one is a link to the other,
    and older kernels have only the latter."""
    folders: dict[int, dict[str, str]] = {
        cpu: {name.removeprefix("cpufreq/"): text for name, text in cpus.of(cpu).items() if name[:8] == "cpufreq/"}
        for cpu in cpus.online
    }
    for match, text in found.matching(_POLICY):
        if int(match[1]) <= MAX_CPU:
            folders.setdefault(int(match[1]), {})[match[2]] = text.strip()
    for match in _NOW.finditer(found.command_output("clocks") or ""):
        if int(match[1]) in folders:
            folders[int(match[1])]["scaling_cur_freq"] = match[2]
    made: dict[tuple[int, ...], FrequencyPolicy] = {}
    for number, texts in sorted(folders.items()):
        if policy := _policy(number, texts, cpus):
            made.setdefault(tuple(policy.cpus), policy)
    if not made:
        gaps.note("cpu.policies", "the kernel has no cpufreq")
    return [made[key] for key in sorted(made)]


def _policy(number: int, texts: Texts, cpus: Cpus) -> FrequencyPolicy | None:
    """A policy; None for one that has no CPU online (its files cannot be read)."""
    names = ("affected_cpus", "related_cpus")
    listings = [found for name in names if (found := listed(",".join(texts.get(name, "").split())))]
    members = sorted(listings[0] if listings else {number})
    nominal = whole(cpus.of(members[0]).get("acpi_cppc/nominal_freq"))
    policy = FrequencyPolicy(
        cpus=members,
        driver=_word(texts.get("scaling_driver")),
        governor=_word(texts.get("scaling_governor")),
        lowest_hz=_hertz(texts.get("cpuinfo_min_freq")),
        highest_hz=_hertz(texts.get("cpuinfo_max_freq")),
        base_hz=_hertz(texts.get("base_frequency")) or (nominal * 1e6 if nominal else None),
        min_hz=_hertz(texts.get("scaling_min_freq")),
        max_hz=_hertz(texts.get("scaling_max_freq")),
        current_hz=_hertz(texts.get("scaling_cur_freq")) or _printed(members, cpus),
        energy_preference=_word(texts.get("energy_performance_preference")),
    )
    told = policy.model_dump(exclude={"cpus", "base_hz", "current_hz"}, exclude_none=True)
    return policy if told else None


def _printed(members: list[int], cpus: Cpus) -> float | None:
    """The median of what /proc/cpuinfo of x86 prints of the CPUs of a policy: their clocks of this moment."""
    texts = (_NUMBER.match(cpus.info.own.get(cpu, {}).get("cpu MHz", "")) for cpu in members)
    clocks = [mhz * 1e6 for text in texts if text and (mhz := real(text[0]))]
    return median(clocks) if clocks else None


def _hertz(text: str | None) -> float | None:
    """cpufreq prints kHz; None where it does not know."""
    khz = whole(text)
    return khz * 1e3 if khz else None


def _word(text: str | None) -> str | None:
    return text if text and not text.startswith("<") else None


def governor(found: list[FrequencyPolicy], gaps: UnknownFacts) -> str | None:
    """The governor, or all of them when policies differ (`performance, powersave`)."""
    governors = sorted({policy.governor for policy in found if policy.governor})
    if not governors:
        gaps.note("cpu.governor", "the kernel has no cpufreq")
        return None
    return ", ".join(governors)


def frequency(
    found: list[FrequencyPolicy], printed: Mapping[str, str], online: list[int], gaps: UnknownFacts
) -> float | None:
    """The highest clock of the first CPU in Hz from cpufreq, else the clock that /proc/cpuinfo prints in MHz."""
    first = online[0] if online else 0
    highest = next((policy.highest_hz for policy in found if first in policy.cpus and policy.highest_hz), None)
    if highest:
        return highest
    # x86 and LoongArch, s390, Power (`3800.000000MHz`)
    for name in ("cpu MHz", "CPU MHz", "cpu MHz static", "clock"):
        number = _NUMBER.match(printed.get(name, ""))
        if number and (mhz := real(number[0])):
            return mhz * 1e6
    gaps.note("cpu.frequency_hz", "neither cpufreq nor /proc/cpuinfo reports it")
    return None


def boost(found: Snapshot, cpus: Cpus, gaps: UnknownFacts) -> bool | None:
    """Whether clocks above the nominal one may be used.

    intel_pstate has it reversed (no_turbo); cpufreq/boost is global, later kernels have one in each policy, and old
    ones of AMD `cpb` (core performance boost). With several that differ, it is on when any CPU may.
    """
    reverse = whole(found.text(f"{CPU}/intel_pstate/no_turbo"))
    if reverse is not None:
        return reverse == 0
    values = [whole(found.text(f"{CPU}/cpufreq/boost"))]
    values += [whole(text) for _, text in found.matching(rf"{CPU}/cpufreq/policy[0-9]+/boost")]
    values += [whole(cpus.of(cpu).get(f"cpufreq/{name}")) for cpu in cpus.online for name in ("boost", "cpb")]
    known = [value for value in values if value is not None]
    if not known:
        gaps.note("cpu.boost", "the clock driver does not report it")
        return None
    return any(known)
