"""The last sections of the page (comparison, consistency and appendix), and tables that show several hosts side by
side."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from asct.analysis.compared import comparison_of, diff_of
from asct.analysis.consistency import consistency_grid, sentence
from asct.analysis.groups import gather
from asct.analysis.provenance import checksums, versions_grid
from asct.analysis.report import build, side_by_side
from asct.analysis.verdict import summarize
from asct.analysis.view import RunView, open_view
from asct.export import render
from asct.registry import installed
from asct.sdk.record import Record
from asct.store.model import BaselineValue, Verdict
from tests.analysis.test_agreement import DEFAULTS, dram, facts
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import RUN, Sample, write_sample


def with_records(folder: Path, records: list[Record]) -> RunView:
    """Return a view whose jobs contain these records."""
    view = sample_view(folder)
    settings = {"jobs": [{"host": "a", "id": one.id, "settings": DEFAULTS} for one in records]}
    object.__setattr__(view.jobs[0], "records", tuple(records))
    for name, own in (("resolved", settings), ("facts", {"a": facts()}), ("catalog", installed())):
        object.__setattr__(view, name, own)
    return view


def test_pairs_that_disagree_stand_before_those_that_agree(tmp_path: Path) -> None:
    grid = consistency_grid(with_records(tmp_path, dram()))
    assert grid is not None
    assert [row[0].text for row in grid.rows] == ["disagree", "disagree", "agree"]
    texts = {(row[-3].text, row[-2].text, row[-1].text) for row in grid.rows}
    assert ("latency-sweep 158 ns", "idle-latency 187 ns", "+18.4 %") in texts
    assert ("latency-sweep 158 ns", "loaded-latency 161 ns", "+1.9 %") in texts
    assert sentence(grid) == "2 of 3 pairs of values that measure the same quantity disagree"


@pytest.mark.parametrize(("most", "note"), [(1, "2 more pairs are not listed."), (2, "1 more pair is not listed.")])
def test_pairs_that_are_not_listed_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, note: str
) -> None:
    monkeypatch.setattr("asct.analysis.consistency._MOST_ROWS", most)
    grid = consistency_grid(with_records(tmp_path, dram()))
    assert grid is not None and grid.notes == (note,)


def test_pairs_that_agree_are_listed_as_well(tmp_path: Path) -> None:
    grid = consistency_grid(with_records(tmp_path, dram(158.0, 160.0)[:2]))
    assert grid is not None
    assert [row[0].tone for row in grid.rows] == ["good"]
    assert sentence(grid) == "Both values of the same quantity agree"


def test_a_run_without_common_quantities_has_no_table(tmp_path: Path) -> None:
    assert consistency_grid(sample_view(tmp_path)) is None


def second_run(results: Path, factor: float, hosts: tuple[str, ...] = ("local",)) -> Path:
    """Write two complete runs of a plan; the values of the second one are `factor` times those of the first one."""
    first = write_sample(results / "new", Sample(hosts=hosts, verdicts=False, quiet=True))
    target = results / "quickstart" / RUN
    target.parent.mkdir(parents=True)
    (results / "new" / "quickstart" / RUN).rename(target)
    later = RUN.replace("20261121", "20261122")
    write_sample(results / "new", Sample(hosts=hosts, verdicts=False, quiet=True))
    first = results / "quickstart" / later
    (results / "new" / "quickstart" / RUN).rename(first)
    path = first / "run.json"
    path.write_text(path.read_text().replace(RUN, later))
    lines = [json.loads(line) for line in (first / "records.jsonl").read_text().splitlines()]
    for line in lines:
        line.update(run=later, value=line["value"] * factor)
    (first / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return first


def test_a_run_is_compared_with_the_newest_earlier_run_of_its_plan(tmp_path: Path) -> None:
    root = second_run(tmp_path, 1.3)
    found = comparison_of(open_view(root, Fakes()))
    assert found is not None and found.report is not None
    assert (found.base, found.why) == (f"quickstart/{RUN}", "the newest complete run of this plan")
    verdicts = [row[5].text for part in found.report.sections[0].parts for row in part.grid.rows]
    assert verdicts and len(set(verdicts)) >= 1
    assert found.figures and all(figure.slug.startswith("comparison-") for figure in found.figures)


def with_visits(root: Path) -> None:
    """Give every value of a run twelve visits that hardly differ."""
    path = root / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        own = [line["value"] * (1.0 + 0.001 * number) for number in range(-6, 6)]
        line["stats"] = {
            "n": 12, "median": line["value"], "mad": 0.0, "ci95": sorted((own[0], own[-1])), "min": min(own),
            "max": max(own), "visits": 12, "visit_values": own,
        }  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("factor", [1.0, 5.0])
def test_the_verdict_names_regressed_values_that_no_expectation_compares(tmp_path: Path, factor: float) -> None:
    root = second_run(tmp_path, factor)
    for folder in (root, root.with_name(RUN)):
        with_visits(folder)
    view = open_view(root, Fakes())
    found = comparison_of(view)
    assert found is not None and found.report is not None
    number = sum(row[5].text == "regressed" for part in found.report.sections[0].parts for row in part.grid.rows)
    summary = summarize(view)
    told = [text for text in summary.details if "regressed relative to" in text]
    if factor == 1.0:
        assert (number, told) == (0, [])
        return
    assert number and len(told) == 1 and told[0].endswith(f" regressed relative to quickstart/{RUN} ({found.why})")
    assert told[0].startswith(f"{number} of ")
    assert summary.tone == summarize(replace(view, catalog=None)).tone, "the text does not change the verdict"
    for name in ("markdown", "html", "stdout"):
        assert told[0] in " ".join(render(view, name).split()), name
    compared = diff_of(view)
    assert compared is not None
    row = next(row for row in compared[0].runs[0].rows if row.verdict == "regressed")
    judged = Verdict(
        outcome="fail", severity="fail", host=row.group.host, id=row.group.id, metric=row.group.metric,
        at=dict(row.group.at), baseline=BaselineValue(run=found.base, chosen=found.why, value=1.0),
    )  # fmt: skip
    view.run.verdicts[:] = [judged]
    details = summarize(view).details
    (text,) = (text for text in details if "regressed relative to" in text)
    assert text.startswith(f"{number - 1} of ")
    assert text.endswith(" values without an expectation regressed relative to the baseline")
    assert " ".join(details).count(found.base) == 1, "the baseline is named once"


def test_runs_are_not_compared_again_if_expectations_compare_all_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = open_view(second_run(tmp_path, 1.3), Fakes())
    base = BaselineValue(run=f"quickstart/{RUN}", chosen="", value=1.0)
    view.run.verdicts[:] = [
        Verdict(outcome="pass", severity="fail", host=group.host, id=group.id, metric=group.metric,
                at=dict(group.at), baseline=base)
        for group in gather(record for record in view.records if record.better != "neither")
    ]  # fmt: skip
    compared: list[RunView] = []
    monkeypatch.setattr("asct.analysis.verdict.diff_of", compared.append)
    summarize(view)
    assert compared == []
    view.run.verdicts.pop()
    summarize(view)
    assert compared == [view]


@pytest.mark.parametrize("hosts", [("a",), ("a", "b")])
def test_a_note_on_several_tables_of_a_section_is_shown_once(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    view = sample_view(tmp_path, hosts=hosts)
    table = view.jobs[0].tables[0]
    tables = (replace(table, notes=("all", "first")), replace(table, slug="other", notes=("second", "all")))
    section = build(replace(view, jobs=tuple(replace(job, tables=tables) for job in view.jobs))).sections[0]
    for grids in (*(part.grids for part in section.parts), *([section.grids] if section.grids else [])):
        assert [grid.notes for grid in grids] == [("all", "first"), ("second",)]
    assert bool(section.grids) == (len(hosts) > 1)


def test_a_note_on_some_of_the_hosts_names_them(tmp_path: Path) -> None:
    view = sample_view(tmp_path, hosts=("n1", "n2", "n3"))
    table = view.jobs[0].tables[0]
    notes = {"n1": ("all", "first"), "n2": ("all", "first"), "n3": ("last", "all")}
    jobs = tuple(replace(job, tables=(replace(table, notes=notes[job.entry.host]),)) for job in view.jobs)
    [grid] = build(replace(view, jobs=jobs)).sections[0].grids
    assert grid.notes == ("all", "n[1:2]: first", "n3: last")


def test_the_first_run_of_a_plan_is_compared_with_nothing(tmp_path: Path) -> None:
    assert comparison_of(sample_view(tmp_path)) is None


def test_a_baseline_that_cannot_be_used_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    path = root / "plan.resolved.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "baseline": "golden"}))
    found = comparison_of(open_view(root, Fakes()))
    assert found is not None and found.report is None
    assert "golden" in found.problem


def test_versions_and_checksums(tmp_path: Path) -> None:
    view = sample_view(tmp_path, hosts=("n1", "n2"))
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in versions_grid(view).rows}
    assert rows["asct"] == ["0.1.0", ""]
    assert rows["benchmark latency-sweep"][0] == "1"
    assert rows["fio"] == ["fio-3.33", "n[1:2]"]
    sums = dict(checksums(view))
    assert list(sums) == ["plan.yaml", "plan.resolved.json", "records.jsonl"]
    assert sums["plan.yaml"] == hashlib.sha256((view.root / "plan.yaml").read_bytes()).hexdigest()


def test_several_hosts_stand_side_by_side(tmp_path: Path) -> None:
    report = build(sample_view(tmp_path, hosts=("n1", "n2")))
    [levels] = report.sections[0].grids
    assert [head.title for head in levels.heads][:2] == ["Level", "Host"]
    assert [(row[0].text, row[1].text) for row in levels.rows][:3] == [("L1", "n1"), ("L1", "n2"), ("L2", "n1")]
    assert levels.slug == "latency-sweep-levels"
    alone = build(sample_view(tmp_path / "one"))
    assert [section.grids for section in alone.sections] == [(), ()]


def test_hosts_with_other_rows_follow_one_another(tmp_path: Path) -> None:
    jobs = sample_view(tmp_path, hosts=("n1", "n2")).jobs[::2]
    [table] = jobs[1].tables
    object.__setattr__(jobs[1], "tables", (replace(table, rows=table.rows[1:]),))
    [grid] = side_by_side(jobs, "x")
    assert [row[1].text for row in grid.rows] == ["n1"] * 4 + ["n2"] * 3


def test_facts_that_hosts_share_are_shown_once(tmp_path: Path) -> None:
    view = open_view(write_sample(tmp_path, Sample(hosts=("a", "b", "c"))), Fakes())
    system = view.facts["b"].system.model_copy(update={"kernel": "6.18.0"})
    changes = {"a": {}, "b": {"system": system}, "c": {"unknown": {}}}
    known = {host: view.facts[host].model_copy(update=update) for host, update in changes.items()}
    object.__setattr__(view, "facts", known)
    hosts = build(view).hosts
    assert [host.same_facts for host in hosts] == [None, ("a", "host-a"), None]
    assert [label for label, _ in hosts[1].other_facts] == ["Kernel"]
    page = " ".join(render(view, "html").split())
    assert '<p class="line">Facts: same as <a href="#host-a">a</a>, except</p>' in page
    assert page.count("<summary>Facts</summary>") == 2
