"""The commands to run on a host, as data. Arguments are lists and never become shell text built from values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program of kernels/<name>/, which the toolchain builds for the host and copies to it."""

    name: str


def options(named: Mapping[str, object]) -> tuple[str, ...]:
    """Return the arguments `--name value` of a kernel; values of None are omitted, lists are joined with commas."""
    texts = {
        name: ",".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)
        for name, value in named.items()
        if value is not None
    }
    return tuple(part for name, text in texts.items() for part in (f"--{name}", text))


def thousandths(value: float) -> int:
    """Return a share as per mille, or seconds as milliseconds: at least 1, for options of kernels."""
    return max(1, round(value * 1000))


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that the host provides (fio, mpstat); the facts contain its path."""

    name: str


Program = Kernel | Tool


@dataclass(frozen=True, slots=True)
class Companion:
    """A program that runs during a step: started before it, ended by SIGINT after it (mpstat then writes its JSON).

    Its standard output is stored as `stdout_file` in the folder of the step. A companion that cannot be started is
    reported as a note, not as an error.
    """

    program: Program
    arguments: tuple[str, ...]
    stdout_file: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One process of one repeat of one point.

    It runs in its own folder on the host. `files` are written there first (name to text); `collect` names the
    files to fetch afterwards besides stdout and stderr. `timeout_s` None means the time limit of the point. `label`
    describes the step in the progress of a long repeat (`round 7, workload 2 of 9`); its default is the name. `as_root`
    marks a kernel that can do more as root: it runs through sudo if the plan and the host allow it, with the locale as
    its only variable of `env`.
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
    """The result of a finished step: its exit status (negative: killed by that signal), and its texts by file name.

    `files` contains `stdout`, `stderr` and every collected file that exists.
    """

    step: Step
    status: int
    files: Mapping[str, str]
    elapsed_ns: int = 0
    resumed: bool = False
    """Whether this is the first output after the repeat was interrupted: an unknown time passed before it."""

    @property
    def stdout(self) -> str:
        """Standard output, possibly empty."""
        return self.files.get("stdout", "")

    @property
    def stderr(self) -> str:
        """Standard error, possibly empty."""
        return self.files.get("stderr", "")
