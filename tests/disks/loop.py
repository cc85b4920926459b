"""A loop device backed by its own file, and limits on what a program may do to the device.

Loop devices require root and Linux 5.8. The limits are enforced by the Linux kernel's block throttle. They are exact to
a fraction of a percent, and can be changed while a program runs, which produces a cliff, a knee or a limit on demand.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

DIRECT_IO, PARTITIONS, _AUTOCLEAR = 16, 8, 4
_CONFIGURE, _ADD, _REMOVE, _GET_FREE = 0x4C0A, 0x4C80, 0x4C81, 0x4C82
_INFO = "=QQQQQIIII64s64s32sQQ"
"""Flags, requests and `struct loop_info64` of linux/loop.h. In `struct loop_config`, it follows a file descriptor and
the sector size."""
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
    """An attached loop device: `path` (/dev/loopN), and the file that backs the device and serves as its identity."""

    path: Path
    backing: Path

    @property
    def number(self) -> str:
        """`major:minor`."""
        device = self.path.stat().st_rdev
        return f"{os.major(device)}:{os.minor(device)}"


@contextmanager
def loop_device(
    folder: Path, mib: int = 64, *, sector: int = 512, name: str = "disk.img", partitions: bool = False
) -> Iterator[Loop]:
    """Provide an empty loop device of `mib` MiB that passes O_DIRECT on to a fully written file of zeros. If
    `partitions` is set, the Linux kernel searches the device for a partition table."""
    backing = folder / name
    with backing.open("wb") as file:
        for _ in range(mib):
            file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    try:
        with attached(backing, sector=sector, flags=DIRECT_IO | (PARTITIONS if partitions else 0)) as path:
            yield Loop(path, backing)
    finally:
        backing.unlink(missing_ok=True)


@contextmanager
def attached(backing: Path, *, sector: int = 512, flags: int = 0) -> Iterator[Path]:
    """Provide a loop device backed by a file or a device. The Linux kernel detaches it when its last user ends, in
    whatever way.

    As long as the device is needed, one open file description is its user. This description is queued in a socket that
    no process reads. It is therefore closed with the process of the test, and is not among the open files of any
    process, where guard would find it.
    """
    kept, sent = socket.socketpair()
    with kept, sent:
        device = _configured(backing, sector, flags | _AUTOCLEAR)
        path = Path(f"/proc/self/fd/{device}").readlink()
        socket.send_fds(sent, [b"0"], [device])
        os.close(device)
        yield path
    _await_detached(path, backing)


def _configured(backing: Path, sector: int, flags: int) -> int:
    """Return an open loop device that was free."""
    info = struct.pack(_INFO, *(0,) * 8, flags, b"", b"", b"", 0, 0)
    with _control() as control, backing.open("r+b") as file:
        device = os.open(f"/dev/loop{fcntl.ioctl(control, _GET_FREE)}", os.O_RDWR)
        try:
            fcntl.ioctl(device, _CONFIGURE, struct.pack(f"=II{len(info)}s64x", file.fileno(), sector, info))
        except OSError:
            os.close(device)
            raise
        return device


@contextmanager
def _control() -> Iterator[int]:
    """Provide the device that assigns loop devices to one test at a time, because concurrent tests would find the same
    free device."""
    with Path("/dev/loop-control").open("rb") as control:
        fcntl.flock(control, fcntl.LOCK_EX)
        yield control.fileno()


def _await_detached(path: Path, backing: Path) -> None:
    """Wait until the device is detached. A program that was just killed may hold the device a moment longer."""
    deadline = time.monotonic() + 60
    while behind(path) == str(backing.resolve()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path} is still held by somebody")
        time.sleep(0.05)


def behind(path: Path) -> str:
    """Return the file that currently backs a loop device, or an empty string if there is none. Other programs may use
    the device next."""
    try:
        return Path(f"/sys/block/{path.name}/loop/backing_file").read_text().strip()
    except OSError:
        return ""


@contextmanager
def unattached() -> Iterator[Path]:
    """Provide a loop device that has no file. Meanwhile, no other test gets a loop device, which might be this one."""
    number = 1000 + os.getpid() % 100_000
    with _control() as control:
        fcntl.ioctl(control, _ADD, number)
        try:
            yield Path(f"/dev/loop{number}")
        finally:
            fcntl.ioctl(control, _REMOVE, number)


@dataclass(frozen=True)
class Throttle:
    """A control group whose programs are limited on one device. `procs` receives the pids."""

    folder: Path
    device: str

    def limit(self, **rules: int) -> None:
        """Set the limits riops and wiops (requests per second), and rbps and wbps (bytes per second). 0 removes a
        limit."""
        for rule, value in rules.items():
            if (self.folder / "io.max").exists():
                (self.folder / "io.max").write_text(f"{self.device} {rule}={value or 'max'}")
            else:
                (self.folder / f"blkio.{_RULES[rule]}").write_text(f"{self.device} {value}")

    def enter(self) -> None:
        """Move the calling process, and the processes that it starts, into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """Move the calling process back into the root group."""
        (self.folder.parent / "cgroup.procs").write_text(str(os.getpid()))


def kept(rate: float, limit: float) -> bool:
    """Return whether a rate corresponds to a limit: it does not exceed the limit, and is lower only if other programs
    keep the machine busy."""
    return limit / 2 <= rate <= 1.1 * limit


@contextmanager
def throttle(loop: Loop, **rules: int) -> Iterator[Throttle]:
    """Limit the calling process, and all processes that it starts from now on, on `loop`."""
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
