"""A file system in memory for the files behind drives: the disk of a machine that others use as well may stand still
for longer than a test measures."""

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
    """A new folder `point` that is one (root)."""
    point.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", f"size={mib}M,mode=0755", "asct-test", point), check=True)
    try:
        yield point
    finally:
        subprocess.run(("umount", "-l", point), check=True)
        point.rmdir()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory."""
    with in_memory(tmp_path / "memory") as found:
        yield found


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder on a file system of a disk, since memory has no drive to ask: ext4 on a loop device in memory for root,
    who may make one, else the disk of this machine."""
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
