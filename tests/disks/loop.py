"""A loop device over a file of its own, and a limit on what a program may do to it.

`losetup` needs root. The limits are those of the kernel's block throttle: exact to a fraction of a percent, and they
can be changed while a program runs, which makes a cliff, a knee or a cap on demand.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")
_RULES = {
    "riops": "throttle.read_iops_device",
    "wiops": "throttle.write_iops_device",
    "rbps": "throttle.read_bps_device",
    "wbps": "throttle.write_bps_device",
}


@dataclass(frozen=True)
class Loop:
    """An attached loop device: `path` (/dev/loopN) and the file behind it, which is its identity."""

    path: Path
    backing: Path

    @property
    def number(self) -> str:
        """`major:minor`."""
        device = self.path.stat().st_rdev
        return f"{os.major(device)}:{os.minor(device)}"


@contextmanager
def loop_device(
    folder: Path, mib: int = 64, *, sector: int = 512, name: str = "disk.img", options: tuple[str, ...] = ()
) -> Iterator[Loop]:
    """A blank loop device of `mib` MiB that passes O_DIRECT on to a fully written (all zero) file; `options` are those
    of losetup."""
    backing = folder / name
    with backing.open("wb") as file:
        for _ in range(mib):
            file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    path = _attach(backing, sector, options)
    try:
        yield Loop(path, backing)
    finally:
        _detach(path)
        backing.unlink(missing_ok=True)


def _attach(backing: Path, sector: int, options: tuple[str, ...]) -> Path:
    """Tests side by side look for a free device at the same time, and one of them is refused."""
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(
            ["losetup", "--find", "--show", "--direct-io=on", "--sector-size", str(sector), *options, str(backing)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return Path(done.stdout.strip())
        if time.monotonic() > deadline:
            raise RuntimeError(f"no loop device to be had: {done.stderr}")
        time.sleep(0.1)


def _detach(path: Path) -> None:
    """A program that was just killed may hold the device a moment longer."""
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(["losetup", "--detach", str(path)], capture_output=True, text=True, check=False)
        size = Path(f"/sys/block/{path.name}/loop/backing_file")
        if not size.exists() or time.monotonic() > deadline:
            if size.exists():
                raise RuntimeError(f"{path} cannot be detached: {done.stderr}")
            return
        time.sleep(0.05)


@dataclass(frozen=True)
class Throttle:
    """A control group whose programs are limited on one device; `procs` takes the pids."""

    folder: Path
    device: str

    def limit(self, **rules: int) -> None:
        """Set limits: riops, wiops (a second), rbps, wbps (bytes a second); 0 takes one away."""
        for rule, value in rules.items():
            if (self.folder / "io.max").exists():
                (self.folder / "io.max").write_text(f"{self.device} {rule}={value or 'max'}")
            else:
                (self.folder / f"blkio.{_RULES[rule]}").write_text(f"{self.device} {value}")

    def enter(self) -> None:
        """Put the calling process, and what it starts, into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """Back into the root group."""
        (self.folder.parent / "cgroup.procs").write_text(str(os.getpid()))


@contextmanager
def throttle(loop: Loop, **rules: int) -> Iterator[Throttle]:
    """The calling process and all that it starts from now on are limited on `loop`."""
    root = _V1 if _V1.is_dir() else _V2
    if root is _V2:
        (_V2 / "cgroup.subtree_control").write_text("+io")
    folder = Path(tempfile.mkdtemp(prefix="asct-test-", dir=root))
    group = Throttle(folder, loop.number)
    try:
        group.limit(**rules)
        group.enter()
        yield group
    finally:
        group.leave()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)
