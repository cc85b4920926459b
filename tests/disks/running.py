"""asct apply in the background, the processes below it, and what must not be left of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.running import Ended, environment

JOB = "job.fio"
CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Applying:
    """A command that runs; its output goes to files in `cwd`."""

    process: subprocess.Popen[bytes]
    cwd: Path

    def below(self, name: str, word: str = "") -> list[int]:
        """The pids of the programs of that name that it started, by whatever detour, with that word among their
        arguments: oldest first."""
        found = {one.pid: one for one in processes()}
        return sorted(
            one.pid
            for one in found.values()
            if one.name == name and word in (*one.arguments, "") and self.process.pid in _ancestors(one, found)
        )

    def first(self, name: str) -> int:
        """The pid of the first one with a job of fio, as soon as it is there."""
        return int(until(lambda: self.below(name, JOB), f"{name} was not started")[0])

    def ended(self, seconds: float = 240) -> Ended:
        """How it ended."""
        code = self.process.wait(seconds)
        return Ended(code, *((self.cwd / name).read_text() for name in ("out", "err")))


@contextmanager
def applying(plan: str, cwd: Path, env: Mapping[str, str] | None = None) -> Iterator[Applying]:
    """`asct apply` of a plan, told to end at the end, so that it cleans up after a test that failed."""
    (cwd / "plan.yaml").write_text(plan)
    with (cwd / "out").open("wb") as out, (cwd / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "asct", "apply", "plan.yaml"],
            cwd=cwd, env=environment(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )  # fmt: skip
    try:
        yield Applying(process, cwd)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.wait(60)


def until(probe: Callable[[], Any], otherwise: str, seconds: float = 120) -> Any:
    """What the probe finds, once it finds something."""
    deadline = time.monotonic() + seconds
    while not (found := probe()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
    return found


@dataclass(frozen=True)
class Running:
    """A process that is no zombie."""

    pid: int
    name: str
    parent: int
    arguments: tuple[str, ...]


def processes() -> Iterator[Running]:
    """All that there are."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            head, _, tail = (folder / "stat").read_text().rpartition(")")
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state, parent = tail.split()[:2]
            if state != "Z":
                yield Running(int(folder.name), head.partition("(")[2], int(parent), tuple(words))


def _ancestors(one: Running, found: Mapping[int, Running]) -> Iterator[int]:
    while one.parent in found:
        yield one.parent
        one = found[one.parent]


def left(work: Path) -> list[str]:
    """What a run that worked in `work` left: programs that still have something open below it or stand in it, control
    groups, files. Programs get a moment to end."""
    deadline = time.monotonic() + 60
    while (found := [*_users(work), *_groups(), *_files(work)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _users(work: Path) -> Iterator[str]:
    for one in processes():
        with suppress(OSError):
            if Path(f"/proc/{one.pid}/cwd").readlink().is_relative_to(work):
                yield f"process {one.pid} {one.name}"


def _groups() -> Iterator[str]:
    """Control groups of guard that nobody is in: those of tests beside this one are full."""
    for folder in CGROUPS.glob("**/asct-guard-*"):
        with suppress(OSError):
            if not (folder / "cgroup.procs").read_text().strip():
                yield f"control group {folder}"


def _files(work: Path) -> Iterator[str]:
    for path in work.rglob("*"):
        if path.is_file():
            yield f"file {path}"
