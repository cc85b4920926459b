"""Rules for CPUs: clock source, idle states, temperature, frequency (governor, limit, boost) and interrupts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import CERTAINTIES, Certainty, Setting
from asct.sdk.facts import FrequencyPolicy
from asct.values.cpulist import format_cpulist
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity

_SLOW: Final = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr")
"""Clock sources that a program cannot read without a system call, because they have no vDSO mode
(arch/x86/include/asm/vdso/clocksource.h; drivers/clocksource/)."""
_QUICK: Final = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Clock sources that a program can read without a system call, fastest first."""
_FILE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


@rule("clock-source")
def _slow(host: RuleInput) -> Evaluations:
    system = host.facts.system
    source = host.known(system.clock_source, "the clock source", "system.clock_source")
    if source not in _SLOW:
        return
    better = next((name for name in _QUICK if name in system.clock_sources), None)
    values = {"source": source, "available": ", ".join(system.clock_sources) or "no others"}
    settings = [Setting(path=_FILE, value=better, was=source)] if better else []
    yield Evaluation(values, settings, "" if better else "no better")


LONG_US: Final = 10
"""Threshold for wake-up times, in microseconds. A fast NVMe drive responds in about 10 µs, so longer wake-up times
affect its latency."""


@rule("idle-states")
def _idle(host: RuleInput) -> Evaluations:
    cpu = host.facts.cpu
    states = host.known(cpu.idle_states or None, "idle states", "cpu.idle_states", "cpu.idle_driver")
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
    # With several kinds of cores, the same state number stands for different states, and the facts contain no state
    # numbers.
    mixed = len(cpu.kinds) > 1
    values = {"longest": longest, "named": "; ".join(named), "least": LONG_US}
    yield Evaluation(values, [] if mixed else settings, "mixed" if mixed else "")


_NEAR: Final = 10.0
"""A sensor is considered hot if it is within this margin, in degrees Celsius, of its critical temperature, because
throttling starts below the critical temperature."""


@rule("heat")
def _hot(host: RuleInput) -> Evaluations:
    sensors = host.facts.thermal
    if not sensors:
        yield from host.unseen("temperatures", "thermal")
    hot = [
        f"{one.name} {one.celsius:.0f} °C (limit {one.critical_celsius:.0f} °C)"
        for one in sensors
        if one.celsius is not None and one.critical_celsius and one.celsius >= one.critical_celsius - _NEAR
    ]
    slowed = host.sample.throttled
    if not hot and not slowed:
        return
    throttling = [f"CPUs were thermally throttled {slowed} times within one second"] if slowed else []
    yield Evaluation({"hot": "; ".join([*throttling, *hot])}, case="throttled" if slowed else "")


_POLICY: Final = "/sys/devices/system/cpu/cpu{}/cpufreq"
_OWN_GOVERNORS: Final = ("intel_pstate", "amd-pstate-epp")
"""Drivers with their own `powersave` algorithm, which follows the load (intel_pstate.rst, amd-pstate.rst)."""
_INTEL: Final = ("intel_pstate", "intel_cpufreq")
_SLACK: Final = 0.99
"""A clock limit counts as lowered only if it is below this fraction of the hardware limit, because the Linux kernel
rounds limits to hardware steps."""


def _judged(policy: FrequencyPolicy) -> tuple[Certainty, str, str] | None:
    """Return three values: the certainty that a policy's governor affects results, the case in rules.yaml, and the
    driver. Return None for the governor `performance`."""
    name = policy.governor
    if name in (None, "performance"):
        return None
    if name == "powersave" and policy.driver in _OWN_GOVERNORS:
        return "possible", "own", policy.driver or ""
    if name == "powersave":
        return "certain", "lowest", ""
    return ("possible", "userspace", "") if name == "userspace" else ("likely", "", "")


@rule("governor")
def _governor(host: RuleInput) -> Evaluations:
    policies = host.known(host.facts.cpu.policies or None, "the frequency governor", "cpu.policies", "cpu.governor")
    judged = [(policy, verdict) for policy in policies if (verdict := _judged(policy)) is not None]
    if not judged:
        return
    _, case, driver = min((verdict for _, verdict in judged), key=lambda verdict: CERTAINTIES.index(verdict[0]))
    names = sorted({policy.governor or "" for policy, _ in judged})
    cpus = [cpu for policy, _ in judged for cpu in policy.cpus]
    drivers = sorted({policy.driver for policy, _ in judged if policy.driver})
    chosen = [policy for policy, _ in judged]
    values = {
        "names": ", ".join(names),
        "cpus": format_cpulist(cpus),
        "drivers": f" (driver {', '.join(drivers)})" if drivers else "",
        "driver": driver,
    }
    settings = [
        *_settings(chosen, "scaling_governor", "performance", lambda policy: policy.governor),
        *_settings(chosen, "energy_performance_preference", "performance", lambda policy: policy.energy_preference),
    ]
    yield Evaluation(values, settings, case)


