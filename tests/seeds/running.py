"""Apply the plan of a study to a temporary file, or to loop devices that replace its drives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.disks.loop import Loop, loop_device, throttle
from tests.e2e.running import environment
from tests.seeds.original import Drive, Original

_LIMIT: Final = 2400
"""Time limit of a run in seconds, including the time that it waits for this machine's lock."""


def measured(seed: Original, folder: Path, *options: str) -> Path:
    """Apply the plan of `seed` in `folder` and return the folder of its run.

    To name the devices and give consent to overwrite them, the plan that is applied extends the plan of the study.
    Raises RuntimeError with the command's error output if its exit status is neither 0 nor 3 (invalid values).
    """
    with _devices(seed.drives, folder) as loops:
        plan = folder / "plan.yaml"
        plan.write_text(plan_text(seed, [(str(loop.path), str(loop.backing)) for loop in loops]), encoding="utf-8")
        words = ("apply", str(plan), "--profile", seed.profile, "--wait", "20m", "--yes", *options)
        done = subprocess.run(
            [sys.executable, "-m", "asct", *words], check=False, cwd=folder, env=environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT,
        )  # fmt: skip
    if done.returncode not in (0, 3):
        raise RuntimeError(f"asct apply {seed.plan} ended with {done.returncode}:\n{done.stderr}")
    return (folder / "results" / seed.plan.rpartition("/")[2] / "latest").resolve(strict=True)


@contextmanager
def _devices(drives: Sequence[Drive], folder: Path) -> Iterator[list[Loop]]:
    """Provide a loop device for each drive. One control group sets the limits of all devices, because a process belongs
    to only one group."""
    with ExitStack() as within:
        loops = [
            within.enter_context(loop_device(folder, drive.mib, name=f"drive{number}.img"))
            for number, drive in enumerate(drives, 1)
        ]
        if loops:
            group = within.enter_context(throttle(loops[0]))
            for loop, drive in zip(loops, drives, strict=True):
                replace(group, device=loop.number).limit(**drive.limits)
        yield loops


def plan_text(seed: Original, devices: Sequence[tuple[str, str]]) -> str:
    """Return a plan that extends the plan of the study. It names the devices to measure, with their serial numbers, and
    gives consent to overwrite them."""
    name = seed.plan.rpartition("/")[2]
    document: dict[str, object] = {"plan": 1, "name": name, "extends": f"{seed.plan}.yaml"}
    if devices:
        consent = [
            {"host": "local", "device": device, "serial": serial, "overwrite": True} for device, serial in devices
        ]
        document |= {"vars": {"target": [device for device, _ in devices]}, "safety": {"destroys": consent}}
    if seed.features:
        document["report"] = {"features": seed.features}
    return json.dumps(document, indent=1)
