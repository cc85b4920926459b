"""The commands to run on a host, as data. Arguments are passed as lists; no value is ever inserted into shell code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program in kernels/<name>/, which the toolchain builds for the host and copies to it."""

    name: str


def options(named: Mapping[str, object]) -> tuple[str, ...]:
    """Return the arguments `--name value` for a kernel. Options with the value None are omitted; lists are joined with
    commas."""
    texts = {
        name: ",".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)
        for name, value in named.items()
        if value is not None
    }
    return tuple(part for name, text in texts.items() for part in (f"--{name}", text))


def thousandths(value: float) -> int:
    """Convert a share to per mille, or seconds to milliseconds, as required by kernel options. The result is at least
    1."""
    return max(1, round(value * 1000))


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that is installed on the host (fio, mpstat). The facts contain its path."""

    name: str


Program = Kernel | Tool


@dataclass(frozen=True, slots=True)
class Companion:
    """A program that runs alongside a step, such as mpstat. It starts before the step. After the step has ended, it
    receives SIGINT, which makes mpstat finish its JSON output.

    The program's standard output is stored as `stdout_file` in the step's folder. If the program cannot be started,
    asct reports a note, not an error.
    """

    program: Program
    arguments: tuple[str, ...]
    stdout_file: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One process in a repeat of a point.

    The process runs in a folder of its own on the host. Before it starts, `files` (a mapping from name to text) are
    written to this folder. `collect` names the files to fetch afterward, in addition to stdout and stderr. If
    `timeout_s` is None, the time limit of the point applies. `label` describes the step in the progress display of a
    long repeat (`round 7, workload 2 of 9`); it defaults to the name. `as_root` marks a measurement kernel that can do
    more as root: if the plan and the host allow it, the kernel runs through sudo, in which case it receives only the
    locale from `env`.
    """

    name: str
    program: Program
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    collect: tuple[str, ...] = ()
    companions: tuple[Companion, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None
    label: str = ""
    as_root: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a finished step: its exit status, and the text of its files, keyed by name. If a signal killed the
    process, the status is the negative signal number.

    `files` contains `stdout`, `stderr`, and each file in the step's `collect` that exists.
    """

    step: Step
    status: int
    files: Mapping[str, str]
    elapsed_ns: int = 0
    resumed: bool = False
    """Whether this is the first output after an interruption of the repeat. How long the interruption lasted is
    unknown."""

    @property
    def stdout(self) -> str:
        """The standard output of the process, which may be empty."""
        return self.files.get("stdout", "")

    @property
    def stderr(self) -> str:
        """The standard error of the process, which may be empty."""
        return self.files.get("stderr", "")


@dataclass(frozen=True, slots=True)
class HostReadings:
    """The unmodified text of the telemetry that was read immediately before and after a step's process.

    Each line has the form `path:text`. The text is empty if nothing was read because readings were not requested, the
    disk was full, or the task was killed together with its shell. `brief` means that the process was too short to be
    followed by a reading. `cpu_ns` is the CPU time, in nanoseconds, that the step has used since the reading `before`,
    or None if it is unknown. This time includes the process, the children that it waited for, its shell, and any brief
    tasks that ran since that reading.
    """

    before: str = ""
    after: str = ""
    cpu_ns: int | None = None
    brief: bool = False
