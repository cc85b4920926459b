"""A file system in memory for the files that back drives. A disk that other programs also use may stall for longer than
a test measures."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.disks.loop import loop_device


@contextmanager
def in_memory(point: Path, mib: int = 320) -> Iterator[Path]:
    """Provide a new folder `point` that is such a file system (requires root)."""
    point.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", f"size={mib}M,mode=0755", "asct-test", point), check=True)
    try:
        yield point
    finally:
        subprocess.run(("umount", "-l", point), check=True)
        point.rmdir()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """Provide a folder in memory."""
    with in_memory(tmp_path / "memory") as found:
        yield found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Provide a folder on a real file system, because /tmp may be in memory."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


@pytest.fixture
def disk() -> Iterator[Path]:
    """Provide a folder on a file system of a disk, because files in memory have no drive. As root, this is ext4 on a
    loop device in memory; otherwise, it is the disk of this machine."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="asct-disk-") as name:
        if os.geteuid() != 0:
            yield Path(name)
            return
        with in_memory(Path(name) / "memory") as memory, loop_device(memory, 96) as loop:
            point = Path(name) / "disk"
            point.mkdir()
            subprocess.run(("mkfs.ext4", "-qF", "-O", "^has_journal", "-m", "0", loop.path), check=True)
            subprocess.run(("mount", loop.path, point), check=True)
            try:
                yield point
            finally:
                subprocess.run(("umount", point), check=True)
