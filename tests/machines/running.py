"""Measure on guests with the asct command, and examine the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.running import Ended, asct, latest, lines, require_measured
from tests.machines.guest import Guest, hosts


def measured(
    benchmarks: str, guests: Sequence[Guest], cwd: Path, *options: str, **changes: object
) -> tuple[Ended, Path]:
    """Apply a plan with these benchmarks to these guests. Return how the command ended, and its run."""
    (cwd / "plan.yaml").write_text(f"plan: 1\nname: guests\n{benchmarks}{hosts(*guests, **changes)}")
    ended = asct("apply", "plan.yaml", *options, cwd=cwd, timeout=700)
    assert (cwd / "results").is_dir(), ended.err
    return ended, latest(cwd, "guests")


def applied(benchmarks: str, guests: Sequence[Guest], cwd: Path, *options: str, **changes: object) -> Path:
    """Return the run of a plan, all of whose points must have values."""
    ended, run = measured(benchmarks, guests, cwd, *options, **changes)
    require_measured(ended, run)
    return run


def of(run: Path, metric: str, benchmark: str | None = None) -> list[dict[str, Any]]:
    records = lines(run / "records.jsonl")
    return [record for record in records if record["metric"] == metric and benchmark in (None, record["benchmark"])]


def streams(run: Path, host: str, job: str) -> list[list[dict[str, Any]]]:
    """Return the output of the kernels of a job, as one list of lines for each kernel that ran."""
    folder = run / "jobs" / host / job
    found = [
        lines(path) for path in sorted(folder.glob("*/r*/**/stdout")) if path.read_text().startswith('{"t":"meta"')
    ]
    assert found, f"no kernel's output in {folder}"
    return found


def meta_of(run: Path, host: str, job: str) -> dict[str, Any]:
    """Return the first line of the first kernel of a job."""
    return dict(streams(run, host, job)[0][0])


def facts_of(run: Path, host: str) -> dict[str, Any]:
    """Return the facts of a host that were read before the run."""
    return dict(json.loads((run / "facts" / f"{host}.json").read_text()))
