"""What `asct expect` refuses, and with which message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Asct
from tests.export.sample import Sample, write_sample

METRIC = "latency-sweep.latency"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "results", Sample(quiet=True, verdicts=False))


def test_a_pattern_that_matches_nothing_is_an_error_beside_one_that_matches(asct: Asct, run: Path) -> None:
    assert METRIC in asct("expect", str(run), "--metric", METRIC).out
    ended = asct("expect", str(run), "--metric", METRIC, "--metric", "latency-sweep.latncy", "--metric", "x.*")
    assert (ended.code, ended.out) == (3, "")
    assert "error[E521]: no valid value matches `--metric latency-sweep.latncy`" in ended.err
    assert f"did you mean `{METRIC}`?" in ended.err
    assert "error[E521]: no valid value matches `--metric x.*`" in ended.err
    assert "the runs contain `latency-sweep." in ended.err


def test_runs_of_different_plans_are_refused(asct: Asct, run: Path, tmp_path: Path) -> None:
    other = write_sample(tmp_path / "others", Sample(quiet=True, verdicts=False))
    document = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**document, "plan": "other"}))
    ended = asct("expect", str(run), str(other), "-o", "expect.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert "error[E710]: the runs belong to different plans: quickstart, other" in ended.err
    assert not Path("expect.yaml").exists()
    assert asct("expect", str(run), str(run)).code == 0
