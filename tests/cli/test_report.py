"""`asct report`: where the reports are written, archives, and copies without secrets."""

from __future__ import annotations

import errno
import json
import os
import zipfile
from pathlib import Path

import pytest

from asct.analysis.compared import comparison_of, sources_of
from asct.analysis.view import RunView
from asct.cli.reports import published, view_of
from asct.export import render
from asct.store.files import write_error
from asct.store.folders import hold_lock
from asct.store.layout import RunLayout
from tests.analysis.test_report_sections import second_run
from tests.cli.conftest import Asct
from tests.export.fakes import Fakes
from tests.export.sample import RUN, Sample, write_sample

HOST = "zeus-lab7"
NAME = f"quickstart-{RUN}.zip"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "results", Sample(hosts=(HOST, "juno")))


def test_a_bundle_is_written_to_the_current_directory_or_the_one_given(asct: Asct, run: Path, tmp_path: Path) -> None:
    ended = asct("report", "--bundle")
    assert (ended.code, ended.out) == (0, f"{NAME}\n")
    with zipfile.ZipFile(NAME) as archive:
        names = archive.namelist()
        page = archive.read(f"{RUN}/report.html").decode()
    assert {f"{RUN}/{name}" for name in ("report.html", "summary.md", "run.json", "SHA256SUMS")} <= set(names)
    assert f'data-run="{RUN}"' in page
    ended = asct("report", str(run), "--bundle", "-f", "csv", "-o", "out", "--json")
    assert ended.document["reports"] == {str(run): {"bundle": [f"out/{NAME}"]}}
    with zipfile.ZipFile(f"out/{NAME}") as archive:
        assert f"{RUN}/latency-sweep.csv" in archive.namelist() and f"{RUN}/report.html" not in archive.namelist()
    assert not (run / "report.html").exists()
    assert asct("report", "--bundle").code == 2
    assert asct("report", "--bundle", "--force").code == 0


