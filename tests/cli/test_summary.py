"""The summary at the end of a run: its stream, its width, and its content with --quiet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asct.analysis.view import RunView
from asct.cli.console import Console, OutputStyle
from asct.cli.summary import print_summary
from asct.store.model import HostEntry
from tests.export.fakes import sample_view


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def ended(
    view: RunView, capsys: pytest.CaptureFixture[str], results: bool = True, **style: object
) -> tuple[list[str], list[str]]:
    """Return the lines on stdout and on stderr."""
    print_summary(Console(OutputStyle(**style)), view, {"html": view.root / "report.html"}, results=results)  # type: ignore[arg-type]
    seen = capsys.readouterr()
    return seen.out.splitlines(), seen.err.splitlines()


def test_paths_are_unbroken_and_each_on_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = tmp_path / ("a-folder-with-a-long-name-" * 4)
    view = sample_view(deep, verdicts=False, quiet=True)
    out, err = ended(view, capsys)
    assert out[-2:] == [f"html:     {view.root}/report.html", f"results:  {view.root}"]
    assert not any(str(tmp_path) in line for line in err)


def test_counts_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = ended(sample_view(tmp_path, verdicts=False, quiet=True), capsys)
    assert [line for line in err if line] == [
        "complete: All 25 measurements are complete",
        "  2 of 24 measurements ran while the host was noisy (steal time)",
        "  The plan has no expectations",
        "exit code 0",
    ]


def test_failures_are_told_by_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = ended(sample_view(tmp_path, fail_depth=8), capsys)
    assert err[1:3] == ["host   latency-sweep  storage-io-depth-sweep", "local  ok             failed 3/24"]
    assert "exit code 3" in err
    assert max(len(line) for line in err if str(tmp_path) not in line) <= 80


@pytest.mark.parametrize("changes", [{"fail_depth": 8}, {"status": "incomplete", "fail_depth": 8}, {}])
def test_quiet_tells_why_the_exit_code_is_not_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object]
) -> None:
    view = sample_view(tmp_path, **changes)
    assert view.run.exit_code
    _, err = ended(view, capsys, quiet=True)
    assert err[0] == f"{view.run.status}: 1 of 3 expectations failed"
    assert err[1].startswith("  storage-io-depth-sweep.read_iops at iodepth 32 on local: measured 57.9k ops/s")
    assert not any("exit code" in line for line in err)


def test_quiet_tells_the_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = sample_view(tmp_path, fail_depth=8, verdicts=False)
    entries = [job.entry.model_copy(update={"note": "E601 no space left"}) for job in view.jobs]
    jobs = tuple(replace(job, entry=entry) for job, entry in zip(view.jobs, entries, strict=True))
    _, err = ended(replace(view, jobs=jobs, run=view.run.model_copy(update={"jobs": entries})), capsys, quiet=True)
    assert err == [
        "complete: 3 of 25 measurements failed and 1 is noisy",
        "  storage-io-depth-sweep on local: E601 no space left",
        "  hint: free some space in the work folder",
    ]


@pytest.mark.parametrize("refused", [True, False])
def test_resume_is_not_suggested_alone_after_a_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: bool
) -> None:
    view = sample_view(tmp_path, verdicts=False)
    view.run.jobs[0].refused = refused
    view.run.jobs[0].counts["refused" if refused else "failed"] = 1
    told = " ".join(" ".join(ended(view, capsys)[1]).split())
    assert "to measure what is missing, run `asct resume " in told
    assert ("first remove the cause of the refusal on the host" in told) is refused
    assert ("then, to measure" in told) is refused


def test_a_cause_that_names_its_host_is_told_without_another_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = sample_view(tmp_path, verdicts=False)
    reason = "E301 n2: connection refused"
    view.run.hosts.insert(0, HostEntry(name="n2", transport="ssh", status="unreachable", reason=reason))
    view.run.exit_code = 3
    assert ended(view, capsys, quiet=True)[1][:2] == ["complete: 1 of 2 hosts could not be used", f"  {reason}"]


def test_quiet_is_silent_if_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = ended(sample_view(tmp_path, verdicts=False, quiet=True), capsys, quiet=True)
    assert (out, err) == ([], [])


def test_json_prints_no_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(sample_view(tmp_path), capsys, json=True) == ([], [])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_sweeps_are_sparklines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out, _ = ended(sample_view(tmp_path, verdicts=False, quiet=True), capsys)
    shown = [line for line in out if "█" in line]
    assert len(shown) == 2
    assert max(map(len, out[:-2])) <= width
    assert all(" to " in line for line in shown)
    assert not any("█" in line for line in ended(sample_view(tmp_path / "b"), capsys, results=False)[0])


def test_key_results_have_value_spread_count_and_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = ended(sample_view(tmp_path, verdicts=False, quiet=True), capsys)
    assert out[:9] == [
        "Memory latency (latency-sweep)",
        "  L1 latency                 1.18 ns  ±0.4\N{NO-BREAK SPACE}%, 31 samples over several sizes",
        "  L2 latency                 4.12 ns  ±0.4\N{NO-BREAK SPACE}%, 31 samples over several sizes",
        "  LLC latency                21.6 ns  ±0.4\N{NO-BREAK SPACE}%, 31 samples over several sizes",
        "  DRAM latency               98.1 ns  ±0.4\N{NO-BREAK SPACE}%, 31 samples over several sizes",
        "Storage bandwidth (storage-io-depth-sweep)",
        "  Highest bandwidth         240 MB/s  at iodepth 128, range 6\N{NO-BREAK SPACE}%, 3 repeats",
        "Storage IOPS (storage-io-depth-sweep)",
        "  Highest IOPS           58.6k ops/s  at iodepth 128, range 6\N{NO-BREAK SPACE}%, 3 repeats",
    ]


@pytest.mark.parametrize("hosts", [2, 40])
@pytest.mark.parametrize("width", [60, 80])
def test_key_results_of_several_hosts_keep_values_and_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, hosts: int, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = tuple(f"n{number:02}" for number in range(1, hosts + 1))
    out, _ = ended(sample_view(tmp_path, hosts=names, verdicts=False), capsys)
    assert max(len(line) for line in out if str(tmp_path) not in line) <= width
    said = " ".join(" ".join(out).split())
    named = "n01: 98.1 ±0.4 %" if hosts == 2 else "min on n01 ±0.4 %"
    assert "98.1 to " in said and named in said.replace("\N{NO-BREAK SPACE}", " ")
    assert ("median of 40 hosts" in said) == (hosts == 40)


def test_a_run_without_values_has_no_key_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = sample_view(tmp_path)
    empty = replace(view, jobs=tuple(replace(job, records=(), figures=()) for job in view.jobs))
    out, _ = ended(empty, capsys)
    assert [line.partition(":")[0] for line in out] == ["html", "results"]


@pytest.mark.parametrize(
    ("severities", "sentence"),
    [
        (("fail", "fail", "warn"), "1 of 3 expectations failed"),
        (("fail", "warn", "warn"), "2 warnings (severity: warn)"),
    ],
)
def test_every_judged_expectation_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], severities: tuple[str, ...], sentence: str
) -> None:
    """Expectations whose failure is only a warning count as well, so that all counts of a run have the same total."""
    view = sample_view(tmp_path, quiet=True)
    outcomes = ("pass", "fail", "fail")
    verdicts = [
        view.run.verdicts[0].model_copy(update={"outcome": outcome, "severity": severity})
        for outcome, severity in zip(outcomes, severities, strict=True)
    ]
    failed = "fail" in severities[1:]
    run = view.run.model_copy(update={"verdicts": verdicts, "exit_code": int(failed)})
    _, err = ended(replace(view, run=run), capsys)
    assert f"complete: {sentence}" in err
    assert failed or "  1 of 3 expectations were met, and none failed" in err


@pytest.mark.parametrize(
    ("value", "severity", "reason"),
    [(1.0, "info", "severity: info"), (None, "info", "if_missing: warn"), (None, "fail", "if_missing: warn")],
)
def test_a_warning_names_the_key_that_prevents_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: float | None, severity: str, reason: str
) -> None:
    view = sample_view(tmp_path, quiet=True)
    change = {"outcome": "unknown", "severity": severity, "if_missing": "warn", "value": value}
    run = view.run.model_copy(update={"verdicts": [view.run.verdicts[0].model_copy(update=change)], "exit_code": 0})
    _, err = ended(replace(view, run=run), capsys)
    assert any(f"1 warning ({reason})" in line for line in err)
