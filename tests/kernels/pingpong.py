"""Helpers shared by the tests of the `pingpong` kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tests.kernels.building import compile_sources, sources_of

HERE = Path(__file__).parent
CPUS = sorted(os.sched_getaffinity(0))
BOTH = ",".join(map(str, CPUS[:2]))
QUICK = ("--turns", "20", "--batches", "24", "--addresses", "2", "--time-cap-ms", "200", "--patience-ms", "60000")


def pretending(cpus: int, folder: Path, flags: Sequence[str] = ("-static",)) -> Path:
    """Return a kernel that assumes that this number of CPUs exists."""
    pretend = (f"-DPRETEND={cpus}", "-include", str(HERE / "pretend_cpus.h"))
    return compile_sources(sources_of("pingpong"), folder / "pingpong", flags=(*flags, *pretend))
