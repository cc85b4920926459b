"""The readings before and after the tasks of a session, parsed from the log that the session's runner writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asct.sdk.step import HostReadings

LOG = ".readings"
"""Name of the log in the work folder (see runner.sh). The log consists of lines `= KEY WORD`, each followed by the text
read at that time."""
SHORT_TASK_S = 0.02
"""If a task takes less than this number of seconds, no reading follows it, because a reading starts a program that
takes about as long (runner_task.sh)."""
MOST_BYTES = 64 << 10
"""The maximum size of one reading, in bytes. This is enough because the selected lines and the list of files are
short."""
_TICK_S = 0.01
_MOST_TASKS = 300_000
_HEAD = re.compile(r"= (\S{1,200}) (before|again|used|after|over)")
_TIMES = re.compile(r"(\d{1,9})m(\d{1,2}(?:\.\d+)?)s (\d{1,9})m(\d{1,2}(?:\.\d+)?)s")


@dataclass(slots=True)
class ReadingLog:
    """A session's log, read piece by piece. Parts damaged by a full disk are ignored."""

    offset: int = 0
    """Number of bytes processed so far."""
    _found: dict[str, HostReadings] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)
    _rest: bytes = b""
    _key: str = ""
    _word: str = ""
    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _last: str = ""
    _cpu_ns: int | None = None
    """CPU time that the current task, and short tasks before it, have used since the previous reading."""
    _brief_ns: int | None = 0

    def take(self, data: bytes) -> None:
        """Process the next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST_BYTES:
            self._rest = b""
        for line in lines:
            self._process(line.decode("utf-8", "replace"))

    def has(self, key: str) -> bool:
        """Return whether the log contains all readings for a task."""
        return key in self._whole

    def of(self, key: str) -> HostReadings:
        """Return the readings for a task that has ended, and discard them."""
        self._whole.discard(key)
        return self._found.pop(key, HostReadings())

    def _process(self, line: str) -> None:
        head = _HEAD.fullmatch(line)
        if head is not None:
            self._begin_reading(head[1], head[2])
        elif self._size < MOST_BYTES:
            self._lines.append(line)
            self._size += len(line) + 1

    def _begin_reading(self, key: str, word: str) -> None:
        """End the current reading and begin the next one."""
        text = "\n".join(line for line in self._lines if line.startswith("/"))
        if self._word == "before":
            self._last, self._brief_ns = text, 0
            self._put(self._key, HostReadings(before=text))
        if self._word == "used":
            used = _cpu_ns(self._lines)
            self._cpu_ns = None if used is None or self._brief_ns is None else used + self._brief_ns
        if word == "again":
            self._put(key, HostReadings(before=self._last))
        if word == "over" and self._key == key:
            self._end(text)
        self._key, self._word, self._lines, self._size = key, word, [], 0

    def _end(self, text: str) -> None:
        """Complete the readings for the task whose log was read last."""
        found = self._found.get(self._key, HostReadings())
        if self._word == "after":
            self._last, self._brief_ns = text, 0
            found = replace(found, after=text, cpu_ns=self._cpu_ns)
        else:
            found, self._brief_ns = replace(found, brief=True), self._cpu_ns
        self._cpu_ns = None
        self._put(self._key, found)
        self._whole.add(self._key)

    def _put(self, key: str, readings: HostReadings) -> None:
        if key in self._found or len(self._found) < _MOST_TASKS:
            self._found[key] = readings


def is_short(started_s: float | None, ended_s: float | None) -> bool:
    """Return whether a process ended too soon to be followed by a reading, according to the host's clock, whose
    resolution is a hundredth of a second."""
    if started_s is None or ended_s is None:
        return False
    return round(100 * (ended_s - started_s)) < round(100 * SHORT_TASK_S)


def _cpu_ns(lines: Sequence[str]) -> int | None:
    """Return the CPU time of the shell and its children, in nanoseconds, or None if `lines` is not the output of
    `times` (POSIX, 2.15).

    Some shells print whole ticks of 10 ms, rounded down. Half a tick is added to each such time above 0, so that sums
    over many short tasks are not biased.
    """
    matches = [found for line in lines[:2] if (found := _TIMES.fullmatch(line))]
    if len(matches) != 2:
        return None
    times = [60.0 * int(match[at]) + float(match[at + 1]) for match in matches for at in (1, 3)]
    in_ticks = all(abs(time - round(time / _TICK_S) * _TICK_S) < 1e-6 for time in times)
    return round(sum(time + (_TICK_S / 2 if in_ticks and time > 0 else 0.0) for time in times) * 1e9)
