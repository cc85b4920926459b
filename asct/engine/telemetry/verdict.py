"""Judge whether the host was quiet, based on the readings before and after the steps of a repeat. This module performs
no I/O.

A reason applies to the whole repeat. Measurement kernels watch the CPUs on which they run and drop disturbed samples
(instruments/memory/kernel_flags.py); this module covers disturbances that are visible only on the host as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from asct.instruments.memory.kernel_flags import CLOCK_LIMIT, STEAL_LIMIT
from asct.instruments.nvme import DriveHealth
from asct.store.model import HostVerdict, Moment, Reason
from asct.values.cpulist import parse_cpulist

TICKS_A_SECOND: Final = 100
"""The value of USER_HZ on all architectures that asct supports (proc(5): sysconf(_SC_CLK_TCK), "typically 100")."""
GRAIN_TICKS: Final = 3
"""Minimum number of ticks for computing shares; with fewer ticks, shares would be meaningless."""
OTHERS_LIMIT: Final = 0.05
OTHERS_MOST_CPUS: Final = 0.5
"""Limits on the CPU time of other programs: a share of all CPUs, but at most half of one CPU.

On a small idle host, other programs use less than 2 %; on a large host, agents use less than half a CPU. A competing
job uses at least one CPU.
"""
OTHERS_TICKS: Final = 10
STEP_TICKS: Final = 1
"""Number of ticks tolerated in a repeat, and in each of its steps. asct and the shell that starts a program use some
ticks, and a step may begin and end in the middle of a tick."""
MEMORY_LIMIT: Final = 0.05
"""Limit on the share of time during which at least one task waited for memory (psi.rst, `some`). A quiet host neither
reclaims memory nor swaps."""
SWAP_PAGES: Final = 256
"""Limit on the number of pages swapped (1 MiB in total). Even a swapped-out process that wakes up reads fewer pages
than this."""
QUOTA_LIMIT: Final = 0.01
"""Limit on the share of time during which a control group throttled its tasks.

