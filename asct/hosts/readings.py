"""What is read around the tasks of a session: from the log that its runner keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asct.hosts.base import HostReadings

LOG = ".readings"
"""In the folder of a session (runner.sh): lines `= KEY WORD`, each with what was read then behind it."""
SHORT_TASK_S = 0.05
"""What was read so short a time ago counts for the next task as well, and after a task so brief nothing is read: the
clocks of a host that count CPU time are hardly finer (10 ms), and reading costs a program (runner_task.sh)."""
MOST_BYTES = 64 << 10
"""Of one reading. A line that is kept is short, and so is the list of files."""
_MOST_TASKS = 300_000
_HEAD = re.compile(r"= (\S{1,200}) (before|again|after|over)")
_TIMES = re.compile(r"(\d{1,9})m(\d{1,2}(?:\.\d+)?)s (\d{1,9})m(\d{1,2}(?:\.\d+)?)s")


@dataclass(slots=True)
class ReadingLog:
    """The log of a session, taken in piece by piece. What is torn, because a disk was full, is passed over."""

    offset: int = 0
    """Bytes taken in."""
    _found: dict[str, HostReadings] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)
    _rest: bytes = b""
    _key: str = ""
    _word: str = ""
    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _last: str = ""

    def take(self, data: bytes) -> None:
        """The next bytes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST_BYTES:
            self._rest = b""
        for line in lines:
            self._heed(line.decode("utf-8", "replace"))

    def has(self, key: str) -> bool:
        """Whether all is known of a task."""
        return key in self._whole

    def of(self, key: str) -> HostReadings:
        """What is known of a task of which no more will come; it is not asked for again."""
        self._whole.discard(key)
        return self._found.pop(key, HostReadings())

    def _heed(self, line: str) -> None:
        head = _HEAD.fullmatch(line)
        if head is not None:
            self._turn(head[1], head[2])
        elif self._size < MOST_BYTES:
            self._lines.append(line)
            self._size += len(line) + 1

    def _turn(self, key: str, word: str) -> None:
        """A reading ends and the next one begins."""
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
        """The task that was read about last is over."""
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
    """Whether a process was too brief to be read after, by the clock of its host, of hundredths of a second."""
    if started_s is None or ended_s is None:
        return False
    return round(100 * (ended_s - started_s)) < round(100 * SHORT_TASK_S)


def _cpu_ns(lines: Sequence[str]) -> int | None:
    """From the words of `times` (POSIX, 2.15): the shell's own in the first line, its children's in the second."""
    told = [found for line in lines[:2] if (found := _TIMES.fullmatch(line))]
    if len(told) != 2:
        return None
    minutes, seconds = int(told[1][1]) + int(told[1][3]), float(told[1][2]) + float(told[1][4])
    return round((60 * minutes + seconds) * 1e9)
