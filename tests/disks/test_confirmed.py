"""A drive that was slow for a while does not fail the gate: its points are measured again, and both rates are
reported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.disks.loop import Loop, loop_device, throttle
from tests.disks.running import applying
from tests.e2e.running import ENOUGH_REPEATS, ENOUGH_RUNS, add_unchanged, apply, asct, latest, steady

pytestmark = [pytest.mark.e2e, pytest.mark.disks, pytest.mark.fio, pytest.mark.rates,
              pytest.mark.timeout(600), pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]  # fmt: skip
RATE = 400


def plan_of(loop: Loop) -> str:
    """Return a plan that compares the drive with the baseline. With so many requests in flight, the limit determines
    the rate even if fio waits for a processor."""
    config = f"file_names: {loop.path}, rw: randread, numjobs: 1, iodepth: 32, engine: libaio, duration: 500ms"
    return (
        "plan: 1\nname: gate\n"
        f"benchmarks: [{{id: read, uses: storage-fio, repeats: {ENOUGH_REPEATS}, config: {{{config}}}}}]\n"
        "expect: [{metric: read.iops, versus: baseline, no_worse_than: 30%}]\n"
        "baseline: {run: golden}\n"
    )


def test_a_drive_that_was_slow_for_a_while_does_not_fail_the_gate(tmp_path: Path, memory: Path) -> None:
    with loop_device(memory, 32) as loop, throttle(loop, riops=RATE) as group:
        plan = plan_of(loop)
        assert apply(plan, tmp_path).code == 3, "there is no baseline yet"
        steady(latest(tmp_path, "gate"), "iops", RATE)
        add_unchanged(latest(tmp_path, "gate"), ENOUGH_RUNS - 1)
        assert asct("results", "label", "latest", "golden", cwd=tmp_path).code == 0
        group.limit(riops=RATE // 4)
        with applying(plan, tmp_path) as running:
            until(lambda: _again(tmp_path) or running.process.poll() is not None, "the run does not end", 300)
            group.limit(riops=RATE)
            ended = running.ended()
    run = latest(tmp_path, "gate")
    [verdict] = json.loads((run / "run.json").read_text())["verdicts"]
    assert (ended.code, verdict["outcome"]) == (0, "pass"), f"{verdict}\n{ended.err}"
    assert verdict["reason"].startswith("measured again: not confirmed (first ")
    assert verdict["baseline"]["again"]["value"] > 2 * verdict["value"]
    assert "unconfirmed" in (run / "summary.md").read_text()
    assert asct("results", "verify", "latest", cwd=tmp_path).code == 0


def _again(cwd: Path) -> bool:
    """Whether a point is measured again."""
    return any('"t":"measuring-again"' in path.read_text() for path in cwd.glob("results/gate/2*/journal.jsonl"))
