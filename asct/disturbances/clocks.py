"""Clocks of the CPUs and what changes them: heat, governor, limit, boost, idle states; and the clock source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import CERTAINTIES, Certainty, Setting
from asct.sdk.facts import FrequencyPolicy
from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity

_SLOW: Final = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr")
"""Those that a program cannot read without entering the kernel: they have no mode for the vDSO
(arch/x86/include/asm/vdso/clocksource.h; drivers/clocksource/)."""
_QUICK: Final = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""The best first."""
_FILE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


@finding(
    "clock-source",
    effect="reading the time requires a system call that takes about a microsecond instead of tens of "
    "nanoseconds; fio reads it several times per request, so latency is higher and IOPS are lower",
    touches=["storage.latency", "storage.iops", "storage.cpu"],
    source="vdso(7); Linux, arch/x86/include/asm/vdso/clocksource.h, Documentation/timers/timekeeping.rst",
)
def _slow(seen: RuleInput) -> Evaluations:
    system = seen.facts.system
    source = seen.known(system.clock_source, "the clock source", "system.clock_source")
    if source not in _SLOW:
        return
    better = next((name for name in _QUICK if name in system.clock_sources), None)
    yield Evaluation(
        title=f"clock source {source}",
        seen=f"the clock is {source}, of {', '.join(system.clock_sources) or 'no others'}",
        sure="certain",
        why="programs cannot read this clock directly; the kernel uses it if it does not trust a better one",
        advice=""
        if better
        else "check the kernel log for the reason why it abandoned the CPU's clock (dmesg: clocksource, tsc)",
        settings=[Setting(path=_FILE, value=better, was=source)] if better else [],
    )


LONG_US: Final = 10
"""A fast NVMe drive answers in some ten microseconds: from here on waking up is seen in its latency."""


@finding(
    "idle-states",
    effect="a CPU that waits for a drive may enter an idle state, and its wake-up time delays each request: "
    "latency is higher and IOPS are lower, mostly at low queue depths; programs that never wait are not "
    "affected",
    touches=["storage.latency", "storage.iops", "storage.bandwidth"],
    source="Linux, Documentation/admin-guide/pm/cpuidle.rst (latency, disable)",
)
def _idle(seen: RuleInput) -> Evaluations:
    cpu = seen.facts.cpu
    states = seen.known(cpu.idle_states or None, "idle states", "cpu.idle_states", "cpu.idle_driver")
    settings, named, longest = [], [], 0
    for number, state in enumerate(states):
        free = sorted(set(cpu.online) - set(state.disabled_cpus))
        if state.latency_us is None or state.latency_us < LONG_US or not free:
            continue
        path = f"/sys/devices/system/cpu/cpu{{}}/cpuidle/state{number}/disable"
        settings.append(Setting(path=path, value="1", was="0", numbers=free))
        named.append(f"{state.name} {state.latency_us} µs on CPU {format_cpulist(free)}")
        longest = max(longest, state.latency_us)
    if not settings:
        return
    mixed = len(cpu.kinds) > 1  # then states of one number differ from core to core, and the facts do not number them
    yield Evaluation(
        title=f"idle states with a wake-up time of up to {longest} µs",
        seen="; ".join(named),
        sure="likely",
        why="the kernel chooses the state from the expected idle time, and may be wrong",
        advice=f"cpupower idle-set -D {LONG_US} as root; cpupower idle-set -E enables all states again"
        if mixed
        else "",
        settings=[] if mixed else settings,
    )


_NEAR: Final = 10.0
"""Degrees below the critical temperature: hardware slows down before it is reached."""


@finding(
    "heat",
    effect="hot CPUs and drives are throttled: bandwidth and IOPS are lower and latency is higher, increasingly "
    "so during a long measurement",
    touches=["*"],
    source="Linux, Documentation/driver-api/thermal/sysfs-api.rst, drivers/thermal/intel/therm_throt.c",
)
def _hot(seen: RuleInput) -> Evaluations:
    sensors = seen.facts.thermal
    if not sensors:
        yield from seen.unseen("temperatures", "thermal")
    hot = [
        f"{one.name} {one.celsius:.0f} °C of {one.critical_celsius:.0f} °C"
        for one in sensors
        if one.celsius is not None and one.critical_celsius and one.celsius >= one.critical_celsius - _NEAR
    ]
    slowed = seen.sample.throttled if seen.sample else None
    if not hot and not slowed:
        return
    told = [f"CPUs were thermally throttled {slowed} times within a second"] if slowed else []
    yield Evaluation(
        title="thermal throttling" if slowed else "near the temperature limit",
        seen="; ".join([*told, *hot]),
        sure="certain" if slowed else "likely",
        why="the CPUs count these events"
        if slowed
        else "the measurement itself generates heat, and throttling starts below the limit",
        advice="improve the cooling, or let the machine cool down and pause between measurements",
    )


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
        return "certain", "this governor requests the lowest permitted clock, whatever the load"
    if name == "userspace":
        return "possible", "a program has set the clock"
    return "likely", (
        "the clock follows the previous load, so it is low when a measurement starts or waits for a drive"
    )


@finding(
    "governor",
    effect="clocks below the maximum: latency in seconds is higher, bandwidth and IOPS are lower, and both "
    "depend on the previous load; values in core cycles hardly change",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst",
)
def _governor(seen: RuleInput) -> Evaluations:
    policies = seen.known(seen.facts.cpu.policies or None, "the frequency governor", "cpu.policies", "cpu.governor")
    judged = [(policy, verdict) for policy in policies if (verdict := _judged(policy)) is not None]
    if not judged:
        return
    sure, why = min((verdict for _, verdict in judged), key=lambda verdict: CERTAINTIES.index(verdict[0]))
    names = sorted({policy.governor or "" for policy, _ in judged})
    cpus = [cpu for policy, _ in judged for cpu in policy.cpus]
    drivers = sorted({policy.driver for policy, _ in judged if policy.driver})
    chosen = [policy for policy, _ in judged]
    yield Evaluation(
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
    effect="the clock stays below the maximum of the CPU: latency in seconds is higher, bandwidth and IOPS are lower",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst",
)
def _limit(seen: RuleInput) -> Evaluations:
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
    yield Evaluation(
        title=f"clock limited to {share}",
        seen=f"CPU {format_cpulist(cpu for one in held for cpu in one.cpus)}: at most {share}",
        sure="certain",
        why="the kernel requests no clock above scaling_max_freq; this is intended if you compare machines at "
        "one clock",
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
    effect="the clock depends on temperature, power and the number of active cores: bandwidth, latency and IOPS "
    "vary between runs; without boost, results are more repeatable but lower",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/pm/cpufreq.rst (the boost file), intel_pstate.rst (no_turbo)",
)
def _boost(seen: RuleInput) -> Evaluations:
    cpu = seen.facts.cpu
    if not seen.known(cpu.boost, "boost", "cpu.boost"):
        return
    drivers = {policy.driver for policy in cpu.policies}
    intel = bool(drivers & set(_INTEL))
    setting = Setting(path="/sys/devices/system/cpu/cpufreq/boost", value="0", was="1")
    if intel:  # the other way round: 1 switches boost off
        setting = Setting(path="/sys/devices/system/cpu/intel_pstate/no_turbo", value="1", was="0")
    yield Evaluation(
        title="boost on",
        seen="boost clocks are enabled",
        sure="possible",
        why="a well-cooled machine may sustain the boost clock",
        settings=[setting],
    )
