"""Run the asct command as a user would, and examine what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPILERS = ("gcc", "gcc-[0-9]*", "cc", "clang*", "tcc", "*-linux-gnu*-gcc*")
PACE = 1000
"""Requests per second of a paced job. The values of a job that is not paced are invalid if a busy machine leaves fewer
requests in flight than the job asks for (Little's law)."""
QUICK_STORAGE = f"{{duration: 1s, filesize: 16M, numjobs: 1, rate_iops: {PACE}, iodepth_sweep_steps: [1, 4]}}"
QUICK_LATENCY = "{max_size: 4M, points_per_octave: 2, visits: 2}"
QUICK = f"""\
plan: 1
name: quick
benchmarks:
  - {{id: sweep, uses: latency-sweep, config: {QUICK_LATENCY}}}
  - {{id: depth, uses: storage-io-depth-sweep, config: {QUICK_STORAGE}}}
"""
IGNORING = ("sh", "-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh")
"""A command prefix that ignores signals, as background jobs of scripts and some CI runners do. nohup ignores only
SIGHUP."""
ENOUGH_RUNS = 10
"""Number of unchanged runs that determine the spread of a value. With so many, asct uses the interval of the median of
a run's repeats instead of their range."""
ENOUGH_REPEATS = 12
"""With so many repeats, two disturbed ones do not widen the interval of their median."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The only JSON document on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


def asct(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = (), timeout: float = 280
) -> Ended:
    """Run `python -m asct` in `cwd`, without a terminal. `prefix` is a command that runs asct."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "asct", *arguments],
        check=False,
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def begin(
    cwd: Path, *options: str, env: Mapping[str, str] | None = None, prefix: Sequence[str] = (), **streams: Any
) -> subprocess.Popen[str]:
    """Start applying plan.yaml in `cwd`. Streams that are not given are empty or discarded."""
    command = [*prefix, sys.executable, "-m", "asct", "apply", "plan.yaml", *options]
    given = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | streams
    return subprocess.Popen(command, cwd=cwd, env=environment(env), text=True, **given)


def require_measured(ended: Ended, run: Path) -> None:
    """Check that every repeat has values. They may be invalid, because concurrent tests disturb them."""
    counts = json.loads((run / "run.json").read_text())["counts"]
    assert ended.code == (3 if counts.get("invalid") else 0), ended.err
    assert not {name for name, number in counts.items() if number} - {"ok", "noisy", "invalid"}, ended.err


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process without the variables that would change the output."""
    dropped = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, **(changes or {})}


def apply(
    plan: str, cwd: Path, *options: str, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> Ended:
    """Write plan.yaml into `cwd` and apply it."""
    (cwd / "plan.yaml").write_text(plan)
    return asct("apply", "plan.yaml", *options, cwd=cwd, env=env, prefix=prefix)


def latest(cwd: Path, plan: str = "quick") -> Path:
    """Return the folder of the newest run."""
    return (cwd / "results" / plan / "latest").resolve(strict=True)


def steady(run: Path, metric: str, value: float) -> None:
    """Replace the values of a metric in a run, so that other tests on this machine do not disturb them: about `value`,
    and a thousandth more in each further repeat."""
    path = run / "records.jsonl"
    records = lines(path)
    for record in records:
        if record["metric"] == metric:
            record["value"] = value * (1.0 + record["repeat"] / 1000.0)
            record["flags"] = []
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def add_unchanged(run: Path, number: int) -> None:
    """Add earlier runs of the plan with the values of this one, as if nothing had disturbed them either."""
    for second in range(number):
        copy = run.with_name(f"20200101T0000{second:02}Z-abcdef")
        shutil.copytree(run, copy)
        for path in (copy / "run.json", copy / "records.jsonl"):
            path.write_text(path.read_text().replace(run.name, copy.name))


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the content of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def work_folders() -> set[str]:
    """Return what is in the work folder of this machine."""
    folder = Path("/var/tmp/asct")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def hiding(*patterns: str) -> list[str]:
    """Return a command prefix under which these programs do not exist, because a separate mount namespace hides
    them."""
    targets = {
        str(path.resolve())
        for place in ("/usr/bin", "/usr/local/bin")
        for name in patterns
        for path in Path(place).glob(name)
    }
    script = 'while [ "$1" != -- ]; do mount --bind /dev/null "$1" || exit 99; shift; done; shift; exec "$@"'
    return [*_own_mounts(), "sh", "-c", script, "sh", *sorted(targets), "--"]


def with_small_disk(folder: Path, kept: Path) -> list[str]:
    """Return a command prefix under which `folder` is a disk of 1 MiB. At the end, the content of the disk is
    copied to `kept`."""
    script = (
        'mount -t tmpfs -o size=1m tmpfs "$1" || exit 99; folder=$1 kept=$2; shift 2; "$@"; status=$?; '
        'cp -a "$folder" "$kept" || exit 98; exit "$status"'
    )
    return [*_own_mounts(), "sh", "-c", script, "sh", str(folder), str(kept)]


def _own_mounts() -> list[str]:
    return ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
