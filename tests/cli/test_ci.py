"""`--ci`: what a run, or a command that ends before it measures, reports to GitHub Actions and GitLab."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.budget import MOST_BYTES
from tests.cli.conftest import Asct

LATEST = "results/small/latest"


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves may run in CI."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of a step in GitHub Actions, with the files `summary.md` and `output`."""
    folder = tmp_path / "step"
    folder.mkdir()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(folder / "output"))
    return folder


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path.parent))


def failing(plan: Path) -> None:
    """Add an expectation that fails, and repeats, so that values can be judged even if other tests disturb them."""
    more = "expect:\n  - {metric: idle.elapsed, max: 1 ns}\ndefaults: {repeats: 2}\n"
    plan.write_text(plan.read_text() + more, encoding="utf-8")


def test_a_run_writes_the_reports_that_ci_servers_read(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    plan_file.write_text(plan_file.read_text() + "report: {formats: [csv]}\n", encoding="utf-8")
    ended = asct("apply", "small.yaml", "--ci")
    names = {path.name for path in (tmp_path / LATEST).iterdir()}
    assert ended.code == 0 and "::" not in ended.out + ended.err
    assert {"junit.xml", "summary.md"} <= names
    assert not {"report.html", "gl-code-quality-report.json"} & names


def test_a_workflow_gets_annotations_a_summary_and_the_folder(asct: Asct, plan_file: Path, github: Path) -> None:
    failing(plan_file)
    ended = asct("apply", "small.yaml", "--ci")
    assert ended.code == 1
    errors = [line for line in ended.out.splitlines() if line.startswith("::error")]
    assert len(errors) == 3
    assert all(
        line.startswith("::error file=small.yaml,line=8,title=expectation failed%3A idle.elapsed::") for line in errors
    )
    assert (github / "summary.md").read_text().startswith("# small\n\n❌ **All 3 expectations failed**")
    name, _, folder = (github / "output").read_text().strip().partition("=")
    assert name == "run" and (Path(folder) / "junit.xml").is_file()


def test_the_progress_of_a_workflow_is_folded(asct: Asct, plan_file: Path, github: Path) -> None:
    lines = asct("apply", "small.yaml", "--ci").err.splitlines()
    first, last = lines.index("::group::measure small"), lines.index("::endgroup::")
    assert any("idle: " in line for line in lines[first:last])
    assert any(line.startswith("complete: ") for line in lines[last:])


def test_with_json_stdout_contains_only_events(asct: Asct, plan_file: Path, github: Path) -> None:
    failing(plan_file)
    ended = asct("apply", "small.yaml", "--ci", "--json")
    assert {json.loads(line)["schema"] for line in ended.out.splitlines()} == {"asct.event/1"}
    assert ended.err.count("::error ") == 3


def test_a_run_goes_on_without_the_files_of_the_workflow(
    asct: Asct, plan_file: Path, github: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(github / "nowhere" / "summary.md"))
    ended = asct("apply", "small.yaml", "--ci")
    assert (ended.code, "nowhere/summary.md" in ended.err.replace("\n", "")) == (0, True)


def test_the_summaries_of_a_step_stay_below_a_mebibyte(asct: Asct, plan_file: Path, github: Path) -> None:
    (github / "summary.md").write_bytes(b"x" * (MOST_BYTES - 1000))
    assert asct("apply", "small.yaml", "--ci").code == 0
    body = (github / "summary.md").read_text()
    assert "# small" in body and "Shortened or left out here" in body
    assert len(body.encode()) <= MOST_BYTES
    (github / "summary.md").write_bytes(b"x" * MOST_BYTES)
    assert "does not fit into" in asct("apply", "small.yaml", "--ci").err
    assert (github / "summary.md").stat().st_size == MOST_BYTES


def test_an_invalid_plan_is_annotated_at_its_lines(asct: Asct, plan_file: Path, github: Path) -> None:
    plan_file.write_text(plan_file.read_text().replace("uses: noop", "uses: nop"), encoding="utf-8")
    ended = asct("apply", "small.yaml", "--ci")
    assert ended.code == 2
    assert "::error file=small.yaml,line=5,col=" in ended.out and "did you mean" in ended.out
    summary = (github / "summary.md").read_text()
    assert summary.startswith("❌ **asct exited with code 2 before measuring anything**")
    assert "`small.yaml:5`" in summary
    assert not (github / "output").exists()
    asct("apply", "small.yaml", "--ci")
    assert "\n\n❌ **asct exited" in (github / "summary.md").read_text(), "a paragraph of its own"
    assert "::error" not in asct("apply", "small.yaml").out, "without --ci"


def test_paths_are_those_of_the_repository(
    asct: Asct, plan_file: Path, github: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(plan_file)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    assert f"::error file={tmp_path.name}/small.yaml,line=8" in asct("apply", "small.yaml", "--ci").out
    assert f"::error file={tmp_path.name}/small.yaml,line=8" in asct("apply", str(plan_file), "--ci").out


def test_resuming_a_complete_run_annotates_it_again(asct: Asct, plan_file: Path, github: Path) -> None:
    failing(plan_file)
    asct("apply", "small.yaml")
    ended = asct("resume", "--ci")
    assert (ended.code, ended.out.count("::error ")) == (1, 3)


def critical(folder: Path) -> list[dict[str, Any]]:
    """Return the critical items in the report. There are further items if the host was noisy."""
    items = json.loads((folder / LATEST / "gl-code-quality-report.json").read_text())
    return [item for item in items if item["severity"] == "critical"]


def test_each_server_gets_what_it_asks_for(
    asct: Asct, plan_file: Path, tmp_path: Path, github: Path, gitlab: None
) -> None:
    failing(plan_file)
    ended = asct("apply", "small.yaml", "--ci")
    assert ended.code == 1 and "::error file=small.yaml,line=8" in ended.out
    assert {item["location"]["path"] for item in critical(tmp_path)} == {f"{tmp_path.name}/small.yaml"}


def test_gitlab_gets_a_code_quality_report(asct: Asct, plan_file: Path, tmp_path: Path, gitlab: None) -> None:
    failing(plan_file)
    ended = asct("apply", "small.yaml", "--ci")
    assert (ended.code, "::error" in ended.out + ended.err) == (1, False)
    items = critical(tmp_path)
    assert {item["location"]["path"] for item in items} == {f"{tmp_path.name}/small.yaml"}
    assert [item["location"]["lines"] for item in items] == [{"begin": 8}] * 3
    asct("apply", "small.yaml", "--ci")
    again = critical(tmp_path)
    assert [item["fingerprint"] for item in items] == [item["fingerprint"] for item in again]
    assert len({item["fingerprint"] for item in items}) == 3
    assert items != again, "the measured values differ"
    root = ET.parse(tmp_path / LATEST / "junit.xml").getroot()
    assert root.get("failures") == "3"
