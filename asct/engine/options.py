"""How to run a plan, as the command line says it. Loads nothing, so that commands can name their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FORKS: Final = 32
"""Hosts measured at a time unless a command says otherwise."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run. `hosts` and `jobs` restrict the run by name (empty: all); `folder` takes the place of
    results/<plan>/<run id>/ and must be empty."""

    results: Path = Path("results")
    folder: Path | None = None
    hosts: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    forks: int = FORKS
    timeout_s: float | None = None
    fail_fast: bool = False
    reuse_s: float | None = None
    """Take what runs below `results` measured not longer ago, if nothing has changed since; None: measure all."""
    label: str | None = None
    command: tuple[str, ...] = field(default=())
    """The command line, for run.json."""
