"""What disturbed a host stands beside the results that it touches, and in full with the host."""

from __future__ import annotations

import shutil

import pytest

from asct.analysis.report import build
from asct.analysis.view import open_view
from asct.export import render
from tests.export.conftest import Viewer
from tests.export.fakes import Fakes

HOSTILE = '`|"><script>alert(1)</script>\n::error::x\x1b[31m**b** @team'


def test_beside_the_results_that_it_touches(view: Viewer) -> None:
    report = build(view(hosts=("a", "b")))
    told = {section.benchmark: [[item.title for item in part.disturbed] for part in section.parts]
            for section in report.sections}  # fmt: skip
    both = ["1G to be written back", "governor schedutil"]
    assert told == {"latency-sweep": [["governor schedutil"]] * 2, "storage-io-depth-sweep": [both] * 2}
    for host in report.hosts:
        assert [item.title for item in host.disturbances] == [*both, "boost on"], "also what is only possible"
        labels = [label for label, _ in host.disturbances[0].rows]
        assert labels == ["Seen", "Effect", "Touches", "Certain", "Way out", "Source"]


def test_a_benchmark_that_is_not_installed_has_what_touches_everything(view: Viewer) -> None:
    class Nothing:
        def names(self) -> list[str]:
            return []

        def get(self, name: str) -> None:
            return None

    report = build(open_view(view().root, Nothing()))
    assert [part.disturbed for section in report.sections for part in section.parts] == [(), ()]
    assert len(report.hosts[0].disturbances) == 3


@pytest.mark.parametrize("name", ["html", "markdown", "stdout"])
def test_every_report_tells_it(view: Viewer, name: str) -> None:
    text = render(view(), name)
    assert isinstance(text, str)
    assert "governor schedutil" in text and "1G to be written back" in text
    if name != "stdout":
        assert "echo schedutil" in text and "cpufreq.rst" in text, "fix and undo in full"
    else:
        assert "disturbed by: 1G to be written back, governor schedutil\n" in text
        assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("name", ["html", "markdown", "stdout"])
def test_an_older_run_tells_nothing_of_it(view: Viewer, name: str) -> None:
    opened = view()
    shutil.rmtree(opened.root / "disturbances")
    older = open_view(opened.root, Fakes())
    assert older.notes == ()
    text = render(older, name)
    assert isinstance(text, str)
    assert "isturb" not in text.partition("</style>")[2] + text.partition("<style>")[0]


def test_a_damaged_file_is_noted_and_left_out(view: Viewer) -> None:
    opened = view()
    (opened.root / "disturbances" / "local.json").write_text("{")
    damaged = open_view(opened.root, Fakes())
    assert [item.code for item in damaged.notes] == ["E508"] and damaged.disturbances == {}


def test_words_of_a_host_stay_words(view: Viewer) -> None:
    hostile = view(text=HOSTILE)
    page, summary = render(hostile, "html"), render(hostile, "markdown")
    assert isinstance(page, str) and isinstance(summary, str)
    assert "<script>alert" not in page and "\x1b" not in page + summary
    assert "<script>" not in summary and "\n::error::" not in summary
