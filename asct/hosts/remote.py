"""A host behind a link: every task is one exchange with runner.sh, results come as files."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from asct.errors import AsctError, ConnectError, HostError, HostLost, HostTimeout
from asct.hosts import problems, script
from asct.hosts.base import Answer, Finished, Session, Task, Unqueued
from asct.hosts.exchange import Exchange
from asct.hosts.feed import LineFeed
from asct.hosts.incoming import make_folder, save
from asct.hosts.link import Channel, Link
from asct.hosts.paths import below

ANSWER_LIMIT = 1 << 20
SHORT_S = 30.0
"""Time for a short exchange: opening a channel, a few small files."""


class RemoteHost(Unqueued):
    """The Host protocol over a Link; the host needs a POSIX shell and the link's file transfer, nothing else."""

    def __init__(self, name: str, transport: str, base: str, link: Link) -> None:
        self.name = name
        self.transport = transport
        self._base = base
        self._link = link
        self._work = ""
        self._cache = ""
        self._posix_login = False
        self._lock = threading.Lock()
        self._exchange: Exchange | None = None
        self._interrupted = False
        self._ready: Channel | None = None

    @property
    def work(self) -> str:
        return self._work

    @property
    def cache(self) -> str:
        return self._cache

    def open(self, session: Session | None = None) -> None:
        self._link.connect()
        try:
            self._make_work_folder()
        except HostError as error:
            self._link.close()
            raise ConnectError(self.name, *error.diagnostics) from error

    def _make_work_folder(self) -> None:
        text = script.opening(self.name, self._base, secrets.token_hex(16))
        doing = "making the work folder"
        with self._link.within(SHORT_S, doing):
            channel = self._link.start("exec sh -s")
            channel.send(_encoded(text))
            channel.finish_input()
            out, err = _drain(channel, ANSWER_LIMIT)
        found = dict(script.answers(out.decode("utf-8", "surrogateescape").splitlines()))
        if "failed" in found:
            detail = found["failed"]
            raise HostError(self.name, problems.no_work_folder(self._link.place, self._base, detail))
        if not {"work", "cache", "ready"} <= found.keys():
            seen = (out + err).decode("utf-8", "replace")
            raise HostError(self.name, problems.strange_shell(self._link.place, doing, seen))
        self._work, self._cache = found["work"], found["cache"]
        self._posix_login = found.get("shell") == "posix"

    def close(self) -> None:
        self.interrupt()
        try:
            if self._work and self._link.alive():
                self._housekeeping("leave")
        except AsctError:
            pass  # the connection is gone; the next run of this account clears what is left
        finally:
            self._work = ""
            self._ready = None
            self._link.close()

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> Finished:
        if task.fresh:
            below(self.name, task.main.cwd, [self._work])
        script.task_line(self.name, task, empty=False)  # refuses names and arguments before anything is touched
        make_folder(task.into)
        feed = LineFeed(on_line) if on_line else None
        with self._link.within(SHORT_S, f"starting {task.main.argv[0]}"):
            empty = task.fresh and not self._link.files.make_folder(task.main.cwd)
            line = _encoded(script.task_line(self.name, task, empty=empty))
            exchange = Exchange(self.name, self._link, task, feed)
            with self._lock:
                self._exchange = exchange
            try:
                ready, self._ready = self._ready, None
                exchange.begin(self._runner_command(), line, ready)
            except BaseException:
                self._forget()
                raise
        try:
            return self._attend(exchange, task, feed)
        finally:
            self._forget()

    def _attend(self, exchange: Exchange, task: Task, feed: LineFeed | None) -> Finished:
        with self._link.within(task.timeout_s + SHORT_S, f"running {task.main.argv[0]}"):
            try:
                exchange.attend()
            except BaseException:
                exchange.abandon()
                raise
        flags, statuses = exchange.flags, exchange.companions
        if flags is None:
            flags = self._flags(task)
        self._prepare_runner()
        notes = [*exchange.notes, *script.companion_notes(task, statuses)]
        fetched: list[str] = []
        with self._link.within(max(SHORT_S, task.timeout_s), "fetching results"):
            for (path, name), flag in zip(script.wanted_files(self.name, task), flags, strict=True):
                note = self._fetch(task, path, name, flag)
                if note:
                    notes.append(note)
                elif flag != "-":
                    fetched.append(name)
            exchange.end()
        if feed is not None and task.main.stdout_file in fetched:
            feed.finish((task.into / task.main.stdout_file).read_bytes())
        return Finished(exchange.status, exchange.elapsed_ns, tuple(fetched), tuple(notes))

    def _fetch(self, task: Task, path: str, name: str, flag: str) -> str:
        """Bring one file of a task here; returns a note when it did not come."""
        if flag == "-":
            return ""
        if flag == "x":
            return f"{name} is not a regular file and was not fetched"
        target = task.into / name
        make_folder(target.parent)
        if flag == "e":
            save(target, [])
            return ""
        source = path if path.startswith("/") else f"{task.main.cwd}/{path}"
        if self._link.files.fetch_regular(source, target, task.max_bytes):
            return ""
        return f"{name} is larger than {task.max_bytes} bytes and was not fetched"

    def _prepare_runner(self) -> None:
        """Start the runner of the next task while this one's results are fetched: it waits for its line, and a task
        then takes a third less."""
        with self._link.within(SHORT_S, "starting a shell"):
            self._ready = self._link.start(self._runner_command())

    def _flags(self, task: Task) -> str:
        """The state of the files of a task whose runner was killed with it."""
        names = [path for path, _ in script.wanted_files(self.name, task)]
        enter = script.call(self.name, "enter", "0", task.main.cwd)
        text = self._housekeeping(f"{enter}; {script.call(self.name, 'report', *names)}")
        return script.read_report(text).flags

    def answer(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> Answer:
        line = script.call(self.name, "answer", *argv) + "\n"
        self._interrupted = False
        try:
            with self._link.within(timeout_s + SHORT_S, f"running {argv[0]}"):
                channel = self._link.start(self._runner_command())
                channel.send(_encoded(line) + stdin.encode("utf-8", "surrogateescape"))
                channel.finish_input()
                until = time.monotonic() + timeout_s
                out, err = _drain(channel, ANSWER_LIMIT + 4096, lambda: self._interrupted or time.monotonic() > until)
        except TimeoutError as late:
            self._finish_group(late.args[0])
            if self._interrupted:
                raise HostLost(self.name, problems.interrupted(self._link.place, argv[0])) from None
            raise self._late(argv[0], timeout_s) from None
        head, _, stdout = out.partition(b"asct:begin ")
        pid, _, stdout = stdout.partition(b"\n")
        if not pid.isdigit():
            failed = dict(script.answers(head.decode("utf-8", "replace").splitlines())).get("failed", "")
            seen = failed or (out + err).decode("utf-8", "replace")
            raise HostError(self.name, problems.strange_shell(self._link.place, f"running {argv[0]}", seen))
        _, _, stderr = err.partition(b"asct:begin\n")
        if len(stdout) > ANSWER_LIMIT or len(stderr) > ANSWER_LIMIT:
            self._finish_group(out)
            raise HostError(self.name, problems.answer_too_long(self._link.place, argv[0], ANSWER_LIMIT))
        return Answer(channel.status(), stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        below(self.name, target, [self._work, self._cache])
        with self._link.within(_transfer_s(source.stat().st_size), f"sending {target}"):
            self._link.files.store(source, target, mode)

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        with self._link.within(_transfer_s(max_bytes), f"fetching {source}"):
            if not self._link.files.fetch(source, target, max_bytes):
                raise HostError(self.name, problems.too_large(self.name, source, max_bytes))

    def remove(self, path: str) -> None:
        below(self.name, path, [self._work, self._cache])
        self._housekeeping(script.call(self.name, "remove", path, self._work, self._cache))

    def interrupt(self) -> None:
        self._interrupted = True
        with self._lock:
            if self._exchange is not None:
                self._exchange.interrupt()

    def _forget(self) -> None:
        with self._lock:
            self._exchange = None

    def _runner_command(self) -> str:
        return script.runner_command(self._work, posix_login=self._posix_login)

    def _housekeeping(self, line: str) -> str:
        """Run a line of the runner; returns what follows `done`."""
        with self._link.within(SHORT_S, "tidying up"):
            channel = self._link.start(self._runner_command())
            channel.send(_encoded(line + "\n"))
            out, _ = _drain(channel, ANSWER_LIMIT)
        for first, rest in script.answers(out.decode("utf-8", "surrogateescape").splitlines()):
            if first == "done":
                return rest
            if first == "failed":
                raise HostError(self.name, problems.task_refused(self._link.place, rest))
        raise HostLost(self.name, problems.connection_lost(self._link.place, "tidying up"))

    def _finish_group(self, out: bytes) -> None:
        for first, rest in script.answers(out.decode("utf-8", "replace").splitlines()):
            if first == "begin" and rest.isdigit():
                self._housekeeping(script.call(self.name, "finish", rest))

    def _late(self, program: str, seconds: float) -> HostTimeout:
        return HostTimeout(self.name, problems.no_answer(self._link.place, f"running {program}", seconds))


def _transfer_s(size: int) -> float:
    """Time allowed for a transfer: at least 1 MB/s after the first half minute."""
    return SHORT_S + size / 1e6


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _drain(channel: Channel, limit: int, enough: Callable[[], bool] = lambda: False) -> tuple[bytes, bytes]:
    """Both outputs of a command to their end, or to `limit` bytes; raises TimeoutError(output) once it is `enough`."""
    out, err = bytearray(), bytearray()
    for data in _chunks(channel):
        out += data
        err += channel.receive_error()
        if len(out) > limit or len(err) > limit:
            break
        if enough():
            raise TimeoutError(bytes(out))
    err += channel.receive_error()
    return bytes(out), bytes(err)


def _chunks(channel: Channel) -> Iterator[bytes]:
    """Parts of standard output; an empty one each 0.2 s without any, so that the caller can look around."""
    while True:
        try:
            data = channel.receive(0.2)
        except TimeoutError:
            yield b""
            continue
        if not data:
            return
        yield data
