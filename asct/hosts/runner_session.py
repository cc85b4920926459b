"""The session on a host: submit tasks to the remote runner, read their status, and reconnect."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from asct.errors import ConnectError, HostError, HostLocked, HostLost, HostTimeout
from asct.hosts import errors, script
from asct.hosts.base import SessionSpec
from asct.hosts.journal import RunnerJournal, TaskStatus
from asct.hosts.link import Channel, Link
from asct.hosts.script import TaskLine

SHORT_S = 30.0
"""Time limit, in seconds, for a short exchange, such as opening a channel or copying a few small files."""
PING_S = 10.0
"""Seconds of silence before the runner is pinged."""
PONG_S = 15.0
"""Seconds that the runner has to reply before asct gives up on the host."""
POLL_S = 0.5
"""The longest interval, in seconds, between two polls of the journal. asct polls if the runner cannot report over a
connection."""
FIRST_POLL_S = 0.02
"""Interval, in seconds, before the first poll after an event. Each poll that finds no event doubles the interval."""
STOP_S = 30.0
"""Seconds within which a task must end after it is told to stop. The runner takes 4 s from SIGINT to SIGKILL, and up to
22 s to end what the task left behind (`end_strays` in runner.sh)."""
KILL_S = 30.0
"""If a task is still running this many seconds after its time limit, it is considered unkillable."""
RECONNECT_S = 300.0
"""Default time limit for restoring a lost connection, in seconds."""
BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Pauses before the attempts to reconnect, in seconds; the last one is repeated. A brief interruption costs half a
second, and a host that stays down is contacted only four times a minute."""
ATTEMPTS = 3
"""Maximum number of attempts at an exchange during which the connection breaks."""
_OPENING = "creating the work folder"
_MOST_OPENING = 1 << 20
"""Maximum number of bytes that a host may print before its session is open, including the output of login scripts."""
ANSWER_LIMIT = 1 << 20
"""Maximum number of bytes that a command may print."""
_BEGIN, _END = b"asct:answer\n", b"asct:answered\n"
"""The lines around the output of a session's script."""
_FINAL = frozenset({"E307", "E308", "E309", "E311", "E312", "E314", "E315", "E353"})
"""Error codes for failures that a retry cannot fix: keys, accounts, configuration."""
_T = TypeVar("_T")


