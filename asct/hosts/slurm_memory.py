"""What this account remembers of a host's jobs while a run is under way, for `asct resume` after asct was killed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from asct.hosts.slurm_job import Allocation, job_name


@dataclass(slots=True)
class Memory:
    """Where the work folder is and the jobs that were submitted; `held` is the one that has the node, for job `id`."""

    node: str = ""
    work: str = ""
    id: str = ""
    held: Allocation | None = None
    waiting: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each job may take."""
    names: list[str] = field(default_factory=list)
    """What the jobs are called: numbers of jobs are used again, by whomever."""


def place(run: str, host: str) -> Path:
    """The file for the jobs of a host in a run. Names of jobs are cut and made plain, so that two may be alike."""
    name = f"{job_name(run, host)}-{hashlib.sha256(f'{run}/{host}'.encode()).hexdigest()[:12]}"
    base = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return folder / "asct" / "slurm" / f"{name}.json"


def recall(file: Path) -> Memory | None:
    """What was remembered; None when there is nothing that can be read."""
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
        held = body.pop("held")
        return Memory(**body, held=Allocation(**held) if held else None)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(file: Path, memory: Memory) -> None:
    """Write it, for this account alone. Without room for it a killed run is not taken up: no reason not to measure."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(asdict(memory), out)
        partial.replace(file)


def forget(file: Path) -> None:
    """The run has ended in order."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
