"""The two ways of measuring, a plan applied by asct and fio run manually, and the line that compares the result with
the goal."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.harness import asct, scratch
from tests.disks.loop import Loop, Throttle, loop_device, throttle

NAME = "bench"


def show(name: str, asked: str, seen: str, reached: bool) -> None:
    """Print one row."""
    print(f"{name:<44} asked {asked:<34} seen {seen:<34} {'reached' if reached else 'MISSED'}", flush=True)


@contextmanager
def limited(mib: int = 64, **rules: int) -> Iterator[tuple[Loop, Throttle]]:
    """Provide a loop device with limits that apply to this process and its children. Its content is in memory, so that
    no disk limits it."""
    with (
        tempfile.TemporaryDirectory(prefix="asct-bench-", dir="/dev/shm") as folder,
        loop_device(Path(folder), mib) as loop,
        throttle(loop, **rules) as group,
    ):
        yield loop, group


def write_plan(entry: Mapping[str, Any], loop: Loop | None = None, hosts: Mapping[str, Any] | None = None) -> Path:
    """Write plan.yaml with one benchmark to a folder and return the folder. The plan uses this machine unless `hosts`
    names others; if `loop` is given, that device may be overwritten."""
    folder = scratch()
    plan: dict[str, Any] = {"plan": 1, "name": NAME, "benchmarks": [{"id": NAME, **entry}]}
    if hosts is not None:
        plan["hosts"] = hosts
    if loop is not None:
        consent = {"host": "local", "device": str(loop.path), "serial": str(loop.backing), "overwrite": True}
        plan["safety"] = {"destroys": [consent | {"reason": "a loop device created for this benchmark"}]}
    (folder / "plan.yaml").write_text(json.dumps(plan))
    return folder


def started(folder: Path) -> subprocess.Popen[str]:
    """Start `asct apply` on the plan in a folder."""
    return subprocess.Popen(
        asct("apply", "plan.yaml", "-q", "--no-progress"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def environment() -> dict[str, str]:
    """Return the environment of this process, for commands that run in another folder."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def ended(process: subprocess.Popen[str], folder: Path) -> Path:
    """Return the run that `started` began, after it ended successfully. Raises RuntimeError with its output if it
    failed."""
    output, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"asct apply ended with {process.returncode}:\n{output}")
    return run_of(folder)


def run_of(folder: Path) -> Path:
    return folder / "results" / NAME / "latest"


def applied(entry: Mapping[str, Any], loop: Loop | None = None, hosts: Mapping[str, Any] | None = None) -> Path:
    """Run a plan with one benchmark and return the run."""
    folder = write_plan(entry, loop, hosts)
    return ended(started(folder), folder)


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


def value(run: Path, metric: str, **coords: Any) -> float:
    """Return the only value of a metric. Raises LookupError if there is none, or more than one."""
    found = [
        one["value"] for one in records(run) if one["metric"] == metric and coords.items() <= one["coords"].items()
    ]
    if len(found) != 1:
        raise LookupError(f"{metric} {coords}: {len(found)} values")
    return float(found[0])


def by_hand(target: Path | str, **options: str) -> dict[str, Any]:
    """Run fio with these options and return its JSON output."""
    arguments = [f"--{name}={text}" for name, text in options.items()]
    command = ["fio", "--name=hand", f"--filename={target}", "--output-format=json+", "--eta=never", *arguments]
    done = subprocess.run(command, cwd=scratch(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr or done.stdout}")
    document: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return document