class RunnerSession:
    """A session on one host. Only one thread uses it, but `stop` may be called from any thread."""

    def __init__(self, name: str, base: str, link: Link, reconnect_s: float = RECONNECT_S) -> None:
        self.name = name
        self.link = link
        self.work = ""
        self.cache = ""
        self.posix_login = False
        self.resumed = False
        self._base = base
        self._reconnect_s = reconnect_s
        self._session: SessionSpec | None = None
        self._token = ""
        self._journal = RunnerJournal()
        self._control: Channel | None = None
        self._live = False
        self._next = 1
        self._pending: dict[str, TaskLine] = {}
        self._unsent: list[TaskLine] = []
        self._last_event = 0.0
        self._pinged = 0.0
        self._stop_requested = 0.0
        self._stops = 0
        self._pause_s = FIRST_POLL_S
        self._wake = threading.Event()

    # ---- opening

    def open(self, session: SessionSpec | None) -> None:
        """Connect and create the work folder, or resume an earlier session. Raises ConnectError, HostLocked."""
        self._session = session
        self._token = (session.token if session else "") or secrets.token_hex(16)
        self._connect()

    def _connect(self) -> None:
        self.link.connect()
        try:
            self._start()
        except (HostError, HostLocked) as error:
            self.link.close()
            if isinstance(error, HostLocked):
                raise
            raise ConnectError(self.name, *error.diagnostics) from error

    def _start(self) -> None:
        owner = self._session.owner if self._session else ""
        text = script.open_script(self.name, self._base, self._token, self._session)
        label, journal = self.link.label, RunnerJournal()
        with self.link.within(2 * SHORT_S, _OPENING):  # more than the time limit of `_hear_opening`, which says more
            channel = self.link.start("exec sh -s")
            channel.send(text.encode("utf-8", "surrogateescape"))
            if not owner:
                channel.finish_input()
            received = self._hear_opening(channel, journal)
        replies = journal.replies
        if "locked" in replies:
            pid, age, owner = [*replies["locked"].split(" ", 2), "", ""][:3]
            raise HostLocked(self.name, owner, errors.host_locked(label, owner, pid, age))
        if "failed" in replies:
            raise HostError(self.name, errors.no_work_folder(label, self._base, replies["failed"]))
        if not {"work", "cache", "ready"} <= replies.keys() or (owner and not replies.keys() & {"serving", "joined"}):
            raise HostError(self.name, errors.strange_shell(label, _OPENING, received.decode("utf-8", "replace")))
        self.work, self.cache = replies["work"], replies["cache"]
        self.posix_login, self.resumed = replies.get("shell") == "posix", "resumed" in replies
        if owner:
            self._attach(channel, journal)

    def _hear_opening(self, channel: Channel, journal: RunnerJournal) -> bytes:
        """Read replies until the session is open, or until the output ends or exceeds the maximum length of a runner's
        output. Return the beginning of the output. Raises HostTimeout."""
        received = b""
        while not journal.replies.keys() & {"serving", "joined", "locked", "failed"}:
            try:
                data = channel.receive(SHORT_S)
            except TimeoutError:
                if found := channel.receive_error():
                    return received + found[: script.LONGEST_LINE]
                raise HostTimeout(
                    self.name, errors.problem("no_answer", self.link.label, doing=_OPENING, seconds=SHORT_S)
                ) from None
            if not data:
                return received + channel.receive_error()[: script.LONGEST_LINE]
            received += data[: script.LONGEST_LINE - len(received)]
            journal.take(data)
            if journal.offset > _MOST_OPENING:
                break
        return received

    def _attach(self, channel: Channel, journal: RunnerJournal) -> None:
        """Attach to this session's runner: read its progress, and submit the tasks that have not reached it."""
        self._control, self._last_event, self._pinged = channel, time.monotonic(), 0.0
        if not self.resumed:
            self._journal, self._live = journal, True
            self._next = int(journal.replies["serving"])
            return
        self._live = False
        self._journal = RunnerJournal()
        self._read_journal()
        if "serving" in journal.replies:
            # A new runner repeats the task that its predecessor was running, then runs the queued tasks.
            self._live = True
            self._next = int(journal.replies["serving"])
            self._unsent = [task for task in self._pending.values() if not self._journal.status(task.key).over]
            for task in self._unsent:
                self._journal.forget(task.key)
                self._journal.status(task.key)
        with self.link.within(SHORT_S, "listing queued tasks"):
            while self.link.files.exists(f"{self.work}/.queue/{self._next}"):
                self._next, self._unsent = self._next + 1, []  # the runner did receive the last submission
        self._stops = self._journal.counts.get("stopped", 0)
        self._send_tasks()
        self._send(f"job {self._next - 1}")

    def answer(self, timeout_s: float, interrupted: Callable[[], bool]) -> bytes | None:
        """Wait for the output of the session's script and return it, or None if the script was not run. Raises
        HostError."""
        if self._session is None or not self._session.script or self.resumed or self._control is None:
            return None
        label, received, until = self.link.label, b"", time.monotonic() + timeout_s
        while not (whole := received.endswith(_END) and _BEGIN in received) or "answered" not in self._journal.replies:
            self._process(self._receive(FIRST_POLL_S if whole else POLL_S))
            received += self._control.receive_error()
            if interrupted():
                raise HostLost(self.name, errors.problem("interrupted", label, doing="`sh`"))
            if time.monotonic() > until:
                raise HostTimeout(self.name, errors.problem("no_answer", label, doing="running sh", seconds=timeout_s))
            if len(received) > ANSWER_LIMIT:
                raise HostError(self.name, errors.problem("answer_too_long", label, program="sh", limit=ANSWER_LIMIT))
        return received.partition(_BEGIN)[2].removesuffix(_END)

    def _read_journal(self) -> None:
        with self.link.within(SHORT_S, "reading the journal"):
            while data := self.link.files.tail(f"{self.work}/.journal", self._journal.offset):
                self._journal.take(data)
        self._journal.replies.pop("pong", None)  # this reply was received before the connection broke

    # ---- tasks

    def prepare(self) -> None:
        """Prepare for new tasks by clearing the effect of any earlier `stop`. Raises HostLost, HostTimeout."""
        self._wake.clear()
        if self._stop_requested:
            self._await_stop()

    def key_of(self, key: str) -> tuple[str, bool]:
        """Return the key that the runner uses for a task, and whether the runner already has the task.

        A task whose end was already reported gets a new key if it is run again.
        """
        status = self._journal.tasks.get(key)
        while status is not None and key not in self._pending and status.report is None:
            key += "+"
            status = self._journal.tasks.get(key)
        # After a reconnection, the journal does not list queued tasks that have not yet started.
        return key, status is not None or key in self._pending

    def submit(self, tasks: Sequence[TaskLine]) -> None:
        """Append tasks to the runner's queue. Raises HostLost."""
        if self._control is None:
            raise RuntimeError(f"host {self.name}: tasks can run only in an open session")
        for task in tasks:
            self._journal.forget(task.key)
            self._journal.status(task.key)
            self._pending[task.key] = task
        self._unsent = [*tasks]
        try:
            self._once(self._send_tasks)  # restoring a broken connection also submits the tasks
        except HostError:
            self._unsent = []
            for task in tasks:
                self._pending.pop(task.key, None)
            raise

    def _send_tasks(self) -> None:
        if not self._unsent:
            return
        text = script.job_text(self.name, self._unsent)
        with self.link.within(SHORT_S, "submitting tasks", self._wake.is_set):
            self.link.files.write(f"{self.work}/.queue/{self._next}", text.encode("utf-8", "surrogateescape"))
        self._unsent = []
        self._send(f"job {self._next}")
        self._next += 1

    def wait(self, key: str, on_pause: Callable[[], None] | None = None) -> TaskStatus:
        """Wait until a task has ended.

        `on_pause` is called repeatedly while the task runs. Raises HostLost, HostTimeout.
        """
        while True:
            if self._live:
                self._once(
                    lambda: self._process(self._receive(0.0))
                )  # the runner may have run ahead and need an acknowledgment
            status = self._journal.status(key)
            if status.over:
                self._pending.pop(key, None)
                return status
            if key not in self._pending:  # the runner was stopped before it started this task
                return status
            self._once(partial(self._wait_once, status, on_pause))

    def _wait_once(self, status: TaskStatus, on_pause: Callable[[], None] | None) -> None:
        self._process_events(POLL_S if on_pause is not None else self._pause())
        if on_pause is not None and status.started_s is not None and status.exit_status is None:
            on_pause()
        self._check_limits()
        if self._journal.replies.get("pong", "") == f"{self._next} idle":  # the reply is newer than the last submission
            self._journal.replies.pop("pong")
            self._recover(status)

    def _pause(self) -> float:
        """Return the number of seconds to wait for an event. On the local host, asct does not poll while a task is
        within its time limit."""
        task, status = self._pending.get(self._journal.running), self._journal.tasks.get(self._journal.running)
        asleep = self._live and not self.link.breaks_silently and not self._wake.is_set()
        if not asleep or task is None or status is None or status.over:
            return POLL_S
        return max(POLL_S, status.heard_start + task.limit_s + KILL_S - time.monotonic())

    def _check_limits(self) -> None:
        """Raise HostTimeout if the host fails to stop a task at the task's time limit or on request."""
        now = time.monotonic()
        task, status = self._pending.get(self._journal.running), self._journal.tasks.get(self._journal.running)
        if task and status and not status.over and now - status.heard_start > task.limit_s + KILL_S:
            raise HostTimeout(self.name, errors.problem("not_ended", self.link.label, seconds=task.limit_s + KILL_S))
        if self._stop_requested and now - self._stop_requested > STOP_S:
            raise HostTimeout(self.name, errors.problem("not_ended", self.link.label, seconds=STOP_S))

    def _recover(self, status: TaskStatus) -> None:
        """Handle a runner that is idle although the end of its task was not recorded. This happens if the task's shell
        was killed or the journal's disk is full."""
        if status.over:
            return
        if status.started_s is not None:
            status.died = True
        elif status.reminded:
            status.refused = "the runner skipped it"
        else:
            status.reminded = True
            self._send(f"job {self._next - 1}")

    def _discard_queued(self) -> None:
        """Discard the tasks that have not started, after `stop` was called."""
        self._stops, self._stop_requested = self._journal.counts["stopped"], 0.0
        for key in [key for key in self._pending if self._journal.status(key).started_s is None]:
            del self._pending[key]
        self._unsent = []

    def stop(self) -> None:
        """Stop the running task and discard the queued ones. May be called from any thread at any time."""
        self._wake.set()
        if self._pending:
            self._stop_requested = self._stop_requested or time.monotonic()
            self._send(f"stop\nping {self._next}")  # the reply wakes the thread that waits for a task

    def cancel(self) -> None:
        """Stop all tasks, and wait for the runner's confirmation. Raises HostLost, HostTimeout."""
        if not self._pending:
            return
        self.stop()
        self._await_stop()
        self._pending.clear()

    def _await_stop(self) -> None:
        until, stops = time.monotonic() + STOP_S, self._stops
        while self._stops == stops:
            self._process_events(POLL_S)
            if time.monotonic() > until:
                raise HostTimeout(self.name, errors.problem("not_ended", self.link.label, seconds=STOP_S))

    def wait_until_idle(self) -> None:
        """Wait until the runner is idle. `stop` ends the wait. Raises HostLost, HostTimeout."""
        self._journal.replies.pop("pong", None)
        while not self._journal.replies.get("pong", "").endswith(" idle") and not self._wake.is_set():
            self._send(f"ping {self._next}")
            self._once(lambda: self._process_events(POLL_S))
        self._journal.replies.pop("pong", None)

    def end(self) -> bool:
        """Tell the runner to stop its tasks, remove the work folder and exit. Returns False if the runner does not
        confirm this."""
        if not self._live:
            return False
        self._send("leave")
        until = time.monotonic() + STOP_S
        while "left" not in self._journal.replies and time.monotonic() < until:
            with self.link.within(SHORT_S, "cleaning up"):
                try:
                    data = self._control.receive(POLL_S) if self._control else b""
                except TimeoutError:
                    continue
            if not data:
                break
            self._journal.take(data)
        return "left" in self._journal.replies

    # ---- messages

    def _send(self, line: str) -> None:
        if self._control is not None:
            self._control.send(f"{line}\n".encode())

    def _process_events(self, seconds: float) -> None:
        """Process events for the next `seconds`. Ping the runner after a long silence."""
        if self._process(self._receive(seconds)):
            return
        now = time.monotonic()
        if not self.link.breaks_silently and self._live:
            return
        if self._pinged and now - self._pinged > PONG_S:
            self.link.cut()
            raise HostTimeout(
                self.name,
                errors.problem("no_answer", self.link.label, doing="measuring", seconds=round(now - self._last_event)),
            )
        if not self._pinged and now - self._last_event > PING_S:
            self._pinged = self._pinged or now
            self._send(f"ping {self._next}")

    def _process(self, data: bytes) -> bool:
        """Process received data. Returns False if there was none."""
        if not data:
            return False
        self._last_event, self._pinged, self._pause_s = time.monotonic(), 0.0, FIRST_POLL_S
        self._journal.take(data)
        self._acknowledge()
        if self._journal.counts.get("stopped", 0) > self._stops:
            self._discard_queued()
        return True

    def _receive(self, seconds: float) -> bytes:
        if self._live and self._control is not None:
            with self.link.within(seconds + SHORT_S, "measuring"):
                try:
                    data = self._control.receive(seconds)
                except TimeoutError:
                    return b""
            if not data:
                raise HostLost(self.name, errors.connection_lost(self.link.label, "measuring"))
            return data
        pause_s, self._pause_s = min(seconds, self._pause_s), min(POLL_S, 2 * self._pause_s)
        if self._wake.wait(pause_s):
            time.sleep(POLL_S)
        with self.link.within(SHORT_S, "reading the journal"):
            return self.link.files.tail(f"{self.work}/.journal", self._journal.offset)

    def _acknowledge(self) -> None:
        """Acknowledge events. Without acknowledgments, a runner stops reporting events and only writes them to its
        journal."""
        if not self._live:
            return
        answers = self._journal.replies
        if count := answers.pop("count", ""):
            self._send(f"heard {count}")
        if answers.pop("muted", None) is not None:
            self._live, self._journal = False, RunnerJournal()
            self._read_journal()

    def reattach(self) -> None:
        """Reconnect and resume the session, because the link now connects to a different job. Raises ConnectError,
        HostLocked."""
        self.link.close()
        self._connect()

    def retried(self, doing: Callable[[], _T]) -> _T:
        """Call `doing` and return its result. If the connection breaks during the call and is restored, call it again.
        Raises HostError if this happens in every attempt."""
        for _ in range(ATTEMPTS):
            try:
                return doing()
            except (HostLost, HostTimeout) as error:
                self._reconnect(error)
                cause = error
        raise HostError(self.name, errors.kept_breaking(cause.diagnostics[0], ATTEMPTS)) from cause

    def _once(self, doing: Callable[[], object]) -> None:
        """Call `doing` once. If the connection breaks during the call, restore it."""
        try:
            doing()
        except (HostLost, HostTimeout) as error:
            self._reconnect(error)

    def _reconnect(self, cause: HostError) -> None:
        """Reconnect to the same session, with increasing pauses between attempts. If this fails, raise HostLost from
        `cause`. Raise `cause` itself if there is no session, or if it is a timeout that left the connection intact."""
        if self._session is None or (self.link.alive() and isinstance(cause, HostTimeout)):
            raise cause
        until = time.monotonic() + self._reconnect_s
        self.link.close()
        attempt = 0
        while self.work and not self._wake.is_set():
            pause = BACKOFF_S[min(attempt, len(BACKOFF_S) - 1)]
            attempt += 1
            if time.monotonic() + pause > until or self._wake.wait(pause):
                break
            try:
                self._connect()
            except HostLocked as error:
                raise HostLost(self.name, *error.diagnostics) from cause
            except ConnectError as error:
                if error.diagnostics[0].code in _FINAL:
                    raise HostLost(self.name, *error.diagnostics) from cause
                continue
            if not self.resumed:
                raise HostLost(self.name, errors.problem("session_gone", self.link.label)) from cause
            return
        raise HostLost(self.name, errors.not_back(cause.diagnostics[0], self._reconnect_s)) from cause
