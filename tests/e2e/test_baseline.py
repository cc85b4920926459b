"""A run is labeled, later runs are compared with it, and a change is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.e2e.running import ENOUGH_REPEATS, ENOUGH_RUNS, Ended, add_unchanged, apply, asct, latest, steady

PLAN = f"""\
plan: 1
name: gate
benchmarks: [{{id: tiny, uses: noop, repeats: {ENOUGH_REPEATS}}}]
expect: [{{metric: "*", versus: baseline, no_worse_than: 10000%}}]
baseline: {{run: golden}}
"""
FAST_S = 1e-12
"""A time that no host reaches."""


def quicken(folder: Path) -> None:
    """Make all runs faster than any host is, and add unchanged runs, so that noise cannot change the verdict."""
    runs = sorted((folder / "results" / "gate").glob("2*"))
    for run in runs:
        steady(run, "elapsed", FAST_S)
    add_unchanged(runs[0], ENOUGH_RUNS - len(runs))


def verdict(ended: Ended, run: Path) -> dict[str, object]:
    assert "Traceback" not in ended.err
    (found,) = json.loads((run / "run.json").read_text())["verdicts"]
    return dict(found)


def test_from_the_first_run_to_an_accepted_change(tmp_path: Path) -> None:
    ended = apply(PLAN, tmp_path)
    first = latest(tmp_path, "gate")
    found = verdict(ended, first)
    assert (ended.code, found["outcome"]) == (3, "unknown")
    assert "E505" in str(found["reason"])
    assert asct("results", "label", "latest", "golden", cwd=tmp_path).code == 0

    ended = apply(PLAN, tmp_path)
    found = verdict(ended, latest(tmp_path, "gate"))
    assert (ended.code, found["outcome"]) == (0, "pass"), f"{found}\n{ended.err}"
    assert found["baseline"]["run"] == f"gate/{first.name}"  # type: ignore[index]

    quicken(tmp_path)
    ended = apply(PLAN, tmp_path)
    second = latest(tmp_path, "gate")
    found = verdict(ended, second)
    assert (ended.code, found["outcome"]) == (1, "fail"), f"{found}\n{ended.err}"
    assert re.search(r"% worse \(95 %: .* %\) than the baseline, .* limit 10,000 %, noise floor", str(found["reason"]))
    assert str(found["reason"]).startswith("measured again: confirmed, ")
    assert found["baseline"]["again"]["confirmed"] is True  # type: ignore[index]
    assert len(list((second / "jobs/local/tiny").glob("*/r*"))) == 2 * ENOUGH_REPEATS
    assert asct("results", "verify", "latest", cwd=tmp_path).code == 0
    assert f"{2 * ENOUGH_REPEATS} ok" not in (second / "summary.md").read_text()
    assert "than the baseline, " in (second / "summary.md").read_text()

    refused = asct("results", "label", "latest", "golden", cwd=tmp_path)
    assert refused.code == 3
    assert "E520" in refused.err
    assert "failed expectation" in refused.err
    accepted = asct("results", "accept", "latest", "tiny.elapsed", "--because", "new host", cwd=tmp_path)
    assert accepted.code == 0, accepted.err
    ended = apply(PLAN, tmp_path)
    found = verdict(ended, latest(tmp_path, "gate"))
    assert (ended.code, found["outcome"]) == (0, "pass"), f"{found}\n{ended.err}"
    assert found["baseline"]["run"] == f"gate/{second.name}"  # type: ignore[index]


def check_second_measurement(folder: Path, hosts: str) -> None:
    """Run the plan on another host until a regression has been measured there twice."""
    ended = apply(hosts + PLAN, folder)
    assert ended.code == 3, ended.err
    quicken(folder)
    assert asct("results", "label", "latest", "golden", cwd=folder).code == 0
    ended = apply(hosts + PLAN, folder)
    run = latest(folder, "gate")
    found = verdict(ended, run)
    assert (ended.code, found["outcome"]) == (1, "fail"), f"{found}\n{ended.err}"
    assert str(found["reason"]).startswith("measured again: confirmed, ")
    assert len(list(run.glob("jobs/*/tiny/*/r*"))) == 2 * ENOUGH_REPEATS
    assert asct("results", "verify", "latest", cwd=folder).code == 0


def test_a_plan_may_fail_at_the_first_measurement(tmp_path: Path) -> None:
    apply(PLAN, tmp_path)
    quicken(tmp_path)
    assert asct("results", "label", "latest", "golden", cwd=tmp_path).code == 0
    preview = asct("plan", "plan.yaml", cwd=tmp_path)
    assert "at most 1 point may be measured again to confirm regressions" in preview.out
    once = PLAN.replace("run: golden", "run: golden, confirm: false")
    ended = apply(once, tmp_path)
    found = verdict(ended, latest(tmp_path, "gate"))
    assert (ended.code, found["outcome"]) == (1, "fail"), f"{found}\n{ended.err}"
    assert "measured again" not in str(found["reason"])
    assert found["baseline"]["again"] is None  # type: ignore[index]
    assert "measured again" not in asct("plan", "plan.yaml", cwd=tmp_path).out