def _settings(
    policies: Sequence[FrequencyPolicy], file: str, value: str, was: Callable[[FrequencyPolicy], str | None]
) -> Iterator[Setting]:
    """Yield one setting for each old value. It applies to all policies that have this value, each represented by its
    first CPU."""
    known = ((old, one.cpus[0]) for one in policies if one.cpus and (old := was(one)) is not None)
    for text, same in grouped(known, lambda item: item[0]).items():
        yield Setting(path=f"{_POLICY}/{file}", value=value, was=text, numbers=[cpu for _, cpu in same])


@rule("clock-limit")
def _limit(host: RuleInput) -> Evaluations:
    policies = host.facts.cpu.policies
    limited = [one for one in policies if one.max_hz and one.highest_hz and one.max_hz < one.highest_hz * _SLACK]
    if not limited:
        return
    clocks = grouped((one for one in limited if one.cpus), lambda one: (_khz(one.highest_hz), _khz(one.max_hz)))
    settings = [
        Setting(path=f"{_POLICY}/scaling_max_freq", value=highest, was=limit, numbers=[one.cpus[0] for one in same])
        for (highest, limit), same in clocks.items()
    ]
    worst = min(limited, key=lambda one: (one.max_hz or 0.0) / (one.highest_hz or 1.0))
    share = f"{_clock(worst.max_hz)} of {_clock(worst.highest_hz)}"
    cpus = format_cpulist(cpu for one in limited for cpu in one.cpus)
    yield Evaluation({"share": share, "cpus": cpus}, settings)


def _khz(clock: float | None) -> str:
    return str(round((clock or 0.0) / 1000))


def _clock(clock: float | None) -> str:
    return format_quantity(clock or 0.0, "Hz", 3)


@rule("boost")
def _boost(host: RuleInput) -> Evaluations:
    cpu = host.facts.cpu
    if not host.known(cpu.boost, "boost", "cpu.boost"):
        return
    drivers = {policy.driver for policy in cpu.policies}
    intel = bool(drivers & set(_INTEL))
    setting = Setting(path="/sys/devices/system/cpu/cpufreq/boost", value="0", was="1")
    if intel:  # `no_turbo` is inverted: 1 switches boost off
        setting = Setting(path="/sys/devices/system/cpu/intel_pstate/no_turbo", value="1", was="0")
    yield Evaluation({}, [setting])


_MANY_INTERRUPTS: Final = 1000.0
"""Limit for device interrupts per second. At this rate, interrupts of a few microseconds each take about one percent of
a CPU's time."""


@rule("irqbalance")
def _balanced(host: RuleInput) -> Evaluations:
    if not host.known(host.facts.system.irqbalance, "irqbalance", "system.irqbalance"):
        return
    yield Evaluation({})


@rule("irq-affinity")
def _isolated(host: RuleInput) -> Evaluations:
    """Report interrupts that may be routed to isolated CPUs."""
    system, isolated = host.facts.system, set(host.facts.cpu.isolated)
    if isolated and not system.irq_default_affinity:
        yield from host.unseen("the default interrupt affinity", "system.irq_default_affinity")
    hit, rest = isolated & set(system.irq_default_affinity), set(system.irq_default_affinity) - isolated
    if not hit or not rest:
        return
    was = mask(system.irq_default_affinity)
    setting = Setting(path="/proc/irq/default_smp_affinity", value=mask(rest), was=was)
    yield Evaluation({"cpus": format_cpulist(hit)}, [setting])


def mask(cpus: Collection[int]) -> str:
    """Format a CPU mask as the Linux kernel does: hexadecimal groups of 32 bits, highest first
    (`00000001,ffffffff`)."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(1, bits.bit_length()), 32)]
    return ",".join(reversed(groups))


@rule("interrupts")
def _many(host: RuleInput) -> Evaluations:
    rates = {cpu: rate for cpu, rate in host.sample.interrupts.items() if rate >= _MANY_INTERRUPTS}
    if not rates:
        return
    yield Evaluation({"most": max(rates.values()), "cpus": format_cpulist(rates)})
