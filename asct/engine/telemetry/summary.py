"""Summarize the readings before and after the steps of a repeat for its status.json. This module performs no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from asct.engine.telemetry.readings import CounterReading, counter_growth, parse_reading
from asct.engine.telemetry.verdict import TICKS_A_SECOND, NoiseEvidence, cpus_of, verdict
from asct.hosts.readings import SHORT_TASK_S
from asct.instruments.guard_output import GuardTarget, device_of, lines_of
from asct.instruments.nvme import health_of
from asct.sdk.needs import GUARD
from asct.sdk.step import HostReadings, Kernel, Output
from asct.store.model import HostVerdict, Moment, Telemetry

_BRIEF: Final = f"every step was shorter than {SHORT_TASK_S * 1000:g} ms, too short for the host's CPU counters"
_NOT_READ: Final = (
    "not read: the host does not provide its state, the host's clock was set back, or the program and its shell were "
    "killed"
)
_LATE_S: Final = 1.0
"""Number of seconds by which a CPU's counted time may exceed the time between two readings. This tolerance is needed
because some Linux kernels count a CPU's idle time only after the CPU wakes up."""
_ODD: Final = "the host's CPU counters decreased, or increased more than is possible"


MeasuredStep = tuple[Output, HostReadings]
"""A finished step, and the readings before and after it."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The readings before and after a step."""

    before: CounterReading
    after: CounterReading
    cpu_ns: int | None

    @property
    def window_s(self) -> float | None:
        """The time between the readings, in seconds, according to the host's clock (resolution 10 ms), or None if it is
        unknown.

        The value is negative only if a virtual machine was restored between the readings.
        """
        first, last = self.before.moment.uptime_s, self.after.moment.uptime_s
        return last - first if first is not None and last is not None else None

    def growth(self) -> dict[str, int]:
        """Return the increase of the counters. If they grew by more ticks than all CPUs have in that time, they are
        invalid and omitted."""
        found = counter_growth(self.before, self.after)
        cpus = max(cpus_of(self.before.moment) or 0, cpus_of(self.after.moment) or 0)
        if self.window_s is None or not cpus:
            return found
        most = (self.window_s + _LATE_S) * cpus * TICKS_A_SECOND
        return {name: value for name, value in found.items() if not name.startswith("ticks_") or value <= most}


def summarize(steps: Sequence[MeasuredStep]) -> Telemetry:
    """Return the telemetry for a repeat. The host state is `unknown` if some readings are missing and the others show a
    quiet host."""
    read = [_pair(*step) for step in steps if step[1].before and step[1].after]
    pairs = [pair for pair in read if pair.window_s is None or pair.window_s >= 0]
    windows = [pair.window_s for pair in pairs if pair.window_s is not None]
    growth: dict[str, int] = {}
    for pair in pairs:
        for name, value in pair.growth().items():
            growth[name] = growth.get(name, 0) + value
    moments = [reading.moment for pair in pairs for reading in (pair.before, pair.after)]
    own = sum(pair.cpu_ns or 0 for pair in pairs) / 1e9 if pairs and all(p.cpu_ns is not None for p in pairs) else None
    window_s = sum(windows) if len(windows) == len(pairs) else 0.0
    evidence = NoiseEvidence(moments or [Moment(), Moment()], growth, window_s, own, len(pairs))
    complete = bool(pairs) and len(pairs) == sum(not readings.brief for _, readings in steps)
    judged = verdict(evidence)
    if not complete and judged.state == "stable":
        judged = HostVerdict(state="unknown")
    others = evidence.others_cpus()
    return Telemetry(
        verdict=judged,
        steps=len(steps),
        elapsed_s=round(sum(output.elapsed_ns for output, _ in steps) / 1e9, 6),
        before=evidence.first,
        after=evidence.last,
        growth=growth,
        shares=_shares(evidence),
        own_cpu_s=None if own is None else round(own, 3),
        others_cpus=None if others is None else round(others, 3),
        unknown=_unknown(steps, len(pairs), evidence),
    )


