"""What `asct results label` and `asct results accept` refuse, and the alternatives that they suggest."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest

from asct.store.accepted import read_acceptances
from asct.store.files import LineFile
from asct.store.folders import hold_lock
from asct.store.layout import RunLayout
from tests.cli.conftest import Asct
from tests.export.sample import Sample, write_sample

FAILED = {"outcome": "fail", "severity": "fail", "host": "local", "id": "latency-sweep", "metric": "latency"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "results", Sample(quiet=True, verdicts=False))


def change(run: Path, **fields: Any) -> None:
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, **fields}))


@pytest.mark.parametrize(
    ("fields", "fault", "fix"),
    [
        ({"verdicts": [FAILED], "exit_code": 1}, "it has 1 failed expectation", "`asct results accept`"),
        ({"status": "interrupted"}, "it is interrupted", "`asct resume`"),
    ],
)
def test_a_run_that_cannot_have_a_label_says_what_to_do_instead(
    asct: Asct, run: Path, fields: dict[str, Any], fault: str, fix: str
) -> None:
    assert asct("results", "label", "latest", "golden").code == 0
    change(run, **fields)
    ended = asct("results", "label", "latest", "good")
    assert (ended.code, ended.out) == (3, "")
    assert fault in " ".join(ended.err.split())
    assert fix in " ".join(ended.err.split("hint: ")[1].split())
    assert not (run.parent / "good").is_symlink()


def test_values_that_cannot_be_accepted_say_what_to_do_instead(asct: Asct, run: Path) -> None:
    def hint(metric: str) -> str:
        ended = asct("results", "accept", "latest", metric, "--because", "new firmware")
        assert (ended.code, ended.out) == (3, "")
        return " ".join(ended.err.split("hint: ")[1].split())

    assert hint("latency-sweep.latncy") == "did you mean `latency-sweep.latency`?"
    assert hint("x.y") == "`asct results show latest` lists the metrics"
    records = (run / "records.jsonl").read_text()
    (run / "records.jsonl").write_text(records.replace('"flags":[]', '"flags":["invalid-x"]'))
    assert hint("latency-sweep.latency") == "accept another run that has valid values of this metric"
    change(run, status="interrupted")
    assert hint("latency-sweep.latency") == "complete it with `asct resume`, or use another run"
    assert not (run.parent / "accepted.jsonl").exists()


def test_a_run_that_another_process_changes_is_not_changed(asct: Asct, run: Path) -> None:
    accepting = ("accept", "latest", "latency-sweep.latency", "--because", "new firmware")
    with hold_lock(RunLayout(run).lock):
        for arguments in (("label", "latest", "golden"), accepting):
            ended = asct("results", *arguments)
            assert (ended.code, ended.out) == (4, "")
            assert f"[E504]: results/{run.parent.name}/{run.name}: asct process" in " ".join(ended.err.split())
    assert not (run.parent / "golden").is_symlink() and not (run.parent / "accepted.jsonl").exists()
    assert asct("results", *accepting).code == 0


def test_only_one_process_at_a_time_accepts_values(asct: Asct, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = LineFile.append

    def locked(file: LineFile, text: str, *, sync: bool) -> None:
        with file.path.open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        append(file, text, sync=sync)

    monkeypatch.setattr(LineFile, "append", locked)
    for reason in ("new firmware", "new compiler"):
        assert asct("results", "accept", "latest", "latency-sweep.latency", "--because", reason).code == 0
    assert [item.because for item in read_acceptances(run.parent)] == ["new firmware", "new compiler"]


def test_the_verdicts_of_a_run_name_the_values(asct: Asct, run: Path) -> None:
    change(run, verdicts=[{**FAILED, "at": {"level": "DRAM"}, "text": "*: at most 5% worse than the baseline"}])
    shown = " ".join(asct("results", "show").out.split())
    assert " expect fail: latency-sweep.latency at level DRAM on local: not measured, expected at most 5%" in shown
