"""Disturbances of a host are shown next to the results that they affect, and in full in the section about the host."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from asct.analysis.disturbances import findings_of
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
        assert [item.title for item in host.found] == [*both, "boost on"], "also what is only possible"
    slugs = {item.slug for host in report.hosts for item in host.found}
    slugs |= {item.slug for section in report.sections for part in section.parts for item in part.disturbed}
    assert slugs == {item.slug for item in report.findings}


def test_a_finding_is_told_once_for_all_its_hosts(view: Viewer) -> None:
    report = build(view(hosts=("n1", "n2", "n3")))
    assert [(item.title, item.hosts, item.sure) for item in report.findings] == [
        ("1G to be written back", "n[1:3]", "certain"),
        ("governor schedutil", "n[1:3]", "likely"),
        ("boost on", "n[1:3]", "possible"),
    ]
    assert [label for label, _ in report.findings[0].rows] == ["Observed", "Effect", "Affects", "Certain", "Source"]
    [way] = report.findings[0].ways
    assert (way.fix, way.undo, way.advice) == ("sync", "", "nothing to undo")
    for name in ("html", "markdown", "stdout"):
        assert str(render(view(hosts=("n1", "n2", "n3")), name)).count(report.findings[0].effect[:30]) == 1


def test_what_differs_between_hosts_stands_with_their_names(view: Viewer) -> None:
    opened = view(hosts=("n1", "n2", "n3"))
    told = opened.disturbances["n2"]
    other = told.findings[0].model_copy(
        update={"title": "2G to be written back", "seen": "2G", "sure": "likely", "why": "later", "fix": ["sync -f"]}
    )
    found = dict(opened.disturbances) | {"n2": told.model_copy(update={"findings": [other]})}
    [card, *rest] = findings_of(replace(opened, disturbances=found)).cards
    assert (card.title, card.hosts, card.sure) == ("1G to be written back, 2G to be written back", "n[1:3]", "certain")
    labels = dict(card.rows)
    assert labels["Observed on n2"] == "2G" and labels["Likely on n2"] == "later" and "Observed on n1, n3" in labels
    assert [(way.hosts, way.fix) for way in card.ways] == [("n1, n3", "sync"), ("n2", "sync -f")]
    assert [item.hosts for item in rest] == ["n1, n3"] * 2


def test_the_count_of_findings_is_no_warning_besides(view: Viewer) -> None:
    opened = view()
    count = {"code": "E432", "severity": "warning", "host": "local", "message": "host local: 1 disturbance"}
    opened.run.findings.append(count)
    assert "E432" not in [item.code for item in build(opened).warnings]
    assert "E432" in [item.code for item in build(replace(opened, disturbances={})).warnings]


def test_a_benchmark_that_is_not_installed_has_what_touches_everything(view: Viewer) -> None:
    class Nothing:
        def names(self) -> list[str]:
            return []

        def get(self, name: str) -> None:
            return None

    report = build(open_view(view().root, Nothing()))
    assert [part.disturbed for section in report.sections for part in section.parts] == [(), ()]
    assert len(report.hosts[0].found) == 3


@pytest.mark.parametrize("name", ["html", "markdown", "stdout"])
def test_every_report_tells_it(view: Viewer, name: str) -> None:
    text = render(view(), name)
    assert isinstance(text, str)
    assert "governor schedutil" in text and "1G to be written back" in text
    if name != "stdout":
        assert "echo schedutil" in text and "cpufreq.rst" in text, "fix and undo in full"
    else:
        assert "affected by: 1G to be written back, governor schedutil\n" in text
        assert "boost on (possible): values differ\n" in text
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
