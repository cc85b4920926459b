"""Events from a runner, one per line. asct receives them over the connection or, after losing the connection, reads
them from the runner's journal."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from asct.hosts import script

MOST_TASKS = 300_000
"""Maximum number of tasks. No real session has this many; events for any further tasks are ignored."""
GRAIN_S = 0.02
"""The resolution of times on the host, in seconds: two ticks (10 ms each) of /proc/uptime, the clock that a shell can
read without starting a program.
"""


@dataclass(slots=True)
class TaskStatus:
    """The progress of a task. `exit_status` is the exit status of its shell; `shell_message` is True if the shell
    printed a message about the exit status."""

    started_s: float | None = None
    ended_s: float | None = None
    heard_start: float = 0.0
    heard_end: float = 0.0
    exit_status: int | None = None
    shell_message: bool = False
    late: bool = False
    died: bool = False
    refused: str = ""
    reminded: bool = False
    """Whether the runner was notified of the task a second time, which happens if the runner is idle although the task
    has not started."""
    report: script.RunnerReport | None = None

    @property
    def over(self) -> bool:
        """Whether the task has ended: its end was reported, or it was rejected, or it was killed together with its
        process group."""
        return self.report is not None or self.died or bool(self.refused)

    @property
    def elapsed_ns(self) -> int:
        """The duration, in nanoseconds, measured with the local clock if both events arrived without delay, otherwise
        with the host's clock (resolution 10 ms)."""
        if self.started_s is None:
            return 0
        theirs = (self.ended_s if self.ended_s is not None else self.started_s) - self.started_s
        ours = self.heard_end - self.heard_start
        return int(1e9 * (ours if abs(ours - theirs) <= GRAIN_S else max(theirs, 0.0)))


@dataclass(slots=True)
class RunnerJournal:
    """The status of each task in a session, keyed by task key, and the latest replies from the runner."""

    tasks: dict[str, TaskStatus] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    """The latest reply of each kind (work, cache, serving, joined, stopped, pong, locked, ...), without the first word,
    which identifies the kind."""
    counts: dict[str, int] = field(default_factory=dict)
    """The number of replies of each kind so far."""
    running: str = ""
    """The key of the most recently started task."""
    offset: int = 0
    """Number of bytes processed so far."""
    _rest: bytes = b""

    def take(self, data: bytes) -> None:
        """Process the next bytes, ignoring lines that are damaged or are not events from the runner."""
        self.offset += len(data)
        now = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > script.LONGEST_LINE:
            self._rest = b""
        for word, rest in script.messages(line.decode("utf-8", "surrogateescape") for line in lines):
            self._process(word, rest, now)

    def status(self, key: str) -> TaskStatus:
        """Return the status of a task. An unknown task is added."""
        return self.tasks.setdefault(key, TaskStatus())

    def forget(self, key: str) -> None:
        """Discard the status of a task that will be submitted again."""
        self.tasks.pop(key, None)

    def _process(self, word: str, rest: str, now: float) -> None:
        key, _, detail = rest.partition(" ")
        if word not in _EVENTS or (word == "failed" and key not in self.tasks):
            if word in _REPLIES and (word != "serving" or _COUNT.fullmatch(rest)):
                self.replies[word] = rest
                self.counts[word] = self.counts.get(word, 0) + 1
            return
        if key not in self.tasks and len(self.tasks) >= MOST_TASKS:
            return
        try:
            _apply(self.status(key), word, detail, now)
        except ValueError:
            return  # a full disk damaged the line; missing events are noticed when the task ends
        if word == "started":
            self.running = key


def _apply(status: TaskStatus, word: str, detail: str, now: float) -> None:
    """Update the status of a task from one event. Raises ValueError if the event is damaged."""
    match word:
        case "started":  # this also occurs if a task is repeated because the runner was killed
            status.started_s, status.heard_start = _seconds(detail), now
            status.ended_s = status.exit_status = status.report = None
            status.late = status.died = False
        case "ended":
            up, code, message = detail.split(" ")
            seconds, number = _seconds(up), script.status_of(code)
            status.ended_s, status.heard_end = seconds, now
            status.exit_status, status.shell_message = number, message == "1"
        case "late":
            status.late = status.exit_status is None  # otherwise, the task ended normally while the host was being read
        case "done":
            status.report = script.read_report(detail)
        case "died":
            status.died, status.heard_end = True, now
        case "failed":
            status.refused = detail or "no reason given"


def _seconds(text: str) -> float:
    """Parse a time on the host, in seconds since boot. Raises ValueError if the time is impossible."""
    seconds = float(text)
    if not 0 <= seconds < _LONGEST_S:
        raise ValueError(text)
    return seconds


_LONGEST_S = 1e10
_COUNT = re.compile("[0-9]{1,9}")
_EVENTS = frozenset({"started", "ended", "late", "done", "died", "failed"})
_REPLIES = frozenset(
    {
        "work", "cache", "shell", "resumed", "ready", "serving", "joined", "locked", "failed", "stopped", "pong",
        "left", "count", "muted", "answered",
    }
)  # fmt: skip