def _pair(output: Output, readings: HostReadings) -> _Pair:
    before, after = parse_reading(readings.before), parse_reading(readings.after)
    for device, when in _devices(output):
        health = health_of(device)
        if health is not None:
            moment = before.moment if when == "before" else after.moment
            moment.drives.update(dict.fromkeys(_drives(device)[:1], health))
    return _Pair(before, after, readings.cpu_ns)


def _devices(output: Output) -> Iterable[tuple[GuardTarget, str]]:
    """Yield each target that guard reported, and whether guard reported it before or after the program ran."""
    for line in lines_of(output.stdout, "device") if output.step.program == Kernel(GUARD) else ():
        with suppress(KeyError, TypeError):
            yield device_of(line), str(line["when"])


def _drives(device: GuardTarget) -> list[str]:
    found = device.fields.get("drives")
    return [str(name) for name in found] if isinstance(found, list) else []


def _shares(found: NoiseEvidence) -> dict[str, float]:
    """Return the shares (0 to 1), omitting those that cannot be determined."""
    shares: dict[str, float | None] = {"steal": found.steal()}
    total = sum(value for name, value in found.growth.items() if name.startswith("ticks_"))
    if total > 0:
        parts = {"user": ("user", "nice"), "system": ("system",), "irq": ("irq", "softirq")}
        parts |= {"idle": ("idle",), "iowait": ("iowait",)}
        shares |= {name: found.seconds(*kinds) * 100 / total for name, kinds in parts.items() if found.counted(*kinds)}
    if found.window_s > 0:
        names = {"quota": "quota_us", **{f"pressure_{kind}": f"pressure_{kind}_us" for kind in ("cpu", "memory", "io")}}
        shares |= {
            name: found.growth[counter] / 1e6 / found.window_s
            for name, counter in names.items()
            if counter in found.growth
        }
    return {name: round(value, 6) for name, value in shares.items() if value is not None}


def _unknown(steps: Sequence[MeasuredStep], read: int, found: NoiseEvidence) -> dict[str, str]:
    """Return the reasons why values are unknown, keyed by value name."""
    if not read:
        why = _BRIEF if steps and all(readings.brief for _, readings in steps) else _NOT_READ
        return {"before": why, "after": why}
    first, growth = found.first, found.growth
    every = found.counted("user", "nice", "system", "irq", "softirq", "steal")
    short = "the steps were too short, or used too little CPU time, for a resolution of 10 ms" if every else _ODD
    drives = any(moment.drives for moment in found.moments)
    late = f"{len(steps) - read} of {len(steps)} steps were too short, or lack a reading before or after them"
    values = {
        "steal": (found.steal() is not None, short),
        "steps": (read == len(steps), late),
        "clock_hz": (first.clock_hz, "the Linux kernel has no cpufreq for these CPUs, as in most virtual machines"),
        "celsius": (first.celsius, "no CPU or drive sensor is readable (thermal zones, hwmon)"),
        "heat_throttles": ("heat_throttles" in growth, "not counted by the Linux kernel (thermal_throttle, x86 only)"),
        "quota": ("quota_throttled" in growth, "no control group with the CPU controller is visible"),
        "pressure": ("pressure_cpu_us" in growth, "the Linux kernel has no pressure stall information (psi=1)"),
        "own_cpu_s": (found.own_cpu_s is not None, "the host does not report the CPU time of programs"),
        "others_cpus": (found.others_cpus() is not None, short),
        "drives": (drives, "" if drives else _no_health(steps)),
    }  # fmt: skip
    return {name: why for name, (known, why) in values.items() if not known}


def _no_health(steps: Sequence[MeasuredStep]) -> str:
    """Return the reason why no drive's health log could be read."""
    names = {name for output, _ in steps for device, _ in _devices(output) for name in _drives(device)}
    if any(name.startswith("nvme") for name in names):
        return "only root may read an NVMe drive's health log; `sudo: true` allows guard to read it"
    return "none of the drives is an NVMe drive" if names else "guard was not used to measure any drive"
