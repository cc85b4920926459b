"""The clock of the CPUs: governor, limit, boost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding
from asct.sdk.disturbance import CERTAINTIES, Certainty, Setting
from asct.sdk.facts import FrequencyPolicy
from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity

_POLICY: Final = "/sys/devices/system/cpu/cpu{}/cpufreq"
_OWN_GOVERNORS: Final = ("intel_pstate", "amd-pstate-epp")
"""Drivers whose `powersave` is an algorithm of their own that follows the load (intel_pstate.rst, amd-pstate.rst)."""
_INTEL: Final = ("intel_pstate", "intel_cpufreq")
_SLACK: Final = 0.99
"""Limits are rounded to steps of the hardware."""


def _judged(policy: FrequencyPolicy) -> tuple[Certainty, str] | None:
    """How sure it is that the governor disturbs; None for one that holds the clock up, or is not known."""
    name = policy.governor
    if name in (None, "performance"):
        return None
    if name == "powersave" and policy.driver in _OWN_GOVERNORS:
        return "possible", f"the algorithm of {policy.driver} follows the load within milliseconds"
    if name == "powersave":
        return "certain", "this governor asks for the lowest clock that is allowed, whatever the load"
    if name == "userspace":
        return "possible", "the clock is the one that a program has set"
    return "likely", "the clock follows the load of before, so it is low when a measurement begins or waits for a drive"


@finding(
    "governor",
    effect="clocks below the highest: latency in seconds is higher, bandwidth and IOPS are lower, and both change "
    "with what ran before; values in cycles of the core hardly change",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst",
)
def _governor(seen: Look) -> Found:
    policies = seen.known(seen.facts.cpu.policies or None, "the governor of the clock", "cpu.policies", "cpu.governor")
    judged = [(policy, verdict) for policy in policies if (verdict := _judged(policy)) is not None]
    if not judged:
        return
    sure, why = min((verdict for _, verdict in judged), key=lambda verdict: CERTAINTIES.index(verdict[0]))
    names = sorted({policy.governor or "" for policy, _ in judged})
    cpus = [cpu for policy, _ in judged for cpu in policy.cpus]
    drivers = sorted({policy.driver for policy, _ in judged if policy.driver})
    chosen = [policy for policy, _ in judged]
    yield Seen(
        title=f"governor {', '.join(names)}",
        seen=f"CPU {format_cpulist(cpus)}: {', '.join(names)}" + (f" (driver {', '.join(drivers)})" if drivers else ""),
        sure=sure,
        why=why,
        settings=[
            *_settings(chosen, "scaling_governor", "performance", lambda policy: policy.governor),
            *_settings(chosen, "energy_performance_preference", "performance", lambda policy: policy.energy_preference),
        ],
    )


def _settings(
    policies: Sequence[FrequencyPolicy], file: str, value: str, was: Callable[[FrequencyPolicy], str | None]
) -> Iterator[Setting]:
    """One setting for all policies where the same stood before; each is reached by the first of its CPUs."""
    before: dict[str, list[int]] = {}
    for policy in policies:
        text = was(policy)
        if text is not None and policy.cpus:
            before.setdefault(text, []).append(policy.cpus[0])
    for text, numbers in before.items():
        yield Setting(path=f"{_POLICY}/{file}", value=value, was=text, numbers=numbers)


@finding(
    "clock-limit",
    effect="the clock stays below what the CPU can do: latency in seconds is higher, bandwidth and IOPS are lower",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst",
)
def _limit(seen: Look) -> Found:
    policies = seen.facts.cpu.policies
    held = [one for one in policies if one.max_hz and one.highest_hz and one.max_hz < one.highest_hz * _SLACK]
    if not held:
        return
    settings = [
        Setting(path=f"{_POLICY}/scaling_max_freq", value=_khz(highest), was=_khz(limit), numbers=numbers)
        for (highest, limit), numbers in _by_limit(held).items()
    ]
    worst = min(held, key=lambda one: (one.max_hz or 0.0) / (one.highest_hz or 1.0))
    share = f"{_clock(worst.max_hz)} of {_clock(worst.highest_hz)}"
    yield Seen(
        title=f"clock limited to {share}",
        seen=f"CPU {format_cpulist(cpu for one in held for cpu in one.cpus)}: at most {share}",
        sure="certain",
        why="the kernel asks for no clock above scaling_max_freq; right where machines are compared at one clock",
        settings=settings,
    )


def _by_limit(held: Sequence[FrequencyPolicy]) -> dict[tuple[float, float], list[int]]:
    found: dict[tuple[float, float], list[int]] = {}
    for one in held:
        if one.cpus:
            found.setdefault((one.highest_hz or 0.0, one.max_hz or 0.0), []).append(one.cpus[0])
    return found


def _khz(clock: float) -> str:
    return str(round(clock / 1000))


def _clock(clock: float | None) -> str:
    return format_quantity(clock or 0.0, "Hz", 3)


@finding(
    "boost",
    effect="the clock depends on heat, power and how many cores work: bandwidth, latency and IOPS differ from run "
    "to run; without boost they repeat better, and are lower",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst (the boost file), intel_pstate.rst (no_turbo)",
)
def _boost(seen: Look) -> Found:
    cpu = seen.facts.cpu
    if not seen.known(cpu.boost, "boost", "cpu.boost"):
        return
    drivers = {policy.driver for policy in cpu.policies}
    intel = bool(drivers & set(_INTEL))
    setting = Setting(path="/sys/devices/system/cpu/cpufreq/boost", value="0", was="1")
    if intel:  # the other way round: 1 switches boost off
        setting = Setting(path="/sys/devices/system/cpu/intel_pstate/no_turbo", value="1", was="0")
    yield Seen(
        title="boost on",
        seen="clocks above the nominal one may be used",
        sure="possible",
        why="a well cooled machine may hold the higher clock all the time",
        settings=[setting],
    )
