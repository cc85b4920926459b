"""Run asct apply in the background, find the processes that it started, and check that nothing of them is left."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.awaiting import until
from tests.e2e.running import Ended, begin

JOB = "job.fio"
CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Applying:
    """A running command, whose output goes to files in `cwd`."""

    process: subprocess.Popen[str]
    cwd: Path

    def below(self, name: str, word: str = "") -> list[int]:
        """Return the pids of the programs with this name that the command started directly or indirectly and that have
        this word among their arguments, oldest first."""
        found = {one.pid: one for one in processes()}
        return sorted(
            one.pid
            for one in found.values()
            if one.name == name and word in (*one.arguments, "") and self.process.pid in _ancestors(one, found)
        )

    def first(self, name: str) -> int:
        """Return the pid of the first such program that runs a fio job, as soon as it exists."""
        return int(until(lambda: self.below(name, JOB), f"{name} was not started")[0])

    def ended(self, seconds: float = 240) -> Ended:
        """Wait for the command to end, and return how it ended."""
        code = self.process.wait(seconds)
        return Ended(code, *((self.cwd / name).read_text() for name in ("out", "err")))


@contextmanager
def applying(plan: str, cwd: Path, env: Mapping[str, str] | None = None) -> Iterator[Applying]:
    """Run `asct apply` for a plan, and stop it at the end, so that it cleans up even after a failed test."""
    (cwd / "plan.yaml").write_text(plan)
    with (cwd / "out").open("wb") as out, (cwd / "err").open("wb") as err:
        process = begin(cwd, env=env, stdout=out, stderr=err)
    try:
        yield Applying(process, cwd)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.wait(60)


@dataclass(frozen=True)
class Running:
    """A process that is not a zombie."""

    pid: int
    name: str
    parent: int
    arguments: tuple[str, ...]


def processes() -> Iterator[Running]:
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
    """Return what a run that worked in `work` left behind: programs that have a file below it open or use it as their
    current folder, control groups, and files. Programs get a moment to end."""
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
    """Yield guard's control groups that contain no process. Those of concurrent tests do contain processes."""
    for folder in CGROUPS.glob("**/asct-guard-*"):
        with suppress(OSError):
            if not (folder / "cgroup.procs").read_text().strip():
                yield f"control group {folder}"


def _files(work: Path) -> Iterator[str]:
    for path in work.rglob("*"):
        if path.is_file():
            yield f"file {path}"
