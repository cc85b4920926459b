"""The protocol of a transport: open a host, run programs in private folders, copy files.

Rules of every transport:
* arguments are lists; no value of a plan, fact or result becomes shell text unquoted;
* a program runs in a process group of its own and is stopped as a group (SIGINT, then SIGTERM, then SIGKILL);
* results come back as files of bounded size; a file name from a host never leads outside its folder;
* every failure of the transport itself is a `HostError`; a program that fails is a `TaskResult` with its status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from asct.diagnostics.model import Diagnostic


@dataclass(frozen=True, slots=True)
class Process:
    """A program on the host. `argv[0]` is an absolute path or a name on the host's PATH; `cwd` is absolute.

    Standard input is empty. Standard output and error go to the files of these names in `cwd`.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdout_file: str = "stdout"
    stderr_file: str = "stderr"


@dataclass(frozen=True, slots=True)
class Task:
    """A process with its files and companions, run as one exchange so that a remote point costs few round trips.

    `files` are written into `main.cwd` first. That folder gets mode 0700; `fresh` empties it. `companions` start before
    `main` and get SIGINT after it. `collect` names files of `cwd` that are copied into `into`, besides the stdout and
    stderr of all processes. `max_bytes` bounds each copied file, `max_total_bytes` all of them.
    """

    main: Process
    into: Path
    files: Mapping[str, str] = field(default_factory=dict)
    companions: tuple[Process, ...] = ()
    collect: tuple[str, ...] = ()
    timeout_s: float = 900.0
    fresh: bool = True
    max_bytes: int = 64 << 20
    max_total_bytes: int = 256 << 20
    key: str = ""
    """Identifies the task within the session: after an announcement, a lost connection or a restart of asct. Empty for
    a task that is never asked for again."""


@dataclass(frozen=True, slots=True)
class ReadingSpec:
    """Files of the host that are read right before and right after the main process of each task.

    `find` is shell text (a constant of the code) that prints the file names, one on each line; it runs once a session.
    `keep` is an extended regular expression that POSIX and Python read alike: the matching part of each line is kept.
    """

    find: str
    keep: str


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """The session of a run on a host, which locks the host. `owner` is shown to users who find the host locked.

    `work` is the work folder of an earlier part of the run, which is resumed if it is intact. `notice` receives
    diagnostics meanwhile, such as why a scheduler delays the run. `reading` is read at both ends of each task.
    """

    run: str
    owner: str
    work: str = ""
    notice: Callable[[Diagnostic], None] = lambda _: None
    reading: ReadingSpec | None = None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job for a scheduler: its id, its expected seconds, and the ids of the jobs whose results it needs."""

    id: str
    seconds: float
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostReadings:
    """The text that the session's `ReadingSpec` selects, right before and right after a main process.

    Lines `path:text`; empty when nothing was read (not requested, disk full, or the task was killed with its shell).
    `brief` means that the process took less than `readings.SHORT_TASK_S`, so that nothing was read after it. `cpu_ns`
    is the CPU time of the process and of the children it waited for, in steps of 10 ms; None when unknown.
    """

    before: str = ""
    after: str = ""
    cpu_ns: int | None = None
    brief: bool = False


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task. `status` is the exit status, negative for the signal that killed it, None for a timeout.

    `fetched` lists the files that are now in `into`; `notes` list failures besides the main process (a companion that
    could not be started, a file over its bound).
    """

    status: int | None
    elapsed_ns: int
    fetched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readings: HostReadings = field(default_factory=HostReadings)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a short command, decoded with replacement; for facts and housekeeping, not for measurements."""

    status: int
    stdout: str
    stderr: str


class Host(Protocol):
    """A host of a run. One thread at a time calls its methods, except `interrupt`.

    Methods with a default are for transports that keep no tasks and have no scheduler.
    """

    name: str
    transport: str

    def open(self, session: SessionSpec | None = None) -> None:
        """Connect. A `session` locks the host and allows tasks; without one the host is only read.

        Raises ConnectError with a hint how to fix it, HostLocked when another run holds the host.
        """
        ...

    @property
    def resumed(self) -> bool:
        """Whether `open` resumed the session of an earlier part of the run, with its finished and running tasks."""
        return False

    def wait_until_idle(self) -> None:
        """Wait until no task of an earlier part of the run is running (each ends by its own time limit)."""
        return

    def close(self) -> None:
        """Stop every running process, remove the work folder, disconnect. Never raises."""
        ...

    @property
    def work(self) -> str:
        """The run's private folder on the host: absolute, mode 0700, unpredictable; made by `open`."""
        ...

    @property
    def cache(self) -> str:
        """A folder of the account (mode 0700) that outlives the run, for built kernels."""
        ...

    def plan_jobs(self, requests: Sequence[JobRequest]) -> None:
        """Pass all jobs of the run on this host, in order, to a scheduler, which queues them."""
        return

    def begin_job(self, job_id: str) -> None:
        """Begin a job: the tasks that follow belong to it. Waits until the scheduler has started the job."""
        return

    def end_job(self, job_id: str, *, ok: bool) -> None:
        """End a job: it has no more tasks. `ok` tells whether jobs that need it may run."""
        return

    def announce(self, tasks: Sequence[Task]) -> None:
        """Announce tasks (with keys) that `run` will be called with in this order: the host runs them by itself, even
        while the connection is down. Otherwise each task starts when `run` is called."""
        return

    def cancel(self) -> None:
        """Discard announced tasks that have not started, and stop the one that is running."""
        return

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        """Run a task until it ends or reaches its time limit. Afterwards none of its processes is running."""
        ...

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        """Run a short command (output at most 1 MiB)."""
        ...

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        """Run a short script of asct with `sh` on a host that is not open, in one exchange: connect, run, disconnect.

        It has no work folder, takes no lock and leaves nothing behind (output at most 1 MiB). Raises as `open` does.
        """
        ...

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        """Copy a file to the host, first under a temporary name."""
        ...

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        """Copy a regular file from the host; links and devices are refused."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or folder below `work` or `cache`; any other path is refused."""
        ...

    def interrupt(self) -> None:
        """Stop the running process group, from another thread. `run` returns soon, `execute` raises HostLost."""
        ...
