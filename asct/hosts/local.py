"""This machine: programs are started directly, in process groups of their own."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType

from asct.errors import ConnectError, HostError, HostLost, HostTimeout
from asct.hosts import problems, script
from asct.hosts.around import BRIEF_S, read_files
from asct.hosts.base import Answer, Around, Finished, Host, Process, Reading, Session, Task, Unqueued
from asct.hosts.feed import LineFeed
from asct.hosts.folders import (
    Folders,
    copy_file,
    empty_folder,
    fetch_output,
    open_output,
    remove_tree,
    store_file,
    write_text,
)
from asct.hosts.hostlock import HostLock
from asct.hosts.incoming import make_folder
from asct.hosts.paths import below, inner_name
from asct.hosts.waiting import cpu_ns, wait_exit
from asct.plan.model import HostSpec

ANSWER_LIMIT = 1 << 20
GRACE_S = 2.0
"""Between SIGINT, SIGTERM and SIGKILL."""
UNKILLABLE_S = 10.0
LOOK_S = 0.2
BUSY_S = 2.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def make(spec: HostSpec, folder: Path) -> Host:
    """This machine; `folder` is not needed."""
    return LocalHost(spec.name, spec.workdir)


class LocalHost(Unqueued):
    """The Host protocol on this machine."""

    transport = "local"

    def __init__(self, name: str, base: str) -> None:
        self.name = name
        self._base = base
        self._folders: Folders | None = None
        self._lock = HostLock(name)
        self._mutex = threading.Lock()
        self._running = False
        self._interrupted = False
        self._wake = (-1, -1)
        self._keep = re.compile("")
        self._files: list[str] = []
        self._recent = (-1.0, "")

    @property
    def work(self) -> str:
        return self._opened().work

    @property
    def cache(self) -> str:
        return self._opened().cache

    def _opened(self) -> Folders:
        if self._folders is None:
            raise HostLost(self.name, problems.connection_lost(self.name, "idle", "not open"))
        return self._folders

    def open(self, session: Session | None = None) -> None:
        if session is not None:
            self._lock.take(session.owner)
        try:
            self._folders = Folders.make(Path(self._base))
        except OSError as error:
            detail = f"{error.filename or self._base}: {error.strerror or error}"
            self._lock.release()
            raise ConnectError(self.name, problems.no_work_folder(self.name, self._base, detail)) from error
        self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        if session is not None and session.reading is not None:
            self._prepare(session.reading)

    def _prepare(self, reading: Reading) -> None:
        """Which files are read around each task; none when there is no shell to find them."""
        with contextlib.suppress(HostError):
            self._files = self.answer(["sh", "-c", reading.find]).stdout.splitlines()
        self._keep = re.compile(reading.keep)

    def close(self) -> None:
        self.interrupt()
        folders, self._folders = self._folders, None
        if folders is not None:
            remove_tree(Path(folders.work))
            self._lock.release()
            self._close_wake()

    def _close_wake(self) -> None:
        with self._mutex:
            for end in self._wake:
                os.close(end)
            self._wake = (-1, -1)

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> Finished:
        script.task_line(self.name, task, empty=False)  # refuses what a remote host would refuse
        folder = Path(task.main.cwd)
        if task.fresh:
            below(self.name, task.main.cwd, [self.work])
        with self._busy():
            self._set_up(task, folder)
            return self._run(task, LineFeed(on_line) if on_line else None)

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """Something runs that `interrupt` may end."""
        with self._mutex:
            self._running, self._interrupted = True, False
            self._drain_wake()
        try:
            yield
        finally:
            with self._mutex:
                self._running = False

    def _set_up(self, task: Task, folder: Path) -> None:
        make_folder(task.into)
        try:
            empty_folder(folder, fresh=task.fresh)
            for name, text in task.files.items():
                write_text(folder / inner_name(self.name, name), text)
        except OSError as error:
            detail = f"{error.filename or folder}: {error.strerror or error}"
            raise HostError(self.name, problems.task_refused(self.name, detail)) from error

    def _run(self, task: Task, feed: LineFeed | None) -> Finished:
        with contextlib.ExitStack() as stack:
            companions = [stack.enter_context(_Group.start(one)) for one in task.companions]
            before = self._read_recently()
            began = time.monotonic_ns()
            main = stack.enter_context(_Group.start(task.main))
            in_time = self._attend(
                main, began / 1e9 + task.timeout_s, Path(task.main.cwd) / task.main.stdout_file, feed
            )
            if not in_time:
                main.end()
            status = main.reap()
            elapsed_ns = time.monotonic_ns() - began
            brief = elapsed_ns < BRIEF_S * 1e9 and bool(self._files)
            around = Around(before, "" if brief else self._read(), None if brief else main.cpu_ns, brief)
            statuses = _end_companions(companions)
        fetched, notes = self._fetch(task)
        if feed is not None and task.main.stdout_file in fetched:
            feed.finish((task.into / task.main.stdout_file).read_bytes())
        notes += script.companion_notes(task, statuses)
        timed_out = not in_time and not self._interrupted
        return Finished(None if timed_out else status, elapsed_ns, tuple(fetched), tuple(notes), around)

    def _read(self) -> str:
        """What the session wants to be read around tasks."""
        self._recent = (time.monotonic(), read_files(self._files, self._keep))
        return self._recent[1]

    def _read_recently(self) -> str:
        """The same, as it was read just now if it was."""
        return self._recent[1] if time.monotonic() - self._recent[0] <= BRIEF_S else self._read()

    def _attend(self, main: _Group, until_s: float, stdout: Path, feed: LineFeed | None) -> bool:
        """Wait for the main process; False when it has to be ended: its time is over, or `interrupt` was called."""
        while not self._interrupted:
            left = until_s - time.monotonic()
            if left <= 0:
                return False
            if main.wait(min(left, LOOK_S) if feed else left, self._wake[0]):
                return True
            if feed is not None:
                with contextlib.suppress(OSError), stdout.open("rb") as file:
                    file.seek(feed.offset)
                    feed.take(file.read(1 << 16))
        return False

    def _fetch(self, task: Task) -> tuple[list[str], list[str]]:
        fetched, notes, left = [], [], task.max_total_bytes
        for path, name in script.wanted_files(self.name, task):
            make_folder((task.into / name).parent)
            note = fetch_output(Path(task.main.cwd) / path, task.into / name, min(task.max_bytes, left))
            if note:
                notes.append(f"{name} {note}")
            elif note is not None:
                fetched.append(name)
                left -= (task.into / name).stat().st_size
        return fetched, notes

    def answer(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> Answer:
        return self._answer(argv, self.work, timeout_s, stdin)

    def glance(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> Answer:
        self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return self._answer(["sh", "-s", *arguments], "/", timeout_s, text)
        finally:
            self._close_wake()

    def _answer(self, argv: Sequence[str], folder: str, timeout_s: float, stdin: str) -> Answer:
        script.call(self.name, "answer", *argv)  # refuses what a remote host would refuse
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin.encode("utf-8", "surrogateescape"))
            given.seek(0)
            process = Process(tuple(argv), folder)
            streams = (given.fileno(), out.fileno(), err.fileno())
            with self._busy(), _Group.start(process, streams=streams) as group:
                self._hear_out(group, argv[0], timeout_s, streams[1:])
                status = group.reap()
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read(ANSWER_LIMIT + 1))
        if max(map(len, texts)) > ANSWER_LIMIT:
            raise HostError(self.name, problems.answer_too_long(self.name, argv[0], ANSWER_LIMIT))
        stdout, stderr = (text.decode("utf-8", "replace") for text in texts)
        return Answer(status, stdout, stderr)

    def _hear_out(self, group: _Group, program: str, timeout_s: float, streams: Sequence[int]) -> None:
        """Wait until an answer is whole; raises HostError when it takes or gets too long, or `interrupt` was called."""
        until = time.monotonic() + timeout_s
        while not group.wait(min(LOOK_S, max(0.0, until - time.monotonic())), self._wake[0]):
            if self._interrupted:
                raise HostLost(self.name, problems.interrupted(self.name, program))
            if any(os.fstat(stream).st_size > ANSWER_LIMIT for stream in streams):
                raise HostError(self.name, problems.answer_too_long(self.name, program, ANSWER_LIMIT))
            if time.monotonic() >= until:
                raise HostTimeout(self.name, problems.no_answer(self.name, f"running {program}", timeout_s))

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        below(self.name, target, [self.work, self.cache])
        with self._file_errors(target):
            store_file(source, Path(target), mode)

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        with self._file_errors(source):
            try:
                if not copy_file(Path(source), target, max_bytes):
                    raise HostError(self.name, problems.too_large(self.name, source, max_bytes))
            except ValueError:
                raise HostError(self.name, problems.not_regular(self.name, source)) from None

    @contextlib.contextmanager
    def _file_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            detail = error.strerror or str(error)
            raise HostError(self.name, problems.file_failed(self.name, path, detail)) from error

    def remove(self, path: str) -> None:
        roots = [self.work, self.cache]
        below(self.name, path, roots)
        real = os.path.realpath(os.path.dirname(path))  # noqa: PTH120 - the last part itself is not followed
        if not any(f"{real}/".startswith(f"{root}/") for root in roots):
            raise HostError(self.name, problems.path_refused(self.name, path, "it leaves the folder through a link"))
        remove_tree(Path(path))

    def interrupt(self) -> None:
        with self._mutex:
            if self._running and self._wake[1] >= 0:
                self._interrupted = True
                os.write(self._wake[1], b"!")

    def _drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake[0], 4096)


@cache
def _environment() -> dict[str, str]:
    """What programs inherit; taken once, and in the C locale, as on a remote host."""
    return {**os.environ, "LC_ALL": "C"}


def _spawn(process: Process, folder: Path, streams: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    """Start a program. One just written is busy as long as a process that another thread forks meanwhile holds its file
    open, which it does until it executes something itself: a matter of milliseconds."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            return subprocess.Popen(
                process.argv,
                cwd=folder,
                env={**_environment(), **process.env},
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                start_new_session=True,
                umask=0o077,
            )
        except OSError as error:
            if error.errno != errno.ETXTBSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)


