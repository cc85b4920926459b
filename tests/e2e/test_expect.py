"""Expectations are proposed from the runs of a plan, and the plan accepts and meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.e2e.running import QUICK, apply, asct, latest, lines

PLAN = "plan: 1\nname: gate\nbenchmarks: [{id: tiny, uses: noop, sweep: {index: [1, 2]}, repeats: 2}]\n"


def test_proposals_of_two_runs_are_a_section_that_the_plan_accepts(tmp_path: Path) -> None:
    for _ in range(2):
        assert apply(PLAN, tmp_path).code == 0
    first, second = sorted(path.name for path in (tmp_path / "results/gate").glob("2*"))
    found = asct("expect", first, second, "--metric", "tiny.*", "--margin", "50%", cwd=tmp_path)
    assert found.code == 0, found.err
    assert found.out.count("(4 values)") == 2
    items = yaml.safe_load(found.out)["expect"]
    assert [item["at"] for item in items] == [{"index": 1}, {"index": 2}]
    (tmp_path / "gate.yaml").write_text(PLAN + found.out)
    assert asct("check", "gate.yaml", cwd=tmp_path).code == 0
    everything = [
        record["value"]
        for run in (first, second)
        for record in lines(tmp_path / "results/gate" / run / "records.jsonl")
    ]
    document = json.loads(asct("expect", first, second, "--metric", "*", "--json", cwd=tmp_path).out)
    assert document["schema"] == "asct.expect/1"
    assert len(document["expect"]) == 2
    assert max(everything) > 0


@pytest.mark.fio
@pytest.mark.kernels
def test_the_headline_values_of_real_benchmarks_are_accepted_by_their_plan(tmp_path: Path) -> None:
    apply(QUICK, tmp_path)
    shown = asct("expect", latest(tmp_path).name, "-o", "found.yaml", cwd=tmp_path)
    assert shown.code == 0, shown.err
    proposed = (tmp_path / "found.yaml").read_text()
    assert "sweep.latency" in proposed or "depth." in proposed
    (tmp_path / "gate.yaml").write_text(QUICK + proposed)
    checked = asct("check", "gate.yaml", cwd=tmp_path)
    assert checked.code == 0, checked.err
    again = asct("expect", latest(tmp_path).name, "-o", "found.yaml", cwd=tmp_path)
    assert again.code == 2
    assert "E911" in again.err


def test_what_cannot_be_proposed_says_why(tmp_path: Path) -> None:
    assert apply(PLAN, tmp_path).code == 0
    nothing = asct("expect", "latest", "--metric", "disk.*", cwd=tmp_path)
    assert nothing.code == 3
    assert "E521" in nothing.err
    for margin in ("5", "-5%", "x%", "200%"):
        assert asct("expect", "latest", "--margin", margin, cwd=tmp_path).code == 2
    assert asct("expect", "nowhere", cwd=tmp_path).code == 2
