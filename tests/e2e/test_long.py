"""A test that consists of rounds is killed: it continues at the same round and on the same file, and leaves nothing
running."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.e2e.running import asct, begin, latest, lines

pytestmark = [pytest.mark.e2e, pytest.mark.fio, pytest.mark.kernels]

MIB = 1 << 20


def plan_for(target: Path) -> str:
    config = {
        "file_names": str(target), "overwrite": True, "block_sizes": ["4K"], "mixes": [0], "dependent": ["4K:0"],
        "round_time": "1s", "window": 3, "rounds_max": 4, "steady_volume": 0, "numjobs": 1, "iodepth": 4,
        "precondition": 1, "excursion": 100, "slope": 100,
    }  # fmt: skip
    return json.dumps(
        {"plan": 1, "name": "quick", "benchmarks": [{"uses": "storage-iops", "id": "long", "config": config}]}
    )


def noted(cwd: Path) -> list[dict[str, Any]]:
    """Return the finished steps."""
    found = list(cwd.glob("results/quick/2*/jobs/local/long/*/r1/steps.jsonl"))
    return [json.loads(line) for line in found[0].read_text().splitlines()] if found else []


def using(target: Path) -> list[str]:
    """Return the programs that have the file open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink() == target:
                found.append((link.parents[1] / "comm").read_text().strip())
        except OSError:
            continue
    return found


def test_a_killed_test_goes_on_at_its_round(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(os.urandom(16 * MIB))
    (tmp_path / "plan.yaml").write_text(plan_for(target))
    process = begin(tmp_path, "-q")
    try:
        until(lambda: sum("round" in note["name"] for note in noted(tmp_path)) >= 2 and using(target))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not using(target))  # nothing continues to write
    before = noted(tmp_path)
    ended = asct("apply", "plan.yaml", "--resume", cwd=tmp_path)
    assert ended.code in (0, 3), ended.err  # on a busy machine, the rates may not become steady
    run = latest(tmp_path)
    # The notes themselves go where the host was so busy that the whole test came out noisy.
    (status,) = [json.loads(path.read_text()) for path in run.glob("jobs/local/long/*/r1/status.json")]
    kept = ("name", "folder", "elapsed_ns")
    assert [[step[key] for key in kept] for step in status["steps"][: len(before)]] == [
        [note[key] for key in kept] for note in before
    ]
    assert f"resumed after step {len(before)}" in status["notes"]
    rounds = [step["name"] for step in status["steps"] if "round" in step["name"]]
    assert len(rounds) == len(set(rounds)) >= 3
    assert any(record["metric"] == "iops" for record in lines(run / "records.jsonl"))
    assert asct("results", "verify", cwd=tmp_path).code == 0