class _Group:
    """A program in a process group of its own. The group is signalled only while its leader is not yet reaped."""

    def __init__(self, process: subprocess.Popen[bytes] | None, status: int = 0) -> None:
        self._process = process
        self._status = status
        self.cpu_ns: int | None = None
        """CPU time of the leader and of all it waited for, once it was reaped."""

    @classmethod
    def start(cls, process: Process, streams: tuple[int, int, int] | None = None) -> _Group:
        """Start it; one that cannot be started has the shell's status: 127 missing, 126 not to be run."""
        folder = Path(process.cwd)
        with contextlib.ExitStack() as stack:
            if streams is None:
                out = stack.enter_context(open_output(folder / process.stdout_file))
                err = stack.enter_context(open_output(folder / process.stderr_file))
                streams = (subprocess.DEVNULL, out.fileno(), err.fileno())
            try:
                return cls(_spawn(process, folder, streams))
            except OSError as error:
                os.write(streams[2], f"{process.argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
                return cls(None, 127 if isinstance(error, FileNotFoundError) else 126)

    def wait(self, timeout_s: float, wake: int = -1) -> bool:
        """Wait for its leader to end; False when the time is over or `wake` is readable."""
        return self._process is None or wait_exit(self._process.pid, timeout_s, wake)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def end(self) -> None:
        """SIGINT, SIGTERM, SIGKILL, each after a grace, until the leader has ended."""
        for number in ENDING:
            self.signal(number)
            if self.wait(GRACE_S):
                return

    def reap(self) -> int:
        """The leader's status once it has ended; what is left of its group is killed."""
        if self._process is not None:
            self.signal(signal.SIGKILL)
            if self._process.returncode is None:
                self.cpu_ns = cpu_ns(self._process.pid)
            try:
                self._status = self._process.wait(UNKILLABLE_S)
            except subprocess.TimeoutExpired:  # it hangs in the kernel; nobody can end it
                self._status = -signal.SIGKILL
        return self._status

    def __enter__(self) -> _Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None:
            self.signal(signal.SIGINT)  # a last chance to tidy up before reap() kills
            self.wait(GRACE_S)
        self.reap()


def _end_companions(companions: Sequence[_Group]) -> list[int]:
    """SIGINT to all of them, then wait for each."""
    for one in companions:
        one.signal(signal.SIGINT)
    for one in companions:
        if not one.wait(GRACE_S):
            one.end()
    return [one.reap() for one in companions]
