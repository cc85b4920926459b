"""Signals that arrive while a run is judged, reported or summarized."""

from __future__ import annotations

import json
import os
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asct.cli import execution
from tests.cli.conftest import Asct

pytestmark = pytest.mark.kernels
REPORTS = ("report.html", "summary.md", "junit.xml", "SHA256SUMS")
Send = Callable[..., None]


@pytest.fixture
def send_before(monkeypatch: pytest.MonkeyPatch) -> Send:
    """`send_before("print_summary", SIGINT)` sends signals to this process before the next call of a function in
    asct.cli.execution."""

    def prepare(name: str, *numbers: int) -> None:
        original, left = getattr(execution, name), [numbers]

        def call(*arguments: Any, **more: Any) -> Any:
            for number in left.pop() if left else ():
                os.kill(os.getpid(), number)
            return original(*arguments, **more)

        monkeypatch.setattr(execution, name, call)

    return prepare


def latest(tmp_path: Path, plan: str = "small") -> Path:
    return (tmp_path / "results" / plan / "latest").resolve(strict=True)


def run_json(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((latest(tmp_path) / "run.json").read_text())
    return found


@pytest.mark.parametrize("place", ["view_of", "write_report", "print_summary"])
@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_a_signal_after_the_end_of_a_run_changes_nothing(
    asct: Asct, plan_file: Path, tmp_path: Path, send_before: Send, place: str, numbers: tuple[int, ...]
) -> None:
    send_before(place, *numbers)
    ended = asct("apply", "small.yaml", "--ci")
    assert (ended.code, run_json(tmp_path)["status"], run_json(tmp_path)["exit_code"]) == (0, "complete", 0), ended.err
    assert all((latest(tmp_path) / name).is_file() for name in REPORTS)
    assert "\nexit code 0" in ended.err and "results: " in ended.out
    assert asct("results", "verify").code == 0


@pytest.mark.parametrize("place", ["judging", "_judged", "finish_run"])
def test_a_second_signal_does_not_prevent_the_reports_of_an_interrupted_run(
    asct: Asct, plan_file: Path, tmp_path: Path, send_before: Send, place: str
) -> None:
    """Some CI servers send SIGINT and, after some seconds, SIGTERM."""
    send_before(place, signal.SIGINT)
    send_before("write_report", signal.SIGTERM)
    ended = asct("apply", "small.yaml", "--ci")
    assert (ended.code, run_json(tmp_path)["status"], run_json(tmp_path)["exit_code"]) == (130, "interrupted", 130)
    assert all((latest(tmp_path) / name).is_file() for name in REPORTS)
    junit = ET.parse(latest(tmp_path) / "junit.xml").getroot()
    assert int(junit.get("errors", "")) + int(junit.get("failures", "")) > 0
    assert "\nexit code 130" in ended.err
    assert asct("resume", "--ci").code == run_json(tmp_path)["exit_code"] == 0


def test_the_second_sigint_ends_the_reports_and_resume_writes_them(
    asct: Asct, plan_file: Path, tmp_path: Path, send_before: Send
) -> None:
    send_before("write_report", signal.SIGINT, signal.SIGINT)
    ended = asct("apply", "small.yaml", "--ci")
    assert ended.code == run_json(tmp_path)["exit_code"] == 0
    assert "warning[E901]: interrupted before all reports were written" in ended.err
    assert "`asct resume` writes them" in ended.err
    assert not (latest(tmp_path) / "report.html").exists() and not list(latest(tmp_path).rglob("*.tmp"))
    assert asct("results", "verify").code == 0
    again = asct("resume", "--ci", "--json")
    assert again.code == 0 and again.out.splitlines()[-1].startswith('{"schema": "asct.event/1", "t": "run-ended"')
    assert all((latest(tmp_path) / name).is_file() for name in REPORTS)
    assert asct("results", "verify").code == 0


def test_the_second_sigint_ends_the_summary_with_the_exit_code_of_the_run(
    asct: Asct, plan_file: Path, tmp_path: Path, send_before: Send
) -> None:
    send_before("print_summary", signal.SIGINT, signal.SIGINT)
    ended = asct("apply", "small.yaml")
    assert ended.code == run_json(tmp_path)["exit_code"] == 0
    assert ended.err.endswith("interrupted\n")


@pytest.mark.parametrize("lost", ["report.html", "seal"])
def test_resume_writes_missing_reports_and_measures_nothing(
    asct: Asct, plan_file: Path, tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed while its reports are written has neither all reports nor checksums."""
    assert asct("apply", "small.yaml").code == 0
    run = latest(tmp_path)
    if lost == "seal":
        (run / "SHA256SUMS").unlink()
        (run / "run.json").write_text(json.dumps({**run_json(tmp_path), "sealed": False}))
    else:
        (run / lost).unlink()
    records = (run / "records.jsonl").read_bytes()
    monkeypatch.setattr("asct.cli.execution.apply", lambda *_, **__: pytest.fail("the hosts were opened"))
    ended = asct("resume")
    assert ended.code == 0 and "html: " in ended.out, ended.err
    assert (run / "report.html").is_file() and (run / "SHA256SUMS").is_file()
    assert (run / "records.jsonl").read_bytes() == records
    assert asct("results", "verify").code == 0


def test_after_a_signal_during_the_reports_no_other_plan_is_run(
    asct: Asct, plan_file: Path, tmp_path: Path, send_before: Send
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(plan_file.read_text().replace("name: small", "name: other"))
    send_before("write_report", signal.SIGTERM)
    ended = asct("apply", "small.yaml", "other.yaml")
    assert ended.code == 143 and "interrupted by SIGTERM" in ended.err
    assert run_json(tmp_path)["exit_code"] == 0 and (latest(tmp_path) / "report.html").is_file()
    assert not (tmp_path / "results" / "other").exists()
