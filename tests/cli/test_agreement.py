"""A plan with two entries that measure the same quantity, from the run to its tree and reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asct.benchmarks.noop import BENCHMARK, Noop, NoopParams
from asct.sdk.facts import HostFacts
from asct.sdk.quantity import Quantity
from asct.sdk.record import Measurement
from asct.sdk.step import Output
from tests.cli.conftest import Asct

PLAN = "plan: 1\nname: twice\nbenchmarks:\n  - {id: one, uses: noop}\n  - {id: two, uses: noop, config: {index: 1}}\n"


@pytest.fixture(autouse=True)
def same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make both entries measure one quantity, such that different times disagree. The second entry adds a second,
    because the host's clock may show the same time for both."""
    parse = type(BENCHMARK).parse

    def later(self: Noop, params: NoopParams, outputs: Sequence[Output], facts: HostFacts) -> list[Measurement]:
        return [replace(item, value=item.value + params.index) for item in parse(self, params, outputs, facts)]

    monkeypatch.setattr(type(BENCHMARK), "parse", later)
    monkeypatch.setattr(type(BENCHMARK), "quantities", (Quantity("overhead", "elapsed", {}, tolerance=0.0),))


def test_a_run_shows_both_values_and_keeps_what_was_measured(asct: Asct, tmp_path: Path) -> None:
    plan = tmp_path / "twice.yaml"
    plan.write_text(PLAN + "defaults: {repeats: 2}\nexpect:\n  - {metric: one.elapsed, max: 1 h}\n")
    assert asct("apply", str(plan)).code == 0
    run = (tmp_path / "results/twice/latest").resolve()
    assert "disagrees" not in (run / "records.jsonl").read_text()
    summary = (run / "summary.md").read_text()
    assert "Values of the overhead disagree: one, two" in summary and "disagrees with two" in summary
    assert "disagrees with two" in (run / "report.html").read_text()
    assert "the overhead disagree: one, two" in asct("report", str(run), "--format", "stdout").out
    both = [("one", "disagrees:two"), ("two", "disagrees:one")]
    shown = asct("results", "show", str(run), "--json").document
    assert sorted({(record["id"], record["flags"][-1]) for record in shown["records"]}) == both
    assert asct("report", str(run), "--format", "jsonl", "-o", str(tmp_path / "out")).code == 0
    found = [json.loads(line) for line in (tmp_path / "out/report.jsonl").read_text().splitlines()]
    assert sorted({(record["id"], record["flags"][-1]) for record in found}) == both
    assert asct("results", "verify", str(run)).code == 0
    assert asct("resume", str(run)).code == 0
    assert json.loads((run / "run.json").read_text())["verdicts"][0]["reason"].startswith(
        "the value is flagged disagrees:two"
    )


def test_strict_rejects_values_that_disagree(asct: Asct, tmp_path: Path) -> None:
    plan = tmp_path / "twice.yaml"
    plan.write_text(PLAN + "defaults: {strict: true}\n")
    ended = asct("apply", str(plan))
    assert ended.code == 3
    assert "E617" in ended.err and "one measured the overhead" in ended.err.replace("\n", " ")


def test_the_flag_is_explained(asct: Asct) -> None:
    ended = asct("explain", "disagrees")
    assert ended.code == 0 and "another value of the same quantity" in ended.out.replace("\n", " ")
