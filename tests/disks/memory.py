"""A file system in memory for the files behind drives: the disk of a machine that others use as well may stand still
for longer than a test measures."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


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
