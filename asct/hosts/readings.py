"""The host readings before and after the tasks of a session, from the log that its runner writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asct.hosts.base import HostReadings

LOG = ".readings"
"""File of the work folder (runner.sh): lines `= KEY WORD`, each followed by the text read at that time."""
SHORT_TASK_S = 0.05
"""Seconds: a reading this recent serves the next task as well, and nothing is read after a task this short. CPU time is
counted in steps of 10 ms, and a reading starts a program (runner_task.sh)."""
MOST_BYTES = 64 << 10
"""Limit of one reading; selected lines are short, and so is the list of files."""
_MOST_TASKS = 300_000
_HEAD = re.compile(r"= (\S{1,200}) (before|again|after|over)")
_TIMES = re.compile(r"(\d{1,9})m(\d{1,2}(?:\.\d+)?)s (\d{1,9})m(\d{1,2}(?:\.\d+)?)s")


@dataclass(slots=True)
class ReadingLog:
    """The log of a session, read piece by piece. Damaged parts (disk full) are ignored."""

    offset: int = 0
    """Bytes processed."""
    _found: dict[str, HostReadings] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)
    _rest: bytes = b""
    _key: str = ""
    _word: str = ""
    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _last: str = ""

    def take(self, data: bytes) -> None:
        """Process the next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST_BYTES:
            self._rest = b""
        for line in lines:
            self._process(line.decode("utf-8", "replace"))

    def has(self, key: str) -> bool:
        """Whether the log of a task is complete."""
        return key in self._whole

    def of(self, key: str) -> HostReadings:
        """The readings of a task that has ended; discards them."""
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
        """End a reading and begin the next one."""
        text = "\n".join(line for line in self._lines if line.startswith("/"))
        if self._word == "before":
            self._last = text
            self._put(self._key, HostReadings(before=text))
        if word == "again":
            self._put(key, HostReadings(before=self._last))
        if word == "over" and self._key == key:
            self._end(text)
        self._key, self._word, self._lines, self._size = key, word, [], 0

    def _end(self, text: str) -> None:
        """End the task of the last reading."""
        found = self._found.get(self._key, HostReadings())
        if self._word == "after":
            self._last = text
            found = replace(found, after=text, cpu_ns=_cpu_ns(self._lines))
        else:
            found = replace(found, brief=True)
        self._put(self._key, found)
        self._whole.add(self._key)

    def _put(self, key: str, around: HostReadings) -> None:
        if key in self._found or len(self._found) < _MOST_TASKS:
            self._found[key] = around


def is_short(started_s: float | None, ended_s: float | None) -> bool:
    """Whether a process was too short for a reading after it, by the host's clock (hundredths of a second)."""
    if started_s is None or ended_s is None:
        return False
    return round(100 * (ended_s - started_s)) < round(100 * SHORT_TASK_S)


def _cpu_ns(lines: Sequence[str]) -> int | None:
    """CPU time from the output of `times` (POSIX, 2.15): the shell's in line 1, that of its children in line 2."""
    matches = [found for line in lines[:2] if (found := _TIMES.fullmatch(line))]
    if len(matches) != 2:
        return None
    minutes, seconds = int(matches[1][1]) + int(matches[1][3]), float(matches[1][2]) + float(matches[1][4])
    return round((60 * minutes + seconds) * 1e9)
