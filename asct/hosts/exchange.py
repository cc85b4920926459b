"""One task's conversation with runner.sh: start it, watch the clock, stop it when asked, read its report."""

from __future__ import annotations

import math
import time

from asct.errors import HostError, HostLost
from asct.hosts import problems, script
from asct.hosts.base import Task
from asct.hosts.feed import LineFeed
from asct.hosts.link import Channel, Link

STOP_S = 15.0
"""Time from the request to stop until the group must be gone: the runner takes 4 s from SIGINT to SIGKILL."""
SETTLE_S = 5.0
"""Time for the killed group to be gone and the channel to end."""
WATCH_S = 1.0
"""A task that runs longer gets a limit on the host itself, which holds when the connection freezes."""
LOOK_S = 0.5
"""How often the growing standard output is read while somebody listens to its lines."""


class Exchange:
    """The state of one running task. `interrupt` may come from another thread."""

    def __init__(self, name: str, link: Link, task: Task, feed: LineFeed | None) -> None:
        self._name = name
        self._link = link
        self._task = task
        self._feed = feed
        self._channel: Channel | None = None
        self._again: tuple[str, bytes] | None = None
        self._asked_to_stop = False
        self._partial = b""
        self._started_ns: int | None = None
        self._over = False
        self._watched = False
        self.elapsed_ns = 0
        self.status: int | None = None
        self.flags: str | None = None
        self.companions: tuple[int, ...] = ()
        self.notes: list[str] = []

    def begin(self, command: str, line: bytes, ready: Channel | None = None) -> None:
        """Hand the task to a runner: to the `ready` one that waits for a line, else to a new one."""
        self._again = (command, line) if ready is not None else None
        channel = ready or self._link.start(command)
        channel.send(line)
        self._channel = channel
        if self._asked_to_stop:
            channel.send(b"stop\n")

    def interrupt(self) -> None:
        """Ask the runner to end the group; safe at any time."""
        self._asked_to_stop = True
        if self._channel is not None:
            self._channel.send(b"stop\n")

    def attend(self) -> None:
        """Read until the report; after the time limit ask for the end. Raises HostError when the runner fails."""
        limit = time.monotonic() + self._task.timeout_s
        timed_out = stopping = False
        while not self._over:
            data = self._receive(limit, stopping)
            if data is not None:
                self._take(data)
            self._set_watch()
            if not timed_out and self._running() and time.monotonic() >= limit:
                timed_out = True
                self.interrupt()
            if self._asked_to_stop and not stopping:
                stopping = True
                self._link.extend(STOP_S)
        if timed_out:
            self.status = None

    def abandon(self) -> None:
        """Close the channel: the runner sees the end of its input and ends the group."""
        if self._channel is not None:
            self._channel.close()

    def end(self) -> None:
        """Wait for the channel to end: then the whole group is gone."""
        assert self._channel is not None
        if not self._ended_within(SETTLE_S):
            self.notes.append("the host was slow to end the task")
        self._channel.close()

    def _ended_within(self, seconds: float) -> bool:
        assert self._channel is not None
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if not self._channel.receive(seconds):
                    return True
            except TimeoutError:
                return False
        return False

    def _set_watch(self) -> None:
        """Tell the host the limit once the task has run for a while."""
        if self._watched or self._started_ns is None or time.monotonic_ns() - self._started_ns < WATCH_S * 1e9:
            return
        assert self._channel is not None
        self._watched = True
        self._channel.send(f"watch {math.ceil(self._task.timeout_s) + script.HOST_GRACE_S}\n".encode())

    def _running(self) -> bool:
        return self._started_ns is not None and self.status is None

    def _receive(self, limit: float, stopping: bool) -> bytes | None:
        """The next bytes; None after a pause in which nothing came."""
        assert self._channel is not None
        pause = LOOK_S if self._feed or stopping else 5.0 if self._watched else WATCH_S
        left = limit - time.monotonic()
        if not stopping and 0 < left < pause:
            pause = left
        try:
            return self._channel.receive(max(pause, 0.001))
        except TimeoutError:
            if self._feed and self._running():
                task = self._task.main
                self._feed.take(self._link.files.tail(f"{task.cwd}/{task.stdout_file}", self._feed.offset))
            return None

    def _take(self, data: bytes) -> None:
        if not data:
            self._lost()
            return
        now = time.monotonic_ns()
        *lines, self._partial = (self._partial + data).split(b"\n")
        for first, rest in script.answers(line.decode("utf-8", "replace") for line in lines):
            self._heed(first, rest, now)

    def _heed(self, first: str, rest: str, now: int) -> None:
        if first == "started":
            self._started_ns = now
        elif first == "ended":
            status, told = rest.split(" ")
            self.status = script.exit_status(int(status), told == "1")
            self.elapsed_ns = now - (self._started_ns or now)
        elif first == "done":
            report = script.read_report(rest)
            self.flags, self.companions = report.flags, report.companions
            self._over = True
        elif first == "failed":
            raise HostError(self._name, problems.task_refused(self._link.place, rest))

    def _lost(self) -> None:
        """The channel ended without a report: the connection broke, or the runner was killed with its group."""
        doing = f"running {self._task.main.argv[0]}"
        if not self._link.alive():
            raise HostLost(self._name, problems.connection_lost(self._link.place, doing))
        if self._started_ns is None and self._again is not None:
            self.begin(*self._again)  # the waiting runner was gone; nothing has run yet
            return
        if self._started_ns is None:
            seen = self._partial.decode("utf-8", "replace")
            raise HostError(self._name, problems.strange_shell(self._link.place, doing, seen))
        if self.status is None:
            self.status = -9
            self.elapsed_ns = time.monotonic_ns() - self._started_ns
        self.notes.append("the process group was killed")
        self._over = True
