"""`--reuse AGE`: earlier results are shown in the preview, reused, and marked as reused in every report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from asct.engine.reuse_key import changes
from asct.sdk.facts import HostFacts
from tests.awaiting import until
from tests.e2e.running import PACE, Ended, apply, asct, latest, lines

pytestmark = [pytest.mark.e2e, pytest.mark.fio, pytest.mark.kernels]

PLAN = f"""plan: 1
name: quick
benchmarks:
  - {{uses: noop, id: noop, sweep: {{index: [1, 2, 3]}}, repeats: 2}}
  - uses: storage-fio
    id: read
    config: {{duration: 1s, numjobs: 1, rate_iops: {PACE}, filesize: 4M, block_size: BLOCK}}
"""


def valid(run: Path) -> bool:
    """Return whether nothing on the host invalidated a point of a run. An invalidated point is never reused."""
    statuses = [json.loads(path.read_text()) for path in run.glob("jobs/*/*/*/r*/status.json")]
    return not any(flag.startswith("invalid") for status in statuses for flag in status["flags"])


def facts(run: Path) -> HostFacts:
    return HostFacts.model_validate_json((run / "facts" / "local.json").read_text())


def both(folder: Path) -> tuple[Path, Ended] | None:
    """Return the run of the first plan, and the end of the second plan, which reuses it. Return None if the host
    changed in the meantime: other work invalidated a point, or a virtual machine was given more memory."""
    first = apply(PLAN.replace("BLOCK", "4K"), folder)
    assert first.code == 0, first.err
    assert "reused" not in first.err
    source = latest(folder)
    (folder / "plan.yaml").write_text(PLAN.replace("BLOCK", "8K"))
    second = asct("apply", "plan.yaml", "--reuse", "2h", cwd=folder)
    assert second.code == 0, second.err
    return (source, second) if valid(source) and not changes(facts(source), facts(latest(folder))) else None


@pytest.mark.alone  # other kernels would change the pools of huge pages, which count
def test_a_changed_plan_measures_what_changed(tmp_path: Path) -> None:
    found: list[tuple[Path, Ended]] = []

    def unchanged() -> bool:
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        found[:] = [pair] if (pair := both(tmp_path)) else []
        return bool(found)

    until(unchanged, "the host changes all the time")
    ((source, second),) = found
    run = latest(tmp_path)

    (tmp_path / "plan.yaml").write_text(PLAN.replace("BLOCK", "16K"))
    shown = asct("plan", "plan.yaml", "--reuse", "2h", cwd=tmp_path)
    assert "at most 3 points can be reused from earlier runs" in shown.out
    assert "noop: 3 points x 2 repeats, less than 1s; named in the plan; at most 3 reusable" in shown.out
    document = json.loads(asct("plan", "plan.yaml", "--reuse", "2h", "--json", cwd=tmp_path).out)
    assert [job["reusable"] for job in document["hosts"][0]["jobs"]] == [3, 0]
    assert json.loads(asct("plan", "plan.yaml", "--json", cwd=tmp_path).out)["reusable"] is None

    told = f"6 of 7 measurements reused: 6 from quick/{source.name}, "
    assert told in second.err
    assert told in (run / "summary.md").read_text()
    assert told in (run / "report.html").read_text()
    assert f"6 of 6 measurements reused: 6 from quick/{source.name}, " in (run / "summary.md").read_text()
    flags = {record["id"]: record["flags"] for record in lines(run / "records.jsonl")}
    assert "reused" in flags["noop"], "beside flags of a busy host"
    assert "reused" not in flags["read"]
    before = [
        (record["point"], record["value"]) for record in lines(source / "records.jsonl") if record["id"] == "noop"
    ]
    taken = [(record["point"], record["value"]) for record in lines(run / "records.jsonl") if record["id"] == "noop"]
    assert sorted(taken, key=str) == sorted(before, key=str)
    assert asct("results", "verify", cwd=tmp_path).code == 0
    assert "does not make the value doubtful" in asct("explain", "reused", cwd=tmp_path).out


@pytest.mark.parametrize("age", ["7", "week", "-1d"])
def test_an_age_that_is_none_is_wrong_usage(tmp_path: Path, age: str) -> None:
    ended = apply(PLAN.replace("BLOCK", "4K"), tmp_path, f"--reuse={age}")
    assert (ended.code, (tmp_path / "results").exists()) == (2, False)
    assert "--reuse" in ended.err
