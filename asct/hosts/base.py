"""The protocol of a transport: open a host, run programs in private folders, move files. One file per transport.

Rules every transport keeps:
* arguments are lists; no value of a plan, fact or result becomes shell text unquoted;
* a program runs in a process group of its own and is ended as a group (SIGINT, then SIGTERM, then SIGKILL);
* results come back as files, bounded in size; a name fetched from a host never leaves the folder it is meant for;
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
    """A process with what surrounds it, run as one exchange so that a remote point costs few round trips.

    `files` are written into `main.cwd` first (made with mode 0700 when missing, or when `fresh`, which also empties
    it).
    `companions` start before `main` and get SIGINT after it. `collect` names files of `cwd` fetched into `into`
    besides the stdout and stderr of all processes. `max_bytes` bounds each fetched file, `max_total_bytes` all of them.
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
    """Names the task within the session, so that it is known again when it was announced, or when the connection or
    asct itself was lost meanwhile; empty: it is of no use to know it again."""


@dataclass(frozen=True, slots=True)
class ReadingSpec:
    """Files of the host that are read right before and right after the main process of each task. A transport knows
    nothing of what they mean.

    `find` is shell text (a constant of the code) that prints their names, one a line; it is run once a session. `keep`
    is an extended regular expression that POSIX and Python read alike: of each line the part that it matches is kept.
    """

    find: str
    keep: str


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a host is opened for: to measure for one run, alone. `owner` is what others are told who find the host
    locked. `work` is the folder that an earlier part of the run left there, to be taken up again if it is still whole.
    `notice` hears what the user should know meanwhile, such as why a scheduler lets the run wait. `reading` is what is
    read around each task.
    """

    run: str
    owner: str
    work: str = ""
    notice: Callable[[Diagnostic], None] = lambda _: None
    reading: ReadingSpec | None = None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a scheduler must know of a job before it begins: its id, how long it may take, the ids of jobs it needs."""

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
    """How a task ended. `status` is the exit status, negative for the signal that killed it, None when it timed out.

    `fetched` lists the files now in `into`; `notes` what went wrong beside the main process (a companion that could
    not start, a file over the bound).
    """

    status: int | None
    elapsed_ns: int
    fetched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readings: HostReadings = field(default_factory=HostReadings)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A short command's answer, text decoded with replacement; for facts and housekeeping, not for results."""

    status: int
    stdout: str
    stderr: str


class Host(Protocol):
    """An open (or openable) host. Methods are called from one thread at a time, except `interrupt`."""

    name: str
    transport: str

    def open(self, session: SessionSpec | None = None) -> None:
        """Connect. With a `session` the host's lock is taken and programs may be measured; without, one only looks.

        Raises ConnectError with the way out in its hint, HostLocked when someone else measures there.
        """
        ...

    @property
    def adopted(self) -> bool:
        """Whether `open` took up the folder of an earlier part of the run, with what was and is measured there."""
        ...

    def wait_until_idle(self) -> None:
        """Wait until nothing of an earlier part runs any more (each task ends by its own limit)."""
        ...

    def close(self) -> None:
        """End every process still running, remove the work folder, disconnect. Never raises."""
        ...

    @property
    def work(self) -> str:
        """The run's private folder on the host: absolute, mode 0700, unpredictable; made by `open`."""
        ...

    @property
    def cache(self) -> str:
        """A folder of the account (mode 0700) that outlives the run: built kernels."""
        ...

    def plan_jobs(self, briefs: Sequence[JobRequest]) -> None:
        """The jobs to come, in their order. A scheduler queues them; other transports need not know."""
        ...

    def begin_job(self, job_id: str) -> None:
        """The tasks that follow belong to this job; a scheduler waits here until the job has its machine."""
        ...

    def end_job(self, job_id: str, *, ok: bool) -> None:
        """No more tasks of this job; `ok` tells whether jobs that need it may run."""
        ...

    def announce(self, tasks: Sequence[Task]) -> None:
        """Announce tasks (with keys) that `run` will be asked for in this order: the host works them off by itself,
        also while the connection is down. A transport that cannot does nothing."""
        ...

    def cancel(self) -> None:
        """Forget announced tasks that have not begun, and end the one that runs."""
        ...

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        """Run a task to its end, or to its time limit; then nothing of it is left running."""
        ...

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        """Run a short command (output at most 1 MiB)."""
        ...

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        """Run a short script of ours by `sh` on a host that is not open, in one exchange: connect, run, disconnect. It
        has no work folder, takes no lock, and nothing of it is left (output at most 1 MiB). Raises as `open` does."""
        ...

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        """Copy a file to the host, under a temporary name first."""
        ...

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        """Copy a regular file from the host; links and devices are refused."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or folder below `work` or `cache`; refuses any other path."""
        ...

    def interrupt(self) -> None:
        """From another thread: end what runs now (process group): `run` returns soon, `answer` raises HostLost."""
        ...


class WithoutQueue:
    """The part of a Host of a transport that keeps no tasks: what it is told ahead does not concern it."""

    @property
    def adopted(self) -> bool:
        """Nothing is kept between the parts of a run."""
        return False

    def wait_until_idle(self) -> None:
        """Nothing of an earlier part runs."""

    def plan_jobs(self, briefs: Sequence[JobRequest]) -> None:
        """No scheduler."""

    def begin_job(self, job_id: str) -> None:
        """No scheduler."""

    def end_job(self, job_id: str, *, ok: bool) -> None:
        """No scheduler."""

    def announce(self, tasks: Sequence[Task]) -> None:
        """Each task is run when it is asked for."""

    def cancel(self) -> None:
        """Nothing was announced."""
