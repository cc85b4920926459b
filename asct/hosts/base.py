"""The protocol that each transport implements: open a host, run programs in private folders, and copy files.

Every transport obeys these rules: * arguments are lists; no value from a plan, fact or result becomes part of shell
code without being quoted; * a program runs in a separate process group and is stopped as a group (SIGINT, then SIGTERM,
then SIGKILL); * results are returned as files of limited size; a file name supplied by a host never leads outside its
folder; * every failure of the transport itself raises `HostError`; a program that fails yields a `TaskResult` with its
status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from asct.diagnostics.model import Diagnostic
from asct.sdk.step import HostReadings


@dataclass(frozen=True, slots=True)
class Process:
    """A program on the host. `argv[0]` is an absolute path or a name on the host's PATH; `cwd` is absolute.

    Standard input is empty. Standard output and standard error are written to `stdout_file` and `stderr_file` in `cwd`.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdout_file: str = "stdout"
    stderr_file: str = "stderr"


@dataclass(frozen=True, slots=True)
class Task:
    """A process with its files and companions. The host receives everything at once, so that measuring a point on a
    remote host takes only a few round trips.

    Before the process starts, `files` are written to the folder `main.cwd`, which is given mode 0700. If `fresh` is
    set, the folder is emptied first. `companions` start before `main` and receive SIGINT after it has ended. `collect`
    lists files in `cwd` to copy into `into`, in addition to the standard output and standard error of all processes.
    `max_bytes` limits the size of each copied file, and `max_total_bytes` limits their total size.
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
    """A key that identifies the task within the session, even after a lost connection or a restart of asct. The key is
    required for announced tasks, and empty for tasks that are requested only once."""


@dataclass(frozen=True, slots=True)
class ReadingSpec:
    """Files on the host to read immediately before and immediately after the main process of each task.

    `find` is shell code (a constant in asct) that prints the file names, one per line; it runs once per session. `keep`
    is an extended regular expression that means the same in POSIX and Python. Only the matching parts of each line are
    kept.
    """

    find: str
    keep: str


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A run's session on a host. The session locks the host; `owner` is shown to users who find the host locked.

    `token` (32 hexadecimal digits) identifies the session: if this session still exists, asct resumes it. If `token` is
    empty, asct chooses a new one. `notice` receives diagnostics during the session, for example why a scheduler delays
    the run. `reading` is read before and after each task.

    `script` is shell code (a constant in asct). It is sent together with the request to open the session, and runs as
    soon as the host is locked; `Host.answer` returns its output. In the script, the variables `root` and `cache`
    contain the paths of the work folder and the cache folder. The script is stopped when the session ends. A resumed
    session does not run the script, because a task may be running.
    """

    run: str
    owner: str
    token: str = ""
    notice: Callable[[Diagnostic], None] = lambda _: None
    reading: ReadingSpec | None = None
    script: str = ""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job for a scheduler: its id, its expected duration in seconds, and the ids of the jobs whose results it
    needs."""

    id: str
    seconds: float
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task.

    `status` is the exit status, the negative signal number if a signal killed the process, or None if the process
    reached its time limit. `fetched` lists the files that are now in `into`. `notes` lists all failures except those of
    the main process, such as a companion that could not be started or a file that was too large.
    """

    status: int | None
    elapsed_ns: int
    fetched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readings: HostReadings = field(default_factory=HostReadings)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a short command. Short commands read facts and do housekeeping; they never measure.

    Invalid bytes in the output become replacement characters.
    """

    status: int
    stdout: str
    stderr: str


class Host(Protocol):
    """A host in a run. Its methods are called by only one thread at a time, except `interrupt`.

    The default implementations are for transports that have no scheduler and do not store tasks.
    """

    name: str
    transport: str

    def open(self, session: SessionSpec | None = None) -> None:
        """Connect. A `session` locks the host and allows tasks; without a session, the host can only be read.

        Raises ConnectError, which explains how to fix the problem, or HostLocked if another run has locked the host.
        """
        ...

    @property
    def resumed(self) -> bool:
        """Whether `open` resumed a session from an earlier part of the run, with its finished and running tasks."""
        return False

    def answer(self, *, timeout_s: float = 60.0) -> CommandResult | None:
        """Wait for the output of the session's script and return it, or None if there is no script. This method is
        called once, before the first task.

        Only standard output is returned, up to 1 MiB. Raises the same errors as `execute`.
        """
        return None

    def wait_until_idle(self) -> None:
        """Wait until no task from an earlier part of the run is running. Each task ends at its time limit at the
        latest."""
        return

    def close(self) -> Diagnostic | None:
        """Stop all running processes, remove the work folder and disconnect. Raises no exception.

        Returns a diagnostic if tasks may still be running because the host cannot be reached.
        """
        ...

    @property
    def work(self) -> str:
        """The run's private folder on the host, which `open` creates. Its path is absolute and unpredictable; its mode
        is 0700."""
        ...

    @property
    def cache(self) -> str:
        """The account's folder (mode 0700) for built measurement kernels. It is kept after the run."""
        ...

    def plan_jobs(self, requests: Sequence[JobRequest]) -> None:
        """Pass all jobs of the run on this host to a scheduler, which queues them in the given order."""
        return

    def begin_job(self, job_id: str) -> None:
        """Begin a job. All tasks until `end_job` belong to it. Waits until the scheduler has started the job."""
        return

    def end_job(self, job_id: str, *, ok: bool) -> None:
        """End a job after its last task. `ok` is True if jobs that need its results may run."""
        return

    def announce(self, tasks: Sequence[Task]) -> None:
        """Announce the tasks that `run` will be called for, in this order. Each task must have a key. The host runs
        announced tasks without further requests, even while the connection is down. All other tasks start only when
        `run` is called."""
        return

    def cancel(self) -> None:
        """Discard the announced tasks that have not started, and stop the running task, if any."""
        return

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        """Run a task until it ends or reaches its time limit. Afterward, none of its processes are running."""
        ...

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        """Run a short command, whose output is limited to 1 MiB."""
        ...

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        """Run one of asct's short scripts with `sh` on a host that is not open: connect, run the script and disconnect.

        The script has no work folder, takes no lock and leaves nothing behind. Its output is limited to 1 MiB. Raises
        the same errors as `open`.
        """
        ...

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> None:
        """Copy a file to the host under a temporary name, then rename it."""
        ...

    def get(self, source: str, target: Path, *, max_bytes: int = 64 << 20) -> None:
        """Copy a regular file from the host. Links, devices and files larger than `max_bytes` are rejected."""
        ...

    def sums(self, path: str) -> list[str]:
        """Return the SHA-256 recorded in `path`.sha256 and, if the host can compute it, that of the executable file
        `path`. Return an empty list if one of the files is missing or not executable."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or folder below `work` or `cache`. Any other path is rejected."""
        ...

    def interrupt(self) -> None:
        """Stop the running process group. May be called from another thread. `run` then returns promptly, and `execute`
        raises HostLost. If a file is being copied, stop that; `run`, `put` and `get` then raise HostError."""
        ...
