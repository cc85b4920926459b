"""What the runner of a session tells, line by line: from its connection while that lives, else from its journal."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from asct.hosts import script

MOST_TASKS = 300_000
"""More than a session has: what a host says of further ones is passed over."""
GRAIN_S = 0.02
"""The clock of the host that a shell can read without starting a program counts hundredths of a second."""


@dataclass(slots=True)
class TaskStatus:
    """How far a task is. `status` is the shell's own; `over` when nothing more will be told of it."""

    started_s: float | None = None
    ended_s: float | None = None
    heard_start: float = 0.0
    heard_end: float = 0.0
    status: int | None = None
    told: bool = False
    late: bool = False
    died: bool = False
    refused: str = ""
    reminded: bool = False
    """The runner had nothing to do before this task began, and was told of it once more."""
    report: script.RunnerReport | None = None

    @property
    def over(self) -> bool:
        """Reported, refused, or killed with its group."""
        return self.report is not None or self.died or bool(self.refused)

    @property
    def elapsed_ns(self) -> int:
        """By the clock here if both ends were heard as they happened, else by that of the host (10 ms)."""
        if self.started_s is None:
            return 0
        theirs = (self.ended_s if self.ended_s is not None else self.started_s) - self.started_s
        ours = self.heard_end - self.heard_start
        return int(1e9 * (ours if abs(ours - theirs) <= GRAIN_S else max(theirs, 0.0)))


@dataclass(slots=True)
class RunnerJournal:
    """All tasks of a session by key, and what the runner said of itself."""

    tasks: dict[str, TaskStatus] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """The rest of the last line of each other kind: work, cache, serving, joined, stopped, pong, locked, failed, ..."""
    counts: dict[str, int] = field(default_factory=dict)
    """How often each of these was told."""
    running: str = ""
    """The task that began last."""
    offset: int = 0
    """Bytes taken in."""
    _rest: bytes = b""

    def take(self, data: bytes) -> None:
        """The next bytes. Lines that are not the runner's, or not whole sentences of it, are passed over."""
        self.offset += len(data)
        now = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > script.LONGEST_LINE:
            self._rest = b""
        for word, rest in script.answers(line.decode("utf-8", "surrogateescape") for line in lines):
            self._heed(word, rest, now)

    def course(self, key: str) -> TaskStatus:
        """Of a task, made when nothing is known of it."""
        return self.tasks.setdefault(key, TaskStatus())

    def forget(self, key: str) -> None:
        """A task that is handed over again."""
        self.tasks.pop(key, None)

    def _heed(self, word: str, rest: str, now: float) -> None:
        of_a_task = _EVENTS.get(word)
        key, _, detail = rest.partition(" ")
        if of_a_task is None or (word == "failed" and key not in self.tasks):
            if word in _ANSWERS and (word != "serving" or _COUNT.fullmatch(rest)):
                self.answers[word] = rest
                self.counts[word] = self.counts.get(word, 0) + 1
            return
        if key not in self.tasks and len(self.tasks) >= MOST_TASKS:
            return
        try:
            of_a_task(self.course(key), detail, now)
        except (ValueError, IndexError):
            return  # torn by a full disk: what is missing shows at the end of the task
        if word == "started":
            self.running = key


def _seconds(text: str) -> float:
    """A time of the host, since its start. Raises ValueError for what no clock shows."""
    seconds = float(text)
    if not 0 <= seconds < _LONGEST_S:
        raise ValueError(text)
    return seconds


def _started(course: TaskStatus, detail: str, now: float) -> None:
    """Also of one that is done again, because the runner was killed while it ran."""
    course.started_s, course.heard_start = _seconds(detail), now
    course.ended_s = course.status = course.report = None
    course.late = course.died = False


def _ended(course: TaskStatus, detail: str, now: float) -> None:
    up, status, told = detail.split(" ")
    seconds, number = _seconds(up), script.status_of(status)
    course.ended_s, course.heard_end = seconds, now
    course.status, course.told = number, told == "1"


def _late(course: TaskStatus, _detail: str, _now: float) -> None:
    course.late = course.status is None  # else it ended by itself, and was still being read about


def _done(course: TaskStatus, detail: str, _now: float) -> None:
    course.report = script.read_report(detail)


def _died(course: TaskStatus, _detail: str, now: float) -> None:
    course.died, course.heard_end = True, now


def _failed(course: TaskStatus, detail: str, _now: float) -> None:
    course.refused = detail or "no reason was given"


_LONGEST_S = 1e10
_COUNT = re.compile("[0-9]{1,9}")
_ANSWERS = frozenset(
    {
        "work",
        "cache",
        "shell",
        "adopted",
        "ready",
        "serving",
        "joined",
        "locked",
        "failed",
        "stopped",
        "pong",
        "left",
        "count",
        "muted",
    }
)
_EVENTS: dict[str, Callable[[TaskStatus, str, float], None]] = {
    "started": _started,
    "ended": _ended,
    "late": _late,
    "done": _done,
    "died": _died,
    "failed": _failed,
}
