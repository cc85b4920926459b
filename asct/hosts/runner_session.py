"""The session on a host behind a link: tasks for its runner, word of them, and the way back when the link broke."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from asct.errors import ConnectError, HostError, HostLocked, HostLost, HostTimeout
from asct.hosts import errors, script
from asct.hosts.base import SessionSpec
from asct.hosts.journal import RunnerJournal, TaskStatus
from asct.hosts.link import Channel, Link
from asct.hosts.script import TaskLine

SHORT_S = 30.0
"""Opening a channel, a few small files."""
PING_S = 10.0
"""After so long a silence the runner is asked whether it is there."""
PONG_S = 15.0
"""Time for its answer; a host that is frozen is given up then."""
LOOK_S = 0.5
"""How often the journal is looked at, at the most seldom, when the runner cannot tell through a connection."""
FIRST_LOOK_S = 0.02
"""After a word; then more and more seldom."""
STOP_S = 15.0
"""Time from the request to stop until the task must be over: the runner takes 4 s from SIGINT to SIGKILL."""
KILL_S = 30.0
"""A task that is still there so long after its limit cannot be ended by its host."""
RECONNECT_S = 300.0
BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_FINAL = frozenset({"E307", "E308", "E309", "E311", "E312", "E314", "E315", "E353"})
"""Reasons not to be let in that do not pass by themselves: keys, accounts, configuration."""


class RunnerSession:
    """One session. Used from one thread; `stop` may come from another."""

    def __init__(self, name: str, base: str, link: Link, reconnect_s: float = RECONNECT_S) -> None:
        self.name = name
        self.link = link
        self.work = ""
        self.cache = ""
        self.posix_login = False
        self.adopted = False
        self._base = base
        self._reconnect_s = reconnect_s
        self._session: SessionSpec | None = None
        self._journal = RunnerJournal()
        self._control: Channel | None = None
        self._live = False
        self._next = 1
        self._pending: dict[str, TaskLine] = {}
        self._unsent: list[TaskLine] = []
        self._heard = 0.0
        self._asked = 0.0
        self._stop_asked = 0.0
        self._stops = 0
        self._pause_s = FIRST_LOOK_S
        self._wake = threading.Event()

    # ---- opening

    def open(self, session: SessionSpec | None) -> None:
        """Connect and make the session's folder, or take up an earlier one. Raises ConnectError, HostLocked."""
        self._session = session
        self._enter()

    def _enter(self) -> None:
        self.link.connect()
        try:
            self._begin()
        except (HostError, HostLocked) as error:
            self.link.close()
            if isinstance(error, HostLocked):
                raise
            raise ConnectError(self.name, *error.diagnostics) from error

    def _begin(self) -> None:
        owner = self._session.owner if self._session else ""
        session = replace(self._session, work=self.work or self._session.work) if self._session else None
        text = script.opening(self.name, self._base, secrets.token_hex(16), session)
        doing, place = "making the work folder", self.link.label
        journal, seen = RunnerJournal(), b""
        with self.link.within(SHORT_S, doing):
            channel = self.link.start("exec sh -s")
            channel.send(text.encode("utf-8", "surrogateescape"))
            if not owner:
                channel.finish_input()
            while not journal.answers.keys() & {"serving", "joined", "locked", "failed"}:
                try:
                    data = channel.receive(SHORT_S)
                except TimeoutError:
                    raise HostTimeout(self.name, errors.no_answer(place, doing, SHORT_S)) from None
                if not data:
                    break
                seen += data[: script.LONGEST_LINE - len(seen)]
                journal.take(data)
            found = journal.answers
            if not data and not owner:
                seen += channel.receive_error()
        if "locked" in found:
            pid, age, owner = [*found["locked"].split(" ", 2), "", ""][:3]
            raise HostLocked(self.name, owner, errors.host_locked(place, owner, pid, age))
        if "failed" in found:
            raise HostError(self.name, errors.no_work_folder(place, self._base, found["failed"]))
        if not {"work", "cache", "ready"} <= found.keys() or (owner and not found.keys() & {"serving", "joined"}):
            raise HostError(self.name, errors.strange_shell(place, doing, seen.decode("utf-8", "replace")))
        self.work, self.cache = found["work"], found["cache"]
        self.posix_login, self.adopted = found.get("shell") == "posix", "adopted" in found
        if owner:
            self._take_over(channel, journal)

    def _take_over(self, channel: Channel, journal: RunnerJournal) -> None:
        """The runner of this session can be talked to: know what it did so far, hand over what it does not have."""
        self._control, self._heard, self._asked = channel, time.monotonic(), 0.0
        if not self.adopted:
            self._journal, self._live = journal, True
            self._next = int(journal.answers["serving"])
            return
        self._live = False
        self._journal = RunnerJournal()
        self._read_journal()
        if "serving" in journal.answers:
            # It was started anew: what its predecessor was at, or had before it, is not done.
            self._live = True
            self._next = int(journal.answers["serving"])
            self._unsent = [item for item in self._pending.values() if not self._journal.course(item.key).over]
            for item in self._unsent:
                self._journal.forget(item.key)
                self._journal.course(item.key)
        with self.link.within(SHORT_S, "looking for what waits"):
            while self.link.files.exists(f"{self.work}/.queue/{self._next}"):
                self._next, self._unsent = self._next + 1, []  # what was being handed over came through
        self._stops = self._journal.counts.get("stopped", 0)
        self._hand_over()
        self._say(f"job {self._next - 1}")

    def _read_journal(self) -> None:
        with self.link.within(SHORT_S, "reading the journal"):
            while data := self.link.files.tail(f"{self.work}/.journal", self._journal.offset):
                self._journal.take(data)
        self._journal.answers.pop("pong", None)  # it said so before the connection broke

    # ---- tasks

    def begin(self) -> None:
        """Something new is asked for: an earlier `stop` does not concern it. Raises HostLost, HostTimeout."""
        self._wake.clear()
        if self._stop_asked:
            self._await_stop()

    def key_of(self, key: str) -> tuple[str, bool]:
        """The key under which a task is known to the runner, and whether that has it, or has done it. One that came to
        no end in an earlier part of the session gets another key."""
        course = self._journal.tasks.get(key)
        while course is not None and key not in self._pending and course.report is None:
            key += "+"
            course = self._journal.tasks.get(key)
        # The journal, when it is read anew after a break, does not name what waits and has not begun.
        return key, course is not None or key in self._pending

    def submit(self, items: Sequence[TaskLine]) -> None:
        """Hand tasks over, to be done in this order behind those before. Raises HostLost."""
        if self._control is None:
            raise RuntimeError(f"host {self.name}: a task is run in a session only")
        for item in items:
            self._journal.forget(item.key)
            self._journal.course(item.key)
            self._pending[item.key] = item
        self._unsent = [*items]
        try:
            self._held(self._hand_over)  # coming back hands over as well
        except HostError:
            self._unsent = []
            for item in items:
                self._pending.pop(item.key, None)
            raise

    def _hand_over(self) -> None:
        if not self._unsent:
            return
        text = script.job_text(self.name, self._unsent)
        with self.link.within(SHORT_S + len(text) / 100_000, "handing over tasks"):
            self.link.files.write(f"{self.work}/.queue/{self._next}", text.encode("utf-8", "surrogateescape"))
        self._unsent = []
        self._say(f"job {self._next}")
        self._next += 1

    def wait(self, key: str, on_pause: Callable[[], None] | None = None) -> TaskStatus:
        """Until a task is over. `on_pause` is called from time to time while it runs. Raises HostLost, HostTimeout."""
        while True:
            if self._live:
                self._held(lambda: self._take(self._hear(0.0)))  # the runner may be far ahead, and asks who listens
            course = self._journal.course(key)
            if course.over:
                self._pending.pop(key, None)
                return course
            if key not in self._pending:  # the runner was told to stop before it came to this one
                return course
            self._held(partial(self._attend, course, on_pause))

    def _attend(self, course: TaskStatus, on_pause: Callable[[], None] | None) -> None:
        self._listen(LOOK_S if on_pause is not None else self._pause())
        if on_pause is not None and course.started_s is not None and course.status is None:
            on_pause()
        self._look_at_limits()
        if self._journal.answers.get("pong", "") == f"{self._next} idle":  # not of before the last job was handed over
            self._journal.answers.pop("pong")
            self._revive(course)

    def _pause(self) -> float:
        """How long to wait for news: on this machine nothing is polled while a task runs within its limit."""
        item, course = self._pending.get(self._journal.running), self._journal.tasks.get(self._journal.running)
        asleep = self._live and not self.link.breaks_silently and not self._wake.is_set()
        if not asleep or item is None or course is None or course.over:
            return LOOK_S
        return max(LOOK_S, course.heard_start + item.limit_s + KILL_S - time.monotonic())

    def _look_at_limits(self) -> None:
        """Raises HostTimeout for a task that its host cannot end: any that runs, or one that was told to stop."""
        now = time.monotonic()
        item, course = self._pending.get(self._journal.running), self._journal.tasks.get(self._journal.running)
        if item and course and not course.over and now - course.heard_start > item.limit_s + KILL_S:
            raise HostTimeout(self.name, errors.not_ended(self.link.label, item.limit_s + KILL_S))
        if self._stop_asked and now - self._stop_asked > STOP_S:
            raise HostTimeout(self.name, errors.not_ended(self.link.label, STOP_S))

    def _revive(self, course: TaskStatus) -> None:
        """The runner says it has nothing to do, though a task is not over: whoever worked it off was killed, or the
        disk was full for the journal."""
        if course.over:
            return
        if course.started_s is not None:
            course.died = True
        elif course.reminded:
            course.refused = "the runner of the host passed over it"
        else:
            course.reminded = True
            self._say(f"job {self._next - 1}")

    def _drop(self) -> None:
        """After `stop`: what had not begun never will."""
        self._stops, self._stop_asked = self._journal.counts["stopped"], 0.0
        for key in [key for key in self._pending if self._journal.course(key).started_s is None]:
            del self._pending[key]
        self._unsent = []

    def stop(self) -> None:
        """End the task that runs, forget those behind it; from any thread, at any time."""
        self._wake.set()
        if self._pending:
            self._stop_asked = self._stop_asked or time.monotonic()
            self._say(f"stop\nping {self._next}")  # its answer wakes whoever waits for a task

    def cancel(self) -> None:
        """`stop`, and wait until it is done. Raises HostLost, HostTimeout."""
        if not self._pending:
            return
        self.stop()
        self._await_stop()
        self._pending.clear()

    def _await_stop(self) -> None:
        until, stops = time.monotonic() + STOP_S, self._stops
        while self._stops == stops:
            self._listen(LOOK_S)
            if time.monotonic() > until:
                raise HostTimeout(self.name, errors.not_ended(self.link.label, STOP_S))

    def wait_until_idle(self) -> None:
        """Wait until the runner has nothing to do. Ended by `stop`. Raises HostLost, HostTimeout."""
        self._journal.answers.pop("pong", None)
        while not self._journal.answers.get("pong", "").endswith(" idle") and not self._wake.is_set():
            self._say(f"ping {self._next}")
            self._held(lambda: self._listen(LOOK_S))
        self._journal.answers.pop("pong", None)

    def leave(self) -> bool:
        """Have the runner end all that it has, remove the folder and go; False when it is not heard to do so."""
        if not self._live:
            return False
        self._say("leave")
        until = time.monotonic() + STOP_S
        while "left" not in self._journal.answers and time.monotonic() < until:
            with self.link.within(SHORT_S, "tidying up"):
                try:
                    data = self._control.receive(LOOK_S) if self._control else b""
                except TimeoutError:
                    continue
            if not data:
                break
            self._journal.take(data)
        return "left" in self._journal.answers

    # ---- hearing and saying

    def _say(self, line: str) -> None:
        if self._control is not None:
            self._control.send(f"{line}\n".encode())

    def _listen(self, seconds: float) -> None:
        """Take in what is told within `seconds`; a silence that lasts is looked into."""
        if self._take(self._hear(seconds)):
            return
        now = time.monotonic()
        if not self.link.breaks_silently and self._live:
            return
        if self._asked and now - self._asked > PONG_S:
            self.link.cut()
            raise HostTimeout(self.name, errors.no_answer(self.link.label, "measuring", round(now - self._heard)))
        if not self._asked and now - self._heard > PING_S:
            self._asked = self._asked or now
            self._say(f"ping {self._next}")

    def _take(self, data: bytes) -> bool:
        """Whether there is something in what was heard."""
        if not data:
            return False
        self._heard, self._asked, self._pause_s = time.monotonic(), 0.0, FIRST_LOOK_S
        self._journal.take(data)
        self._keep_up()
        if self._journal.counts.get("stopped", 0) > self._stops:
            self._drop()
        return True

    def _hear(self, seconds: float) -> bytes:
        if self._live and self._control is not None:
            with self.link.within(seconds + SHORT_S, "measuring"):
                try:
                    data = self._control.receive(seconds)
                except TimeoutError:
                    return b""
            if not data:
                raise HostLost(self.name, errors.connection_lost(self.link.label, "measuring"))
            return data
        pause_s, self._pause_s = min(seconds, self._pause_s), min(LOOK_S, 2 * self._pause_s)
        if self._wake.wait(pause_s):
            time.sleep(LOOK_S)
        with self.link.within(SHORT_S, "reading the journal"):
            return self.link.files.tail(f"{self.work}/.journal", self._journal.offset)

    def _keep_up(self) -> None:
        """Tell the runner how far it was heard. One that was not heard for long speaks to its journal alone."""
        if not self._live:
            return
        answers = self._journal.answers
        if count := answers.pop("count", ""):
            self._say(f"heard {count}")
        if answers.pop("muted", None) is not None:
            self._live, self._journal = False, RunnerJournal()
            self._read_journal()

    def rejoin(self) -> None:
        """Take up the session where the link leads to now. Raises ConnectError, HostLocked."""
        self.link.close()
        self._enter()

    def hold(self, doing: Callable[[], None]) -> None:
        """`doing`, and again from its begin when the connection broke over it and could be made again."""
        while not self._held(doing):
            pass

    def _held(self, doing: Callable[[], object]) -> bool:
        """`doing` once; False when the connection broke over it and was made again."""
        try:
            doing()
        except (HostLost, HostTimeout) as error:
            if self.link.alive() and isinstance(error, HostTimeout):
                raise
            self._come_back(error)
            return False
        return True

    def _come_back(self, cause: HostError) -> None:
        """Connect again to the same session, more and more patiently. Raises `cause` when that comes to nothing."""
        until = time.monotonic() + self._reconnect_s
        self.link.close()
        attempt = 0
        while self._session is not None and self.work and not self._wake.is_set():
            pause = BACKOFF_S[min(attempt, len(BACKOFF_S) - 1)]
            attempt += 1
            if time.monotonic() + pause > until or self._wake.wait(pause):
                break
            try:
                self._enter()
            except HostLocked as error:
                raise HostLost(self.name, *error.diagnostics) from cause
            except ConnectError as error:
                if error.diagnostics[0].code in _FINAL:
                    raise HostLost(self.name, *error.diagnostics) from cause
                continue
            if not self.adopted:
                raise HostLost(self.name, errors.session_gone(self.link.label)) from cause
            return
        raise HostLost(self.name, errors.not_back(cause.diagnostics[0], self._reconnect_s)) from cause
