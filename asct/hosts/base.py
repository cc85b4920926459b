"""The protocol of a transport: open a host, run programs in private folders, move files. One file per transport.

Rules every transport keeps:
* arguments are lists; no value of a plan, fact or result becomes shell text unquoted;
* a program runs in a process group of its own and is ended as a group (SIGINT, then SIGTERM, then SIGKILL);
* results come back as files, bounded in size; a name fetched from a host never leaves the folder it is meant for;
* every failure of the transport itself is a `HostError`; a program that fails is a `Finished` with its status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


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
    besides the stdout and stderr of all processes. `max_bytes` bounds each fetched file.
    """

    main: Process
    into: Path
    files: Mapping[str, str] = field(default_factory=dict)
    companions: tuple[Process, ...] = ()
    collect: tuple[str, ...] = ()
    timeout_s: float = 900.0
    fresh: bool = True
    max_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Finished:
    """How a task ended. `status` is the exit status, negative for the signal that killed it, None when it timed out.

    `fetched` lists the files now in `into`; `notes` what went wrong beside the main process (a companion that could
    not start, a file over the bound).
    """

    status: int | None
    elapsed_ns: int
    fetched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A short command's answer, text decoded with replacement; for facts and housekeeping, not for results."""

    status: int
    stdout: str
    stderr: str


class Host(Protocol):
    """An open (or openable) host. Methods are called from one thread at a time, except `interrupt`."""

    name: str
    transport: str

    def open(self) -> None:
        """Connect; raises ConnectError with the way out in its hint."""
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

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> Finished:
        """Run a task to its end, or to its time limit; then nothing of it is left running."""
        ...

    def answer(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> Answer:
        """Run a short command (output at most 1 MiB)."""
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
