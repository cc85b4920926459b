"""The synthetic trees are intact and reproducible, and contain the problems that their pages are meant to show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from asct.analysis.report import build
from asct.analysis.view import open_view
from asct.registry import installed
from asct.store.reader import read_run
from tests.browser.trees import TREES, main, write_tree


def test_the_same_name_gives_the_same_files(tmp_path: Path) -> None:
    one, two = (write_tree("failures", tmp_path / name) for name in ("one", "two"))
    assert one.name == two.name
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.name != "journal.jsonl")
    assert len(names) > 100
    for name in names:  # the journal has the time of writing, and so have its checksums
        if name != "SHA256SUMS" and (one / name).is_file():
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_much_goes_wrong_in_the_run_of_failures(tmp_path: Path) -> None:
    view = open_view(write_tree("failures", tmp_path), installed())
    assert view.notes == ()
    assert {host.name: host.status for host in view.run.hosts} == {"alpha": "ok", "beta": "ok", "gamma": "unreachable"}
    assert [job.id for job in view.run.jobs if job.refused] == ["patterns"]
    assert Counter(verdict.outcome for verdict in view.run.verdicts).keys() == {"pass", "fail", "unknown"}
    assert view.run.exit_code == 4
    states = {state for job in view.run.jobs for state in job.host_states}
    assert states == {"stable", "noisy"}


def test_a_run_of_memory_has_visits_states_and_a_baseline(tmp_path: Path) -> None:
    stored = read_run(write_tree("memory", tmp_path))
    stats = [record.stats for record in stored.records() if record.stats is not None]
    assert any(one.visit_values and len(one.visit_values) == 8 for one in stats)
    assert any(one.states for one in stats)
    assert any(verdict.baseline is not None for verdict in stored.run.verdicts)


def test_a_wrong_name_is_answered_with_the_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["nothing", str(tmp_path)]) == 2
    shown = capsys.readouterr().out
    assert [name for name in TREES if name not in shown] == []
    assert list(tmp_path.iterdir()) == []


def test_sections_of_one_benchmark_have_titles_of_their_own(tmp_path: Path) -> None:
    report = build(open_view(write_tree("qualification", tmp_path), installed()))
    titles = [section.title for section in report.sections]
    assert len(titles) == len(set(titles)) == 9
    assert "Recovery and demand intensity of a drive: idle" in titles


def test_phases_have_the_names_of_their_block_sizes(tmp_path: Path) -> None:
    stored = read_run(write_tree("qualification", tmp_path))
    rounds = [record for record in stored.records() if record.metric == "rounds" and record.id == "throughput"]
    assert [record.coords["phase"] for record in rounds] == ["1024k", "64k", "8k", "4k", "512"]


def test_one_time_is_not_in_the_plural(tmp_path: Path) -> None:
    """The range of the latency test is written once before the steady state."""
    view = open_view(write_tree("qualification", tmp_path), installed())
    notes = [note for job in view.jobs for table in job.tables for note in table.notes]
    assert any("have been written 1 time since" in note for note in notes)
    assert not any(" 1 times " in note for note in notes)
