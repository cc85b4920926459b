"""Clocks and idle states of CPUs (Documentation/admin-guide/pm: cpufreq, intel_pstate, amd-pstate, cpuidle.rst)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import median

from asct.facts.cores import Cpus
from asct.facts.cpusets import FileTexts, listed
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts, real, whole
from asct.sdk.facts import FrequencyPolicy, IdleState
from asct.values.cpulist import MAX_CPU

StateKey = tuple[str, int | None]

_STATE = re.compile(r"cpuidle/state([0-9]{1,3})/(name|desc|latency|residency|disable)")
_NONE: StateKey = ("", None)


def idle(snapshot: Snapshot, what: str, gaps: UnknownFacts) -> str | None:
    """Return the current cpuidle `driver` or `governor`. Older Linux kernels report the governor only in a read-only
    file."""
    texts = [snapshot.line(f"{CPU}/cpuidle/current_{what}{suffix}") for suffix in ("", "_ro")]
    name = next((text for text in texts if text and text != "none"), None)
    if name is None and "none" in texts:
        gaps.not_applicable(f"cpu.idle_{what}", "the Linux kernel has no cpuidle driver or governor")
        return None
    return gaps.known(f"cpu.idle_{what}", name, "the Linux kernel has no cpuidle support")


def idle_states(cpus: Cpus, gaps: UnknownFacts) -> list[IdleState]:
    """Return the idle states of all kinds of cores. Kinds are in CPU order, and the states of each kind start with the
    shallowest.

    Different core designs have different states. States with the same name and latency are merged. Names are read only
    for the first CPUs; the other CPUs are assumed to have the same states as the first CPU.
    """
    texts: dict[StateKey, FileTexts] = {}
    first: dict[int, StateKey] = {}
    disabled: dict[StateKey, list[int]] = {}
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
    gaps.known("cpu.idle_states", texts, "the Linux kernel has no cpuidle support")
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


def _folders(files: FileTexts) -> dict[int, dict[str, str]]:
    """Return the files for each idle state of a CPU, keyed by state number."""
    found: dict[int, dict[str, str]] = {}
    for name, text in files.items():
        if match := _STATE.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = text
    return found


_POLICY = rf"{CPU}/cpufreq/policy([0-9]{{1,5}})/(\w+)"
_NOW = re.compile(rf"^{CPU}/cpufreq/policy([0-9]{{1,5}})/scaling_cur_freq:([0-9]+)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def policies(snapshot: Snapshot, cpus: Cpus, gaps: UnknownFacts) -> list[FrequencyPolicy]:
    """Return the frequency policies, ordered by first CPU, from cpufreq/policy* and cpu*/cpufreq.

    One of these paths links to the other. Older Linux kernels have only cpu*/cpufreq.
    """
    folders: dict[int, dict[str, str]] = {
        cpu: {name.removeprefix("cpufreq/"): text for name, text in cpus.of(cpu).items() if name[:8] == "cpufreq/"}
        for cpu in cpus.online
    }
    for match, text in snapshot.matching(_POLICY):
        if int(match[1]) <= MAX_CPU:
            folders.setdefault(int(match[1]), {})[match[2]] = text.strip()
    for match in _NOW.finditer(snapshot.command_output("clocks") or ""):
        if int(match[1]) in folders:
            folders[int(match[1])]["scaling_cur_freq"] = match[2]
    by_cpus: dict[tuple[int, ...], FrequencyPolicy] = {}
    for number, texts in sorted(folders.items()):
        if policy := _policy(number, texts, cpus):
            by_cpus.setdefault(tuple(policy.cpus), policy)
    gaps.known("cpu.policies", by_cpus, "the Linux kernel has no cpufreq support")
    return [by_cpus[key] for key in sorted(by_cpus)]


def _policy(number: int, texts: FileTexts, cpus: Cpus) -> FrequencyPolicy | None:
    """Return a policy, or None if none of its CPUs is online, because its files are then unreadable."""
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
    known = policy.model_dump(exclude={"cpus", "base_hz", "current_hz"}, exclude_none=True)
    return policy if known else None


def _printed(members: list[int], cpus: Cpus) -> float | None:
    """Return the median of the current clock frequencies that /proc/cpuinfo reports (on x86) for a policy's CPUs."""
    texts = (_NUMBER.match(cpus.info.own.get(cpu, {}).get("cpu MHz", "")) for cpu in members)
    clocks = [mhz * 1e6 for text in texts if text and (mhz := real(text[0]))]
    return median(clocks) if clocks else None


def _hertz(text: str | None) -> float | None:
    """Convert a cpufreq clock frequency from kHz to Hz; return None if it is unknown."""
    khz = whole(text)
    return khz * 1e3 if khz else None


def _word(text: str | None) -> str | None:
    return text if text and not text.startswith("<") else None


def governor(found: list[FrequencyPolicy], gaps: UnknownFacts) -> str | None:
    """Return the governor or, if the policies differ, all governors (`performance, powersave`)."""
    governors = sorted({policy.governor for policy in found if policy.governor})
    return gaps.known("cpu.governor", ", ".join(governors) or None, "the Linux kernel has no cpufreq support")


def frequency(
    found: list[FrequencyPolicy], printed: Mapping[str, str], online: list[int], gaps: UnknownFacts
) -> float | None:
    """Return the highest clock frequency of the first CPU, in Hz. The source is cpufreq or, failing that, /proc/cpuinfo
    (which states MHz)."""
    first = online[0] if online else 0
    highest = next((policy.highest_hz for policy in found if first in policy.cpus and policy.highest_hz), None)
    if highest:
        return highest
    # The field names on x86, LoongArch, s390 and Power (`3800.000000MHz`), in this order.
    for name in ("cpu MHz", "CPU MHz", "cpu MHz static", "clock"):
        number = _NUMBER.match(printed.get(name, ""))
        if number and (mhz := real(number[0])):
            return mhz * 1e6
    gaps.note("cpu.frequency_hz", "reported by neither cpufreq nor /proc/cpuinfo")
    return None


def boost(snapshot: Snapshot, cpus: Cpus, gaps: UnknownFacts) -> bool | None:
    """Return whether any CPU may exceed its nominal clock frequency.

    The source is one of these files: no_turbo of intel_pstate, which has the opposite meaning; cpufreq/boost, which
    applies to all CPUs; one file per policy in later Linux kernels; or `cpb` (core performance boost) for AMD CPUs in
    old Linux kernels.
    """
    reverse = whole(snapshot.text(f"{CPU}/intel_pstate/no_turbo"))
    if reverse is not None:
        return reverse == 0
    values = [whole(snapshot.text(f"{CPU}/cpufreq/boost"))]
    values += [whole(text) for _, text in snapshot.matching(rf"{CPU}/cpufreq/policy[0-9]+/boost")]
    values += [whole(cpus.of(cpu).get(f"cpufreq/{name}")) for cpu in cpus.online for name in ("boost", "cpb")]
    known = [value for value in values if value is not None]
    return gaps.known("cpu.boost", any(known) if known else None, "not reported by the clock driver")
