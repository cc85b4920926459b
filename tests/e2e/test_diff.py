"""Two real runs are compared, as a gate and with the baseline of their plan: only a slower run is reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.running import QUICK, apply, asct, require_measured, steady

PLAN = """\
plan: 1
name: gate
benchmarks: [{id: tiny, uses: noop, sweep: {index: [1, 2]}, repeats: 6}]
baseline: {run: golden}
"""


def runs_of(cwd: Path, plan: str) -> list[Path]:
    return sorted((cwd / "results" / plan).glob("2*"))


@pytest.mark.alone  # other kernels would change the pools of huge pages, which are compared
@pytest.mark.fio
@pytest.mark.kernels
def test_two_runs_of_real_benchmarks(tmp_path: Path) -> None:
    for _ in range(2):
        require_measured(apply(QUICK, tmp_path), runs_of(tmp_path, "quick")[-1])
    first, second = runs_of(tmp_path, "quick")
    shown = asct("diff", first.name, "quick/latest", cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert shown.out.startswith(f"{second.name} compared with {first.name}\n")
    assert "machine, software, plan and settings are the same" in shown.out, shown.out
    written = asct("diff", str(first), str(second), "-o", "out", "-q", cwd=tmp_path)
    assert written.code == 0, written.err
    document = json.loads((tmp_path / "out/diff.json").read_text())
    rows = {row["field"]: row for row in document["rows"]}
    assert rows["depth.read_iops at iodepth 4"]["verdict"] in ("same", "too few visits", "not comparable")
    assert any(field.startswith("sweep.latency at size ") for field in rows)
    page = (tmp_path / "out/diff.html").read_text()
    assert "Latency by working set size" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "plan.yaml", "results"]


def test_a_gate_calls_a_slower_run_and_no_equal_one(tmp_path: Path) -> None:
    assert apply(PLAN, tmp_path).code == 0
    (run,) = runs_of(tmp_path, "gate")
    steady(run, "elapsed", 1e-3)
    assert asct("results", "label", run.name, "golden", cwd=tmp_path).code == 0
    other, gate = run.with_name("20300101T000000Z-abcdef"), ("--fail-on", "regression>3%")
    shutil.copytree(run, other)
    passed = asct("diff", "golden", str(other), *gate, cwd=tmp_path)
    assert passed.code == 0, passed.err
    steady(other, "elapsed", 1.2e-3)
    alone = asct("diff", str(other), *gate, "--json", cwd=tmp_path)
    assert alone.code == 1, alone.err
    document = json.loads(alone.out)
    assert (document["baseline"]["run"], document["baseline"]["chosen"]) == (
        f"gate/{run.name}",
        "named `golden` in the plan",
    )
    assert {row["verdict"] for row in document["rows"]} == {"regressed"}
    assert [round(row["percent"]) for row in document["rows"]] == [20, 20]


@pytest.mark.fio
def test_a_run_and_one_imported_from_its_fio_output(tmp_path: Path) -> None:
    """Both runs have the same values. The imported run has no facts about the machine, and only the other run has all
    settings."""
    apply(QUICK, tmp_path, "--benchmark", "depth")
    (run,) = runs_of(tmp_path, "quick")
    files = sorted(map(str, run.glob("jobs/*/depth/*/r1/fio.json")))
    assert files
    for plan in ("one", "two"):
        assert asct("import", "fio", *files, "--plan", plan, cwd=tmp_path).code == 0
    found = asct("diff", "one/latest", "two/latest", "--json", cwd=tmp_path)
    assert found.code == 0, found.err
    document = json.loads(found.out)
    counts = document["runs"][0]["counts"]
    assert counts["same"] > 0
    assert counts["regressed"] == counts["improved"] == counts["added"] == counts["removed"] == 0
    assert [item["what"] for item in document["differences"]] == ["Plan"]
