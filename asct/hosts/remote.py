"""A host reached through a link. Its runner (runner.sh) executes the tasks, and results are returned as files."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

from asct.diagnostics.model import Diagnostic
from asct.errors import AsctError, HostError, HostLost, HostTimeout
from asct.hosts import errors, script
from asct.hosts.base import CommandResult, Host, SessionSpec, Task, TaskResult
from asct.hosts.downloads import LineSplitter, make_folder, save
from asct.hosts.journal import TaskStatus
from asct.hosts.link import Channel, FileTransfer, Link
from asct.hosts.readings import LOG, ReadingLog, is_short
from asct.hosts.runner_session import ANSWER_LIMIT, RECONNECT_S, SHORT_S, RunnerSession
from asct.hosts.script import TaskLine, below
from asct.sdk.step import HostReadings

_BEGUN = re.compile(r"^asct:begin (\d+)\n", re.MULTILINE)
_T = TypeVar("_T")
_START_S = 10.0
"""Seconds by which a command may exceed its time limit until its process id is known."""


class RemoteHost(Host):
    """The Host protocol over a Link.

    The host must have a POSIX shell, setsid, flock and any programs that the link's file transfer uses.
    """

    def __init__(self, name: str, transport: str, base: str, link: Link, reconnect_s: float = RECONNECT_S) -> None:
        self.name = name
        self.transport = transport
        self._link = link
        self._session = RunnerSession(name, base, link, reconnect_s)
        self._nonce = secrets.token_hex(6)  # a task without a key never matches a task of an earlier part
        self._mark = self._nonce
        self._numbers = count(1)
        self._used: set[str] = set()
        self._interrupted = False
        self._readings: ReadingLog | None = None

    @property
    def work(self) -> str:
        return self._session.work

    @property
    def cache(self) -> str:
        return self._session.cache

    @property
    def resumed(self) -> bool:
        return self._session.resumed

    def open(self, session: SessionSpec | None = None) -> None:
        self._readings = ReadingLog() if session is not None and session.reading is not None else None
        if session is not None:  # a resumed run overwrites the partial files of the run that was killed
            self._mark = hashlib.sha256(f"{session.run} {self.name}".encode()).hexdigest()[:12]
        self._session.open(session)

    def answer(self, *, timeout_s: float = 60.0) -> CommandResult | None:
        self._interrupted = False
        text = self._session.answer(timeout_s, lambda: self._interrupted)
        return None if text is None else CommandResult(0, text.decode("utf-8", "replace"), "")

    def wait_until_idle(self) -> None:
        self._session.prepare()
        self._session.wait_until_idle()

    def close(self) -> Diagnostic | None:
        self.interrupt()
        left = self.work
        try:
            if left and self._link.alive():
                self._leave()
                left = ""
        except AsctError:
            pass  # there is no connection: the folder is left for `resume`, or removed after a week
        finally:
            self._session.work = ""
            self._link.close()
        return errors.problem("left_open", self._link.label, work=left) if left else None

    def _leave(self) -> None:
        """Leave the session. If the connection breaks, reconnect and try again, because the work folder would otherwise
        remain on the host."""
        try:
            if not self._session.end():
                self._housekeeping("leave")
        except HostLost:
            self._link.close()
            self._link.connect()
            self._housekeeping("leave")

    # ---- tasks

    def announce(self, tasks: Sequence[Task]) -> None:
        self._session.prepare()
        items = []
        for task in tasks:
            key, known = self._session.key_of(task.key)
            if not known:
                items.append(self._item(task, key, beforehand=True))
        if items:
            self._session.submit(items)

    def cancel(self) -> None:
        self._session.cancel()

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        self._session.prepare()
        key, known = self._session.key_of(task.key or f"{self._nonce}-{next(self._numbers)}")
        if not known:
            item = self._item(task, key, beforehand=False)  # rejects bad names and arguments before anything changes
            make_folder(task.into)
            self._session.submit([item])
        feed = LineSplitter(on_line) if on_line else None
        try:
            status = self._session.wait(key, self._follow(task, feed) if feed else None)
        except HostError:
            raise
        except BaseException:  # raised by the listener or a signal: stop the task, because nobody waits for it
            self._session.cancel()
            raise
        make_folder(task.into)
        return self._finished(task, status, feed, key)

    def _item(self, task: Task, key: str, *, beforehand: bool) -> TaskLine:
        """Return the task in job file format. The runner empties the task's folder if it may have been used before."""
        if task.fresh:
            below(self.name, task.main.cwd, [self.work])
        folder = task.main.cwd
        used = task.fresh and (folder in self._used or self.resumed)
        self._used.add(folder)
        line = script.task_line(self.name, task, empty=used)
        return TaskLine(key, task.timeout_s, line, folder if beforehand and not used else "")

    def _follow(self, task: Task, feed: LineSplitter) -> Callable[[], None]:
        """Return a function that reads the new lines of a running task's standard output."""
        path = f"{task.main.cwd}/{task.main.stdout_file}"

        def read() -> None:
            with self._link.within(SHORT_S, "following the output"):
                feed.take(self._link.files.tail(path, feed.offset))

        return read

    def _finished(self, task: Task, status: TaskStatus, feed: LineSplitter | None, key: str) -> TaskResult:
        if not status.over:  # the task was canceled before it started
            return TaskResult(-2, 0, (), ("it was not started",))
        if status.refused:
            raise HostError(self.name, errors.problem("task_refused", self._link.label, detail=status.refused))
        notes: list[str] = []
        fetched: list[str] = []
        flags, companions = (status.report.flags, status.report.companions) if status.report else ("", ())
        if status.report is None:
            notes.append("the process group was killed")
            flags = self._flags(task)
        notes += script.companion_notes(task, companions)
        files = script.wanted_files(self.name, task)
        if len(flags) != len(files):
            raise self._unexpected("reporting a task", flags)

        self._interrupted = False  # what the stopped task wrote is still copied, unless it takes long
        remaining = task.max_total_bytes
        for (path, name), flag in zip(files, flags, strict=True):
            note = self._fetch(task, path, name, flag, min(task.max_bytes, remaining))
            if note:
                notes.append(note)
            elif flag != "-":
                fetched.append(name)
                remaining -= (task.into / name).stat().st_size
        if feed is not None and task.main.stdout_file in fetched:
            feed.finish((task.into / task.main.stdout_file).read_bytes())
        code = -9 if status.exit_status is None else script.exit_status(status.exit_status, status.shell_message)
        notes = [*dict.fromkeys(notes)]
        return TaskResult(
            None if status.late else code,
            status.elapsed_ns,
            tuple(fetched),
            tuple(notes),
            self._readings_of(key, status),
        )

    def _readings_of(self, key: str, status: TaskStatus) -> HostReadings:
        """Return the readings for a task that has ended. The measurement is valid even if the log cannot be read."""
        log = self._readings
        if log is None:
            return HostReadings()
        if is_short(status.started_s, status.ended_s):  # reading the log would not be worth an exchange with the host
            return HostReadings(brief=True)

        def read() -> None:
            with self._link.within(SHORT_S, "reading the host state"):
                while not log.has(key) and (data := self._link.files.tail(f"{self.work}/{LOG}", log.offset)):
                    log.take(data)

        try:
            self._session.retried(read)
        except (HostLost, HostTimeout):
            raise
        except HostError:
            self._readings = None
        return log.of(key)

    def _unexpected(self, doing: str, text: str) -> HostError:
        return HostError(self.name, errors.strange_shell(self._link.label, doing, text))

    def _fetch(self, task: Task, path: str, name: str, flag: str, limit: int) -> str:
        """Copy one of a task's files from the host. Return a note if that fails, otherwise an empty string."""
        if flag == "-":
            return ""
        if flag == "x":
            return f"{name} is not a regular file and was not copied"
        target = task.into / name
        if target.parent != task.into:
            make_folder(target.parent)
        if flag == "e":
            save(target, [])
            return ""
        source = path if path.startswith("/") else f"{task.main.cwd}/{path}"
        copied = self._transfer("fetching results", lambda files: files.fetch_regular(source, target, limit))
        return "" if copied else f"{name} is larger than {limit} bytes and was not copied"

    def _flags(self, task: Task) -> str:
        """Determine the file flags of a task that could not report them because its shell was killed together with
        it."""
        names = [path for path, _ in script.wanted_files(self.name, task)]
        enter = script.call(self.name, "enter", "0", task.main.cwd)
        text = self._session.retried(lambda: self._housekeeping(f"{enter}; {script.call(self.name, 'report', *names)}"))
        try:
            return script.read_report(text.partition(" ")[2]).flags
        except ValueError:
            raise self._unexpected("reporting a task", text) from None

    # ---- short commands and files

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        text = script.call(self.name, "execute", *argv) + "\n" + stdin

        def end(out: bytes) -> None:
            for first, rest in script.messages(out.decode("utf-8", "replace").splitlines()):
                if first == "begin" and rest.isdigit():
                    self._housekeeping(script.call(self.name, "finish", rest))

        status, out, err = self._answer(argv[0], self._runner_command(), text, timeout_s, end)
        head, _, stdout = out.partition(b"asct:begin ")
        pid, _, stdout = stdout.partition(b"\n")
        if not pid.isdigit():
            failed = dict(script.messages(head.decode("utf-8", "replace").splitlines())).get("failed", "")
            raise self._unexpected(f"running {argv[0]}", failed or (out + err).decode("utf-8", "replace"))
        _, _, stderr = err.partition(b"asct:begin\n")
        return CommandResult(status, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        begin = f"nl='\n'\necho \"asct:begin $$\"\n{script.call(self.name, 'set --', *arguments)}\n"

        def end(out: bytes) -> None:
            if begun := _BEGUN.search(out.decode("utf-8", "replace")):
                stop = f"kill -s TERM -- -{begun[1]}; sleep 1; kill -s KILL -- -{begun[1]}"
                with self._link.within(SHORT_S, "cleaning up"):
                    _drain(self._start("exec sh -s", stop))

        self._link.connect()
        try:
            status, out, err = self._answer("sh", "exec sh -s", begin + text, timeout_s, end)
        finally:
            self._link.close()
        stdout = _BEGUN.sub("", out.decode("utf-8", "replace"), count=1)
        return CommandResult(status, stdout, err.decode("utf-8", "replace"))

    def _answer(
        self, program: str, command: str, text: str, timeout_s: float, end: Callable[[bytes], None]
    ) -> tuple[int, bytes, bytes]:
        """Run `command` with `text` as its standard input. Return the exit status, standard output and standard error.

        If the command takes too long or prints too much, `end` is called with the standard output received so far.
        `end` kills the command, which leads a separate session and would otherwise outlive its channel. The output
        begins with the process id of the command. If it has not arrived at the time limit, wait a little longer for it.
        """
        self._interrupted = False
        until = time.monotonic() + timeout_s

        def over(out: bytearray) -> bool:
            late_s = time.monotonic() - until
            return self._interrupted or late_s > _START_S or (late_s > 0 and b"asct:begin " in out)

        try:
            with self._link.within(timeout_s + SHORT_S, f"running {program}"):
                channel = self._start(command, text)
                out, err = _drain(channel, over)
                if max(len(out), len(err)) <= ANSWER_LIMIT:
                    return channel.status(), out, err
        except TimeoutError as late:
            end(late.args[0])
            if self._interrupted:
                raise HostLost(
                    self.name, errors.problem("interrupted", self._link.label, doing=f"`{program}`")
                ) from None
            detail = errors.problem("no_answer", self._link.label, doing=f"running {program}", seconds=timeout_s)
            raise HostTimeout(self.name, detail) from None
        end(out)
        raise HostError(
            self.name, errors.problem("answer_too_long", self._link.label, program=program, limit=ANSWER_LIMIT)
        )

    def _start(self, command: str, text: str) -> Channel:
        channel = self._link.start(command)
        channel.send(text.encode("utf-8", "surrogateescape"))
        channel.finish_input()
        return channel

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        below(self.name, target, [self.work, self.cache])
        partial = f"{target}.{self._mark}.part"
        self._interrupted = False
        self._transfer(f"sending {target}", lambda files: files.store(source, target, partial, mode))

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        self._interrupted = False
        if not self._transfer(f"fetching {source}", lambda files: files.fetch(source, target, max_bytes)):
            raise HostError(self.name, errors.problem("too_large", self.name, path=source, max_bytes=max_bytes))

    def _transfer(self, doing: str, copy: Callable[[FileTransfer], _T]) -> _T:
        """Copy a file to or from the host with `copy`, again if the connection breaks. `interrupt` ends this."""

        def attempt() -> _T:
            with self._link.within(SHORT_S, doing, lambda: self._interrupted):
                return copy(self._link.files)

        return self._session.retried(attempt)

    def sums(self, path: str) -> list[str]:
        with self._link.within(SHORT_S, f"reading the checksum of {path}"):
            return self._link.files.sums(path)

    def remove(self, path: str) -> None:
        below(self.name, path, [self.work, self.cache])
        self._housekeeping(script.call(self.name, "remove", path, self.work, self.cache))

    def interrupt(self) -> None:
        self._interrupted = True
        self._link.hurry()
        self._session.stop()

    def _runner_command(self) -> str:
        return script.runner_command(self.work, posix_login=self._session.posix_login)

    def _housekeeping(self, line: str) -> str:
        """Run a line that calls runner functions. Return the text that follows the word `done`."""
        with self._link.within(SHORT_S, "cleaning up"):
            channel = self._link.start(self._runner_command())
            channel.send((line + "\n").encode("utf-8", "surrogateescape"))
            out, _ = _drain(channel)
        for first, rest in script.messages(out.decode("utf-8", "surrogateescape").splitlines()):
            if first == "done":
                return rest
            if first == "failed":
                raise HostError(self.name, errors.problem("task_refused", self._link.label, detail=rest))
        raise HostLost(self.name, errors.connection_lost(self._link.label, "cleaning up"))


def _drain(channel: Channel, enough: Callable[[bytearray], bool] = lambda _: False) -> tuple[bytes, bytes]:
    """Return a command's standard output and standard error, up to their end or a limit. Raises TimeoutError(output) as
    soon as `enough` returns true for the output received so far."""
    out, err = bytearray(), bytearray()
    while True:
        try:
            data = channel.receive(0.2)
        except TimeoutError:
            data = None
        out += data or b""
        err += channel.receive_error()
        if data == b"" or max(len(out), len(err)) > ANSWER_LIMIT + 4096:
            return bytes(out), bytes(err)
        if enough(out):
            raise TimeoutError(bytes(out))
