"""A drive that was slow for a while does not fail the gate: its points are measured again, and both rates are
reported."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.disks.loop import loop_device, throttle
from tests.disks.running import applying, until
from tests.e2e.running import apply, asct, latest

pytestmark = [pytest.mark.e2e, pytest.mark.disks, pytest.mark.fio, pytest.mark.rates,
              pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]  # fmt: skip
RATE = 4000
PLAN = """\
plan: 1
name: gate
benchmarks:
  - {{id: read, uses: storage-fio, repeats: 6,
     config: {{file_names: {device}, rw: randread, numjobs: 1, iodepth: 4, engine: libaio, duration: 1s}}}}
expect: [{{metric: read.iops, versus: baseline, no_worse_than: 30%}}]
baseline: {{run: golden}}
"""


def test_a_drive_that_was_slow_for_a_while_does_not_fail_the_gate(tmp_path: Path, memory: Path) -> None:
    with loop_device(memory, 32) as loop, throttle(loop, riops=RATE) as group:
        plan = PLAN.format(device=loop.path)
        assert apply(plan, tmp_path).code == 3, "there is no baseline yet"
        assert asct("results", "label", "latest", "golden", cwd=tmp_path).code == 0
        for _ in range(4):  # with five unchanged runs, noisy values are judged, too
            apply(plan, tmp_path)
        last = latest(tmp_path, "gate")
        group.limit(riops=RATE // 4)
        with applying(plan, tmp_path) as running:
            until(lambda: _again(tmp_path, last) or running.process.poll() is not None, "the run does not end")
            group.limit(riops=RATE)
            ended = running.ended()
    run = latest(tmp_path, "gate")
    [verdict] = json.loads((run / "run.json").read_text())["verdicts"]
    if ended.code == 3 or ("noisy" in verdict["reason"] and "measured again" not in verdict["reason"]):
        pytest.skip("other programs disturbed the measurement")
    assert (ended.code, verdict["outcome"]) == (0, "pass"), ended.err
    assert verdict["reason"].startswith("measured again: not confirmed (first ")
    assert verdict["baseline"]["again"]["value"] > 2 * verdict["value"]
    assert "unconfirmed" in (run / "summary.md").read_text()
    assert asct("results", "verify", "latest", cwd=tmp_path).code == 0


def _again(cwd: Path, last: Path) -> Any:
    run = latest(cwd, "gate")
    return run != last and '"t":"measuring-again"' in (run / "journal.jsonl").read_text()
