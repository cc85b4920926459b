"""Commands that measure on this machine with the benchmark noop: their output, and commands that read the results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Asct

pytestmark = pytest.mark.kernels


@pytest.fixture
def measured(asct: Asct, plan_file: Path) -> Asct:
    """Return a folder with one run of the small plan, labeled `first`."""
    ended = asct("apply", "small.yaml", "--label", "first", "--no-progress")
    assert ended.code == 0, ended.err
    return asct


def test_results_and_reports_of_a_run(measured: Asct, tmp_path: Path) -> None:
    head, line = measured("results", "list").out.splitlines()
    assert head.split() == ["plan", "run", "status", "exit", "measured", "hosts", "labels"]
    assert line.split()[0::2] == ["small", "complete", "3/3", "first"]
    assert measured("results", "label", "first", "golden").code == 0
    assert measured("results", "list").out.splitlines()[1].endswith("  first,golden")
    assert measured("results", "list", "--json").document["runs"][0]["labels"] == ["first", "golden"]
    with pytest.MonkeyPatch.context() as terminal:
        terminal.setenv("COLUMNS", "60")
        narrow = [
            *measured("results", "show", "first").out.splitlines(),
            *measured("results", "verify").out.splitlines(),
        ]
    assert max(len(line) for line in narrow if "/" not in line) <= 60
    assert "small/" in narrow[-2] and narrow[-1] == "  noop"
    shown = measured("results", "show", "first").out
    assert re.search(r"local/idle: \d (ok|noisy)", shown)
    assert measured("report", "first", "-f", "stdout").out in shown
    asked = measured("results", "query", "SELECT id, count(*) AS n, min(value) FROM records GROUP BY id", "first")
    assert asked.out.splitlines()[0].split() == ["id", "n", "min(value)"]
    assert asked.out.splitlines()[1].split()[:2] == ["idle", "3"]
    rows = measured("results", "query", "SELECT 9e999, x'00ff', null, metric FROM records LIMIT 1", "--json").document
    assert rows["rows"] == [[None, "00ff", None, "elapsed"]]
    assert measured("results", "query", "SELECT nothing FROM records").code == 2
    assert "intact, 3 records of noop" in measured("results", "verify", "first").out
    files = measured("report", "-f", "csv", "-f", "jsonl", "-o", "out").out.split()
    assert sorted(files) == sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "out").iterdir())
    document = measured("report", "--json").document
    assert document["schema"] == "asct.reports/1"
    assert all(
        Path(path).is_file() for form in document["reports"].values() for paths in form.values() for path in paths
    )


def test_a_whole_run_is_not_measured_again(measured: Asct) -> None:
    before = measured("results", "show", "--json").document
    ended = measured("resume", "first")
    assert ended.code == 0
    assert "0 measurements missing" in ended.err and "\ncomplete: " in ended.err
    *_, html, markdown, results = ended.out.splitlines()
    assert html.startswith("html: ") and html.endswith("report.html")
    assert markdown.endswith("summary.md") and results.startswith("results: ")
    assert measured("resume", "first", "-q").out == ""
    assert measured("results", "show", "--json").document == before


def test_with_json_a_whole_run_ends_with_the_same_event_again(asct: Asct, plan_file: Path) -> None:
    first = asct("apply", "small.yaml", "--label", "first", "--json")
    for command in (("resume", "first"), ("apply", "small.yaml", "--resume")):
        again = asct(*command, "--json")
        assert (again.code, again.out) == (first.code, first.out.splitlines(keepends=True)[-1])


def tear(tmp_path: Path) -> Path:
    """Remove the end of one point from the run."""
    run = (tmp_path / "results" / "small" / "latest").resolve()
    status = next(iter(run.glob("jobs/local/idle/*/r1/status.json")))
    status.unlink()
    return status


@pytest.mark.parametrize(
    "given", [("small.yaml", "--resume"), ("--resume", "small.yaml"), ("small.yaml", "--resume", "first")]
)
def test_a_plan_goes_on_with_what_its_run_lacks(measured: Asct, tmp_path: Path, given: tuple[str, ...]) -> None:
    status = tear(tmp_path)
    ended = measured("apply", *given)
    assert ended.code == 0, ended.err
    assert "1 measurement missing" in ended.err
    assert status.exists()
    assert len(measured("results", "list").out.splitlines()) == 2  # no second run


def test_a_whole_run_of_a_plan_is_not_measured_again(measured: Asct) -> None:
    ended = measured("apply", "small.yaml", "--resume")
    assert (ended.code, "0 measurements missing" in ended.err) == (0, True)


def test_a_changed_plan_is_not_taken_for_the_one_of_the_run(measured: Asct, tmp_path: Path) -> None:
    tear(tmp_path)
    ended = measured("apply", "small.yaml", "--resume", "--profile", "one")
    assert ended.code == 3
    assert "E507" in ended.err and "a different plan" in ended.err


def test_what_cannot_be_resumed_is_said(asct: Asct, plan_file: Path) -> None:
    ended = asct("apply", "small.yaml", "--resume")
    assert (ended.code, "E505" in ended.err) == (2, True)
    ended = asct("apply", "small.yaml", "small.yaml", "--resume", "first")
    assert (ended.code, "specifies one run" in ended.err) == (2, True)
    ended = asct("apply")
    assert (ended.code, "PLAN" in ended.err) == (2, True)


@pytest.mark.parametrize("option", ["--json", "--no-progress"])
def test_a_run_goes_on_when_nobody_reads_any_more(plan_file: Path, tmp_path: Path, option: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "asct", "apply", str(plan_file), option],
            cwd=tmp_path, stdout=writer, stderr=writer, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert ended.returncode == 0
    document = json.loads((tmp_path / "results" / "small" / "latest" / "run.json").read_text(encoding="utf-8"))
    assert (document["status"], document["exit_code"]) == ("complete", 0)
    assert (tmp_path / "results" / "small" / "latest" / "report.html").is_file()


def test_events_are_lines_that_begin_with_their_schema(asct: Asct, plan_file: Path) -> None:
    lines = [json.loads(line) for line in asct("apply", "small.yaml", "--json").out.splitlines()]
    assert {next(iter(line.items())) for line in lines} == {("schema", "asct.event/1")}
    assert (lines[0]["t"], lines[-1]["t"], lines[-1]["exit_code"]) == ("run-started", "run-ended", 0)


def test_ad_hoc_files_are_those_of_the_format(asct: Asct, tmp_path: Path) -> None:
    ended = asct("run", "noop", "-f", "csv", "-o", "out", "--log-file", "my.log", "-L", "debug")
    assert ended.code == 0
    names = {one.name for one in (tmp_path / "out").iterdir()}
    assert {"noop.csv", "system_info.csv", "run.json", "report.html"} <= names
    assert "report.json" not in names
    assert "noop" in (tmp_path / "my.log").read_text(encoding="utf-8")
    assert asct("run", "noop", "-f", "csv", "-o", "out").code == 2
    (tmp_path / "out" / "noop.notes.csv").write_text("mine")
    before = {one: one.stat().st_mtime_ns for one in (tmp_path / "out").rglob("*") if one.is_file()}
    refused = asct("run", "noop", "-o", "out", "--force")
    assert (refused.code, "[E516]" in refused.err, "noop.notes.csv, which asct did not write" in refused.err) == (
        3,
        True,
        True,
    )
    assert {one: one.stat().st_mtime_ns for one in before if one.name != ".lock"}.items() <= before.items()
    (tmp_path / "out" / "noop.notes.csv").unlink()
    assert asct("run", "noop", "-o", "out", "--force", "-q").err == ""
    assert asct("run", "noop", "-f", "json", "-o", "other", "-q").code == 0
    names = {one.name for one in (tmp_path / "other").iterdir()}
    assert "report.json" in names and "noop.csv" not in names


@pytest.mark.parametrize("name", ["run.json", "plan.resolved.json", "journal.jsonl"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_what_resume_cannot_repair_is_not_advised_to_be_resumed(
    measured: Asct, tmp_path: Path, name: str, damage: str
) -> None:
    path = (tmp_path / "results/small/latest" / name).resolve()
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:100] + "\n" if damage == "cut" else text.replace('"', '"{', 3), encoding="utf-8")
    ended = measured("resume")
    told = " ".join(ended.err.split())
    assert ended.code == 3 and f"{name}" in told
    assert "restore it from a backup; if there is none, run the plan again" in told
    assert "asct resume" not in told and "asct plan PLAN -o" not in told


def test_a_bug_while_a_run_is_judged_ends_the_run(
    asct: Asct, plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("asct.cli.execution.judge", fail)
    plan_file.write_text(plan_file.read_text() + 'expect: [{metric: "*", max: 1 h}]\n')
    assert asct("apply", str(plan_file)).code == 70
    run = (tmp_path / "results" / "small" / "latest").resolve()
    body = json.loads((run / "run.json").read_text())
    assert (body["status"], body["exit_code"]) == ("incomplete", 70)
    assert (run / "summary.md").exists()
    assert asct("results", "verify", str(run)).code == 0
