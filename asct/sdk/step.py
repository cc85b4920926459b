"""What to run on a host, as data. Arguments are lists and never become shell text built from values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program of kernels/<name>/, built for the host and put there by the toolchain."""

    name: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A program the host provides (fio, mpstat); the facts say where it is."""

    name: str


Program = Kernel | Tool


@dataclass(frozen=True, slots=True)
class Companion:
    """A program that runs beside a step: started before it, ended by SIGINT after it (mpstat writes its JSON then).

    Its standard output is kept as `stdout_file` in the step's folder. One that cannot be started is noted, not fatal.
    """

    program: Program
    arguments: tuple[str, ...]
    stdout_file: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One process of one repeat of one point.

    It runs in a folder of its own on the host. `files` are written there first (name to text), `collect` names the
    files fetched afterwards besides stdout and stderr. `timeout_s` None means the point's own limit. `label` says what
    it is to people who wait for a repeat of hours (`round 7, cell 12 of 56`); left out, its name does. `as_root` says
    that a kernel does more as root: it is run through sudo if plan and host grant that, and takes no `env` along then,
    but for the names of the locale.
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
    """What a finished step left: its exit status (negative: killed by that signal), and its texts by file name.

    `files` has `stdout`, `stderr` and every collected file that exists.
    """

    step: Step
    status: int
    files: Mapping[str, str]
    elapsed_ns: int = 0
    resumed: bool = False
    """The first output after the repeat had been cut off: an unknown time passed before it."""

    @property
    def stdout(self) -> str:
        """Standard output, possibly empty."""
        return self.files.get("stdout", "")

    @property
    def stderr(self) -> str:
        """Standard error, possibly empty."""
        return self.files.get("stderr", "")
