"""Apply the plan of a study here, to a temporary file or to a loop device in place of its drive."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.disks.loop import Loop, loop_device, throttle
from tests.e2e.running import environment
from tests.seeds.original import Drive, Original

_LIMIT: Final = 2400
"""Seconds after which a run is given up; that includes waiting for the lock of this machine."""


def measured(seed: Original, folder: Path, *options: str) -> Path:
    """Apply the plan of `seed` in `folder` and return the folder of its run.

    A drive's consent stands in a plan that extends the one of the study, which becomes a plan for this device. Raises
    RuntimeError with what the command printed if it did not end with 0 (or 3, if values are invalid).
    """
    with _device(seed.drive, folder) as loop:
        plan = folder / "plan.yaml"
        plan.write_text(_plan(seed, loop), encoding="utf-8")
        words = ("apply", str(plan), "--profile", seed.profile, "--wait", "20m", "--yes", *options)
        done = subprocess.run(
            [sys.executable, "-m", "asct", *words], check=False, cwd=folder, env=environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT,
        )  # fmt: skip
    if done.returncode not in (0, 3):
        raise RuntimeError(f"asct apply {seed.plan} ended with {done.returncode}:\n{done.stderr}")
    return (folder / "results" / seed.plan.rpartition("/")[2] / "latest").resolve(strict=True)


@contextmanager
def _device(drive: Drive | None, folder: Path) -> Iterator[Loop | None]:
    if drive is None:
        yield None
        return
    with loop_device(folder, drive.mib, name="drive.img") as loop, throttle(loop, **drive.limits):
        yield loop


def _plan(seed: Original, loop: Loop | None) -> str:
    name = seed.plan.rpartition("/")[2]
    document: dict[str, object] = {"plan": 1, "name": name, "extends": f"{seed.plan}.yaml"}
    if loop is not None:
        consent = {"host": "local", "device": str(loop.path), "serial": str(loop.backing), "overwrite": True}
        document |= {"vars": {"target": [str(loop.path)]}, "safety": {"destroys": [consent]}}
    return json.dumps(document, indent=1)
