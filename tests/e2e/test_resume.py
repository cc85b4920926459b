"""`asct resume`: what was measured is kept, what failed is measured again, and nothing is measured twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.running import PACE, apply, asct, latest, lines

pytestmark = [pytest.mark.e2e, pytest.mark.fio]


def test_a_failed_point_is_measured_and_the_good_ones_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "data"
    sweep = "sweep: {index: [1, 2, 3]}"
    config = f"{{duration: 1s, numjobs: 1, rate_iops: {PACE}, file_names: {target}}}"
    plan = f"""plan: 1
name: quick
benchmarks:
  - {{uses: noop, id: noop, {sweep}}}
  - {{uses: storage-fio, id: read, config: {config}}}
"""
    assert apply(plan, tmp_path).code == 3
    run = latest(tmp_path)
    before = [record for record in lines(run / "records.jsonl") if record["id"] == "noop"]
    assert len(before) == 3
    target.write_bytes(bytes(range(256)) * (4 << 12))
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert latest(tmp_path) == run
    records = lines(run / "records.jsonl")
    assert [record for record in records if record["id"] == "noop"] == before
    assert any(record["id"] == "read" and record["metric"] == "read_iops" for record in records)
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    assert asct("results", "verify", cwd=tmp_path).code == 0


def test_a_whole_run_has_nothing_to_resume(tmp_path: Path) -> None:
    assert apply("plan: 1\nname: quick\nbenchmarks: [noop]\n", tmp_path).code == 0
    records = (latest(tmp_path) / "records.jsonl").read_bytes()
    ended = asct("resume", "quick/latest", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "0 measurements missing" in ended.err
    assert (latest(tmp_path) / "records.jsonl").read_bytes() == records


def test_no_run_to_resume_is_an_error(tmp_path: Path) -> None:
    ended = asct("resume", cwd=tmp_path)
    assert ended.code == 2  # a selection that matches nothing
    assert "results" in ended.err