def test_a_redacted_report_names_no_host(asct: Asct, run: Path, tmp_path: Path) -> None:
    assert HOST in asct("report", "-f", "stdout").out
    shown = asct("report", "-f", "stdout", "--redact")
    assert (shown.code, HOST in shown.out, "host-1" in shown.out) == (0, False, True)
    assert asct("report", "-f", "html", "-f", "csv", "-o", "out", "--redact").code == 0
    assert {"report.html", "system_info.host-1.csv", "system_info.host-2.csv"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert all(HOST not in path.read_text() for path in (tmp_path / "out").iterdir())
    assert asct("report", "--bundle", "--redact").code == 0
    with zipfile.ZipFile(NAME) as archive:
        assert all(HOST not in name and HOST.encode() not in archive.read(name) for name in archive.namelist())
        assert f"{RUN}/jobs/host-1/latency-sweep/000000000000/r1/stdout" in archive.namelist()


def compared(view: RunView) -> tuple[list[list[str]], str]:
    found = comparison_of(view)
    assert found is not None and found.report is not None
    return [[cell.text for cell in row] for part in found.report.sections[0].parts for row in part.grid.rows], found.why


def test_a_redacted_report_contains_the_comparison_with_the_baseline(
    asct: Asct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asct.registry.installed", Fakes)
    root = second_run(tmp_path / "results", 1.3, hosts=(HOST, "juno"))
    with published(root, redact=True) as view:
        assert compared(view) == compared(view_of(root))
        found = sources_of(view)
        assert found is not None
        assert [source.hosts for source in found[:2]] == [["host-1", "host-2"]] * 2
        assert HOST not in repr(found)
        assert "Comparison with the baseline" in render(view, "html")


def test_a_redacted_report_says_why_there_is_no_comparison(asct: Asct, run: Path) -> None:
    path = run / "plan.resolved.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "baseline": f"{HOST}-golden"}))
    with published(run, redact=True) as view:
        found = comparison_of(view)
    assert found is not None and found.report is None
    assert "host-1-golden" in found.problem and HOST not in found.problem


def test_reports_are_not_written_to_a_run_in_progress(asct: Asct, run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    with hold_lock(RunLayout(run).lock):
        for arguments in ((), ("-o", "link")):
            refused = asct("report", *arguments)
            text = " ".join(refused.err.split())
            assert (refused.code, refused.out) == (4, "")
            assert f"[E504]: {run.relative_to(tmp_path)}: asct process {os.getpid()} is writing to this run" in text
            assert "write the reports to another directory with `--output-dir DIRECTORY`" in text
        assert not (run / "report.html").exists()
        for arguments in (("-o", "out"), ("-f", "stdout"), ("--bundle",)):
            assert asct("report", *arguments).code == 0
        assert (tmp_path / "out/report.html").exists()
    assert asct("report").code == 0
    assert (run / "report.html").exists()


def test_a_file_of_the_user_is_replaced_only_with_force(asct: Asct, run: Path) -> None:
    assert asct("report", "-f", "csv").code == 0
    for content in ("mine", "# asct wrote this heading, and I changed the rest"):
        (run / "summary.md").write_text(content)
        refused = asct("report")
        text = " ".join(refused.err.split())
        assert (refused.code, refused.out) == (2, "")
        assert "[E911]" in text and "summary.md already exists and differs from every report" in text
        assert "`--output-dir DIRECTORY`" in text and "`--force`" in text
        assert (run / "summary.md").read_text() == content
        assert not (run / "report.html").exists()
        assert asct("report", "-f", "csv").code == 0, "the other reports of the run are rendered again"
    assert asct("report", "--force").code == 0
    assert "# " in (run / "summary.md").read_text() != content
    assert asct("report").code == 0, "asct has now written both reports"


def test_a_report_that_does_not_fit_into_its_run_is_written_by_another_command(
    asct: Asct, plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _content: str) -> None:
        raise write_error(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    monkeypatch.setattr("asct.export.write_atomic", full)
    ended = asct("apply", str(plan_file), "--wait", "2m")
    [root] = (path.relative_to(tmp_path) for path in tmp_path.glob("results/small/*Z-*"))
    assert ended.code == 0 and not (root / "report.html").exists()
    assert f"then run `asct report {root}`" in " ".join(ended.err.split())


def test_a_link_in_place_of_a_report_is_a_file_of_the_user(asct: Asct, run: Path, tmp_path: Path) -> None:
    assert asct("report", "-f", "csv").code == 0
    (run / "latency-sweep.csv").rename(tmp_path / "mine.csv")
    (run / "latency-sweep.csv").symlink_to(tmp_path / "mine.csv")
    refused = asct("report", "-f", "csv")
    assert refused.code == 2 and "E911" in refused.err
    assert (run / "latency-sweep.csv").is_symlink()


def test_reports_of_older_versions_and_of_archives_are_replaced(asct: Asct, run: Path) -> None:
    """Their runs do not contain the checksums of their reports."""
    (run / "summary.md").write_text("from an older version")
    assert asct("report").code == 0
    assert (run / "summary.md").read_text() != "from an older version"


@pytest.mark.parametrize(
    ("arguments", "code", "texts"),
    [
        (("--redact",), 2, ("would overwrite the complete reports", "--output-dir", "--bundle")),
        (("latest", "quickstart/latest", "--bundle"), 2, ("packs one run, but 2 were specified", "once per run")),
        (("--bundle", "-o", "taken"), 2, ("taken",)),
        (("--bundle", "-o", "taken/below"), 3, ("E912", "taken/below", "choose a writable location")),
        (("-o", "taken/below"), 3, ("E912", "taken/below", "choose a writable location")),
        (("--bundle", "-f", "nope"), 2, ("E702", "nope")),
    ],
)
def test_what_cannot_be_written_is_explained(
    asct: Asct, run: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, texts: tuple[str, ...]
) -> None:
    (tmp_path / "taken").write_text("mine")
    ended = asct("report", *arguments)
    assert ended.code == code
    assert all(text in " ".join(ended.err.split()) for text in texts)
    assert {path.name for path in tmp_path.iterdir()} == {"results", "taken"}
    assert not (run / "report.html").exists()
