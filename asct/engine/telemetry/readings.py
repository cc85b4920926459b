"""The host counters that are read before and after each task, and the parser for their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from asct.facts.unknown import real, whole
from asct.hosts.base import ReadingSpec
from asct.resources import text
from asct.store.model import Moment

_TICKS: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_STAT: Final = {"ctxt": "context_switches", "intr": "interrupts", "softirq": "soft_interrupts"}
_VMSTAT: Final = {
    "pswpin": "swapped_in_pages",
    "pswpout": "swapped_out_pages",
    "numa_pages_migrated": "numa_migrated_pages",
    "thp_split_page": "huge_pages_split",
}
_QUOTA: Final = {
    "nr_throttled": ("quota_throttled", 1),
    "throttled_usec": ("quota_us", 1),
    "throttled_time": ("quota_us", 1000),
}
"""The counter and the divisor for each name in cpu.stat. Control groups count in microseconds in version 2, and in
nanoseconds in version 1."""
_PRESSURE: Final = re.compile(r"some .*\btotal=(\d{1,18})")
_DRIVE: Final = re.compile(r"/(nvme\d+)/")
_ZERO_CELSIUS_TO_MAX: Final = (-60.0, 250.0)
"""Range of valid temperatures in degrees Celsius. Sensors that are not connected report -273, 0xFFFF and similar
values."""


@dataclass(slots=True)
class CounterReading:
    """A reading, and the counters in each file that it includes, keyed by name and file. Only files that were read both
    before and after a task are compared."""

    moment: Moment = field(default_factory=Moment)
    sources: dict[tuple[str, str], int] = field(default_factory=dict)

    def count(self, name: str, path: str, value: int | None, per: int = 1) -> None:
        """Add a counter with its value divided by `per`. Does nothing if the value is None."""
        if value is not None:
            self.sources[name, path] = value // per
            counters = self.moment.counters
            counters[name] = counters.get(name, 0) + value // per


def parse_reading(content: str) -> CounterReading:
    """Parse a reading, which consists of lines `path:text`, ignoring unknown lines."""
    found = CounterReading()
    kinds = dict(_kinds(content))
    for path, line in _lines(content):
        read = _reader(path)
        if read is not None:
            read(found, path, line, kinds)
    return found


def counter_growth(before: CounterReading, after: CounterReading) -> dict[str, int]:
    """Return the increase of each counter, summed over the files that contain the counter.

    A file whose counter decreased is ignored, because it belongs to a new device.
    """
    growth: dict[str, int] = {}
    for key, value in after.sources.items():
        if key in before.sources and value >= before.sources[key]:
            growth[key[0]] = growth.get(key[0], 0) + value - before.sources[key]
    return growth


def _lines(content: str) -> Iterator[tuple[str, str]]:
    for row in content.split("\n"):
        path, _, line = row.rpartition(":")  # the path may contain colons (in a PCI address), but the text cannot
        if path and line.strip():
            yield path, line.strip()


def _kinds(content: str) -> Iterator[tuple[str, str]]:
    """Yield the folder and type of each sensor, thermal zone and cooling device."""
    for path, line in _lines(content):
        folder, _, name = path.rpartition("/")
        if name in ("name", "type"):
            yield folder, line


ReadLine = Callable[[CounterReading, str, str, Mapping[str, str]], None]


def _reader(path: str) -> ReadLine | None:
    exact = _EXACT.get(path)
    return exact or next((read for ending, read in _ENDINGS.items() if path.endswith(ending)), None)


def _value(name: str, parsed: Callable[[str], object]) -> ReadLine:
    """Return a function that parses files with a single instantaneous value."""

    def read(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
        setattr(found.moment, name, parsed(line))

    return read


def _stat(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    name, *numbers = line.split()
    values = [whole(number) for number in numbers]
    if name == "cpu":
        for kind, value in zip(_TICKS, values, strict=False):
            found.count(f"ticks_{kind}", path, value)
    elif values and name in _STAT:
        found.count(_STAT[name], path, values[0])
    elif values and name == "procs_running":
        found.moment.running = values[0]


def _vmstat(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    name, _, number = line.partition(" ")
    if name in _VMSTAT:
        found.count(_VMSTAT[name], path, whole(number))


def _pressure(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    match = _PRESSURE.match(line)
    if match:
        found.count(f"pressure_{path.rpartition('/')[2]}_us", path, int(match[1]))


def _clock(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    _, policy, name = path.rsplit("/", 2)
    khz = whole(line)
    if name == "scaling_governor":
        found.moment.governor[policy] = line
    elif khz:
        values = found.moment.clock_hz if name == "scaling_cur_freq" else found.moment.clock_limit_hz
        values[policy] = khz * 1e3


def _throttles(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    found.count("heat_throttles", path, whole(line))


def _quota(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    name, _, number = line.partition(" ")
    if name in _QUOTA:
        ours, per = _QUOTA[name]
        found.count(ours, path, whole(number), per)


def _temperature(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    folder, _, name = path.rpartition("/")
    milli = whole(line.removeprefix("-"))
    if milli is None or folder not in kinds:
        return
    celsius = (-milli if line.startswith("-") else milli) / 1000
    if _ZERO_CELSIUS_TO_MAX[0] < celsius < _ZERO_CELSIUS_TO_MAX[1]:
        critical = name not in ("temp", "temp1_input")
        values = found.moment.critical_celsius if critical else found.moment.celsius
        values.setdefault(_sensor(folder, kinds[folder]), celsius)


def _sensor(folder: str, kind: str) -> str:
    """Return the name of a sensor, such as `coretemp hwmon3`, `nvme nvme0` or `x86_pkg_temp thermal_zone2`."""
    drive = _DRIVE.search(f"{folder}/")
    return f"{kind} {drive[1] if drive and kind == 'nvme' else PurePosixPath(folder).name}"


def _cooling(found: CounterReading, path: str, line: str, kinds: Mapping[str, str]) -> None:
    folder, state = path.rpartition("/")[0], whole(line)
    if state is not None and folder in kinds:
        found.moment.cooling[f"{kinds[folder]} {PurePosixPath(folder).name}"] = state


_EXACT: Final[Mapping[str, ReadLine]] = {
    "/proc/uptime": _value("uptime_s", lambda line: real(line.split()[0])),
    "/proc/loadavg": _value("load1", lambda line: real(line.split()[0])),
    "/proc/stat": _stat,
    "/proc/vmstat": _vmstat,
    "/proc/pressure/cpu": _pressure,
    "/proc/pressure/memory": _pressure,
    "/proc/pressure/io": _pressure,
    "/sys/devices/system/cpu/online": _value("online", str),
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": _value("clock_source", str),
}
_ENDINGS: Final[Mapping[str, ReadLine]] = {
    "/scaling_cur_freq": _clock,
    "/scaling_max_freq": _clock,
    "/scaling_governor": _clock,
    "_throttle_count": _throttles,
    "/cpu.stat": _quota,
    "/temp": _temperature,
    "/temp1_input": _temperature,
    "/temp1_crit": _temperature,
    "_temp": _temperature,
    "/cur_state": _cooling,
}


_KEEP: Final = (
    r"^(cpu [0-9 ]+"
    r"|(ctxt|intr|softirq|procs_running) [0-9]+"
    r"|(pswpin|pswpout|numa_pages_migrated|thp_split_page) [0-9]+"
    r"|(nr_throttled|throttled_usec|throttled_time) [0-9]+"
    r"|some [a-z0-9=. ]+"
    r"|[0-9]+\.[0-9]+ [0-9./ ]+"
    r"|-?[0-9][0-9,-]*$"
    r"|[A-Za-z][A-Za-z0-9_.-]*$)"
)

READING: Final = ReadingSpec(find=text(__file__, "readings.sh"), keep=_KEEP)
