"""Activity on a host between two readings one second apart: busy CPUs, steal time, interrupts, throttling.

All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from asct.resources import text

SCRIPT: Final = text(__file__, "sample.sh")
"""Script for `sh -s` that takes both readings."""

_CPU: Final = re.compile(r"cpu(\d{1,6})((?: \d{1,19}){7,})", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_THROTTLE: Final = re.compile(r"/sys/devices/system/cpu/cpu\d{1,6}/thermal_throttle/(core|package)_throttle_count")
_PROCESS: Final = re.compile(r"process:(\d{1,9}) (\d{1,18}) (\d{1,18}) (.{1,64})", re.ASCII | re.DOTALL)
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_TICKS_PER_SECOND: Final = 100
"""USER_HZ. On all architectures that asct supports, times in /proc are in units of 1/USER_HZ seconds (time(7),
asm-generic/param.h)."""
_K = TypeVar("_K", int, str)


@dataclass(frozen=True, slots=True)
class BusyProcess:
    """A process and the share of one CPU that it used. The share of a process with several threads may exceed 1."""

    pid: int
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class ActivitySample:
    """The activity on a host between two readings.

    `busy` and `steal` are the shares (0 to 1) of each CPU's time that processes and other guests used, respectively.
    `interrupts` is the number of device interrupts per second on each CPU, `running` is the number of runnable tasks
    other than the one that takes the readings, and `pressure` is the share of time during which at least one task
    waited for `cpu`, `memory` or `io`. `throttled` is the number of thermal throttling events, or None if the Linux
    kernel does not count them. `processes` lists the processes that used CPU time, busiest first, except those that the
    account may not see.
    """

    busy: Mapping[int, float] = field(default_factory=dict)
    steal: Mapping[int, float] = field(default_factory=dict)
    interrupts: Mapping[int, float] = field(default_factory=dict)
    running: int | None = None
    pressure: Mapping[str, float] = field(default_factory=dict)
    throttled: int | None = None
    processes: tuple[BusyProcess, ...] = ()

    @property
    def steal_share(self) -> float | None:
        """The share of all CPUs' time that other guests used (steal time), or None if it is unknown."""
        return sum(self.steal.values()) / len(self.steal) if self.steal else None


@dataclass(slots=True)
class _Counters:
    uptime: float | None = None
    ticks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    interrupts: dict[int, int] = field(default_factory=dict)
    waited_us: dict[str, int] = field(default_factory=dict)
    running: int | None = None
    throttles: int | None = None
    processes: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)
    """The name of each process and its CPU time, in ticks, keyed by PID and start time."""


def sample_of(output: str) -> ActivitySample | None:
    """Parse the output of SCRIPT, skipping unknown lines; return None unless it contains two readings."""
    _, first, second = (*re.split(r"^look [12]$", output, flags=re.MULTILINE), "", "")[:3]
    if not first.strip() or not second.strip():
        return None
    before, after = _counters(first), _counters(second)
    elapsed = (after.uptime or 0.0) - (before.uptime or 0.0)
    shares = {cpu: _shares(before.ticks[cpu], ticks) for cpu, ticks in after.ticks.items() if cpu in before.ticks}
    known = {cpu: pair for cpu, pair in shares.items() if pair is not None}
    both = before.throttles is not None and after.throttles is not None
    return ActivitySample(
        busy={cpu: busy for cpu, (busy, _) in known.items()},
        steal={cpu: steal for cpu, (_, steal) in known.items()},
        interrupts=_rates(before.interrupts, after.interrupts, elapsed),
        running=after.running,
        pressure={name: share / 1e6 for name, share in _rates(before.waited_us, after.waited_us, elapsed).items()},
        throttled=max(0, (after.throttles or 0) - (before.throttles or 0)) if both else None,
        processes=_busiest(before.processes, after.processes, elapsed),
    )


def _busiest(
    before: Mapping[tuple[int, int], tuple[int, str]], after: Mapping[tuple[int, int], tuple[int, str]], elapsed: float
) -> tuple[BusyProcess, ...]:
    """Return the processes that used CPU time between the readings. A process that started between the readings is
    missing from `before`, so all of its CPU time counts."""
    if elapsed <= 0:
        return ()
    grown = (
        BusyProcess(key[0], name, (ticks - before.get(key, (0, ""))[0]) / _TICKS_PER_SECOND / elapsed)
        for key, (ticks, name) in after.items()
    )
    return tuple(sorted((one for one in grown if one.share > 0), key=lambda one: (-one.share, one.pid)))


def _rates(before: Mapping[_K, int], after: Mapping[_K, int], elapsed: float) -> dict[_K, float]:
    if elapsed <= 0:
        return {}
    return {key: max(0, after[key] - before[key]) / elapsed for key in after if key in before}


def _shares(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[float, float] | None:
    """Return the busy share and the stolen share of a CPU's time between two readings, or None if the counters did not
    change.

    Only the first eight fields are summed, because user time already includes guest time (proc_stat(5)).
    """
    grown = [max(0, late - early) for early, late in zip(before[:8], after[:8], strict=False)]
    total = sum(grown)
    if total == 0:  # the CPU slept, and its timer tick was off
        return None
    steal = grown[_STEAL] if len(grown) > _STEAL else 0
    return (total - grown[_IDLE] - grown[_IOWAIT] - steal) / total, steal / total


def _counters(output: str) -> _Counters:
    found = _Counters()
    for line in output.splitlines():
        path, _, rest = line.partition(":")
        if path == "uptime":
            found.uptime = float(rest) if _NUMBER.fullmatch(rest) else None
        elif path == "interrupts" and (match := re.fullmatch(r"CPU(\d{1,6}) (\d{1,18})", rest, re.ASCII)):
            found.interrupts[int(match[1])] = int(match[2])
        elif path == "/proc/stat":
            if row := _CPU.fullmatch(rest.strip()):
                found.ticks[int(row[1])] = tuple(map(int, row[2].split()))
            elif match := re.fullmatch(r"procs_running (\d{1,9})", rest, re.ASCII):
                found.running = max(0, int(match[1]) - 1)
        elif path.startswith("/proc/pressure/") and (match := re.match(r"some .*total=(\d{1,18})$", rest, re.ASCII)):
            found.waited_us[path.rpartition("/")[2]] = int(match[1])
        elif _THROTTLE.fullmatch(path) and re.fullmatch(r"\d{1,18}", rest, re.ASCII):
            found.throttles = (found.throttles or 0) + int(rest)
        elif match := _PROCESS.fullmatch(line):
            found.processes[int(match[1]), int(match[2])] = int(match[3]), match[4]
    return found