If the share is smaller, only isolated periods (100 ms each by default; see cpu.max in cgroup-v2.rst) were throttled,
which does not affect a median over a second or more.
"""
NEAR_CRITICAL_C: Final = 5.0
"""Margin below the critical temperature, in degrees Celsius. Firmware throttles a CPU or drive a few degrees below the
critical temperature."""
FIXED_GOVERNORS: Final = frozenset({"performance", "userspace"})
"""Governors with a fixed frequency (cpufreq.rst). With any other governor, an idle CPU runs more slowly."""


@dataclass(frozen=True, slots=True)
class NoiseEvidence:
    """The evidence used to judge the host state.

    `moments` contains at least two readings in chronological order. `growth` and `window_s` (wall time) are sums over
    the steps.
    """

    moments: Sequence[Moment]
    growth: Mapping[str, int] = field(default_factory=dict)
    window_s: float = 0.0
    own_cpu_s: float | None = None
    steps: int = 1

    @property
    def first(self) -> Moment:
        """The reading before the first step."""
        return self.moments[0]

    @property
    def last(self) -> Moment:
        """The reading after the last step."""
        return self.moments[-1]

    def seconds(self, *kinds: str) -> float:
        """Return the CPU time of the given kinds, in seconds, summed over all CPUs."""
        return sum(self.growth.get(f"ticks_{kind}", 0) for kind in kinds) / TICKS_A_SECOND

    def counted(self, *kinds: str) -> bool:
        """Return whether the given kinds of CPU time were all counted both before and after the steps. A counter that
        has decreased is treated as missing; iowait may decrease (proc_stat(5))."""
        return all(f"ticks_{kind}" in self.growth for kind in kinds)

    def steal(self) -> float | None:
        """Return the ratio of stolen CPU time to the demand for CPU time, or None if the demand is too small or
        unknown."""
        kinds = ("user", "nice", "system", "irq", "softirq")
        stolen = self.seconds("steal")
        demand = stolen + self.seconds(*kinds)
        if not self.counted("steal", *kinds):
            return None
        return stolen / demand if demand * TICKS_A_SECOND >= GRAIN_TICKS else None

    def others_cpus(self) -> float | None:
        """Return the average number of CPUs used by programs that do not belong to the measurement, or None if it is
        unknown."""
        if self.own_cpu_s is None or self.window_s <= 0 or not self.counted("user", "nice", "system"):
            return None
        return max(0.0, self.seconds("user", "nice", "system") - self.own_cpu_s) / self.window_s


def cpus_of(moment: Moment) -> int | None:
    """Return the number of online CPUs, or None if it is unknown."""
    try:
        return len(parse_cpulist(moment.online or "")) or None
    except ValueError:
        return None


def verdict(evidence: NoiseEvidence) -> HostVerdict:
    """Return the host state and all reasons for it, worst reason first."""
    reasons = [reason for rule in _RULES for reason in rule(evidence)]
    reasons.sort(key=lambda reason: reason.state != "invalid")
    return HostVerdict(state=reasons[0].state if reasons else "stable", reasons=reasons)


Reasons = Iterator[Reason]


def _reason(what: str, state: Literal["noisy", "invalid"], value: float, limit: float, unit: str, means: str) -> Reason:
    return Reason(what=what, state=state, seen=round(value, 6), limit=round(limit, 6), unit=unit, means=means)


def _percent(what: str, state: Literal["noisy", "invalid"], value: float, limit: float, means: str) -> Reason:
    return _reason(what, state, 100 * value, 100 * limit, "%", means)


def _steal(found: NoiseEvidence) -> Reasons:
    share = found.steal()
    if share is not None and share > STEAL_LIMIT and found.growth.get("ticks_steal", 0) >= GRAIN_TICKS:
        means = "the hypervisor ran other guests while the CPUs were needed: times are longer, and rates are lower"
        yield _percent("steal", "noisy", share, STEAL_LIMIT, means)


def _others(found: NoiseEvidence) -> Reasons:
    had, cpus = found.others_cpus(), cpus_of(found.first)
    if had is None or cpus is None:
        return
    ticks = found.window_s * TICKS_A_SECOND
    had -= STEP_TICKS * found.steps / ticks
    limit = min(OTHERS_LIMIT * cpus, OTHERS_MOST_CPUS)
    if had * ticks < OTHERS_TICKS:
        return
    if had > limit:
        means = "other programs used CPUs, caches and memory bandwidth"
        yield _reason("others", "noisy", had, limit, "CPUs", means)


def _memory(found: NoiseEvidence) -> Reasons:
    waited_s = found.growth.get("pressure_memory_us", 0) / 1e6
    if found.window_s > 0 and waited_s > max(MEMORY_LIMIT * found.window_s, GRAIN_TICKS / TICKS_A_SECOND):
        means = "tasks had to wait for memory: the Linux kernel reclaimed or swapped pages"
        yield _percent("memory-pressure", "noisy", waited_s / found.window_s, MEMORY_LIMIT, means)


def _swap(found: NoiseEvidence) -> Reasons:
    pages = found.growth.get("swapped_in_pages", 0) + found.growth.get("swapped_out_pages", 0)
    if pages > SWAP_PAGES:
        means = "pages were swapped: memory accesses may have waited for a drive, and drives served other requests"
        yield _reason("swap", "noisy", pages, SWAP_PAGES, "pages", means)


def _quota(found: NoiseEvidence) -> Reasons:
    times, held_s = found.growth.get("quota_throttled", 0), found.growth.get("quota_us", 0) / 1e6
    share = held_s / found.window_s if found.window_s > 0 else 0.0
    if share > QUOTA_LIMIT:
        means = "the CPU quota of a control group (cpu.max) throttled the programs: the results reflect the quota"
        yield _percent("quota", "invalid", share, QUOTA_LIMIT, means)
    elif times > 0:
        means = "the CPU quota of a control group (cpu.max) throttled the programs in isolated periods"
        yield _reason("quota", "noisy", times, 0, "times", means)


def _heat(found: NoiseEvidence) -> Reasons:
    times = found.growth.get("heat_throttles", 0)
    if times > 0:
        means = "CPUs were throttled because of heat (thermal_throttle): they ran at a lower frequency"
        yield _reason("heat", "invalid", times, 0, "times", means)
    slowed = {name: state for moment in found.moments for name, state in moment.cooling.items() if state > 0}
    if slowed:
        means = f"CPUs were throttled because of heat ({', '.join(slowed)})"
        yield _reason("cooling", "invalid", max(slowed.values()), 0, "steps", means)


def _temperature(found: NoiseEvidence) -> Reasons:
    """Yield a reason if a sensor is too close to its critical temperature, naming only the closest one."""
    near = [
        (critical - celsius, name, celsius, critical)
        for moment in found.moments
        for name, celsius in moment.celsius.items()
        if (critical := moment.critical_celsius.get(name)) is not None
    ]
    left, name, celsius, critical = min(near, default=(NEAR_CRITICAL_C + 1, "", 0.0, 0.0))
    if left <= NEAR_CRITICAL_C:
        means = f"{name} is close to its critical temperature of {critical:g} °C: it may have been throttled"
        yield _reason("temperature", "noisy", celsius, critical - NEAR_CRITICAL_C, "degC", means)


def _clock(found: NoiseEvidence) -> Reasons:
    first, last = found.first, found.last
    fixed = first.governor == last.governor and set(first.governor.values()) <= FIXED_GOVERNORS
    if first.governor and fixed and first.clock_hz and last.clock_hz:
        before, after = max(first.clock_hz.values()), max(last.clock_hz.values())
        if after < before * (1 - CLOCK_LIMIT):
            means = "the CPU frequency was lower after the measurement than before, because of heat or a power limit"
            yield _percent("clock", "noisy", 1 - after / before, CLOCK_LIMIT, means)
    lowered = [
        1 - last.clock_limit_hz[name] / limit
        for name, limit in first.clock_limit_hz.items()
        if last.clock_limit_hz.get(name, limit) < limit
    ]
    if lowered:
        means = "the maximum CPU frequency (scaling_max_freq) was lowered during the measurement"
        yield _percent("clock-limit", "noisy", max(lowered), 0.0, means)
    if first.governor and last.governor and first.governor != last.governor:
        means = "the CPU frequency governor was changed during the measurement"
        yield _reason("governor", "noisy", 1, 0, "changes", means)


def _machine(found: NoiseEvidence) -> Reasons:
    first, last = found.first, found.last
    if first.online and last.online and first.online != last.online:
        means = f"CPUs went online or offline during the measurement: {first.online} became {last.online}"
        yield _reason("online", "invalid", 1, 0, "changes", means)
    if first.clock_source and last.clock_source and first.clock_source != last.clock_source:
        means = f"the Linux kernel switched its clock source from {first.clock_source} to {last.clock_source}"
        yield _reason("clock-source", "invalid", 1, 0, "changes", means)


def _drives(found: NoiseEvidence) -> Reasons:
    firsts: dict[str, DriveHealth] = {}
    lasts: dict[str, DriveHealth] = {}
    for moment in found.moments:
        for name, health in moment.drives.items():
            firsts.setdefault(name, health)
            lasts[name] = health
    for name, last in lasts.items():
        yield from _drive(name, firsts[name], last)


def _drive(name: str, first: DriveHealth, last: DriveHealth) -> Reasons:
    if last.critical_warning:
        means = f"{name} reports a critical warning (byte 0 of its health log)"
        yield _reason("drive-warning", "invalid", last.critical_warning, 0, "", means)
    heat = last.heat - first.heat
    if heat > 0:
        means = f"{name} was too warm or was throttled, according to the temperature counters in its health log"
        yield _reason("drive-heat", "invalid", heat, 0, "counts", means)
    if last.media_errors > first.media_errors:
        means = f"{name} lost data, according to the media errors in its health log"
        yield _reason("drive-errors", "invalid", last.media_errors - first.media_errors, 0, "errors", means)


_RULES: Final[Sequence[Callable[[NoiseEvidence], Reasons]]] = (
    _steal, _others, _memory, _swap, _quota, _heat, _temperature, _clock, _machine, _drives,
)  # fmt: skip
