"""The options of a run, with their defaults. Importing this module does not load any other asct module."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

FORKS: Final = 32
"""Default number of hosts measured at the same time."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run.

    `folder` replaces results/<plan>/<run id>/, and must be empty.
    """

    results: Path = Path("results")
    folder: Path | None = None
    forks: int = FORKS
    timeout_s: float | None = None
    fail_fast: bool = False
    reuse_s: float | None = None
    """Maximum age, in seconds, of the points below `results` that may be reused. If this is None, all points are
    measured."""
    wait_s: float = 0.0
    """Maximum time, in seconds, to wait for a host that another run has locked."""
    label: str | None = None
    command: tuple[str, ...] = ()
    """The command line to record in run.json."""
