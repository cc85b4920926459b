"""The folder of a run as reports see it, both intact and damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.dataframe import compact, tidy_columns, tidy_rows
from asct.analysis.report import Caution, build, duration_text, together
from asct.analysis.view import open_view
from asct.errors import StoreError
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import DEPTHS, Sample, write_sample


class Empty:
    """A catalog without benchmarks."""

    def names(self) -> list[str]:
        return []

    def get(self, name: str) -> Any:
        return None


def test_the_view_joins_records_tables_and_repeats(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    assert view.ids() == ["latency-sweep", "storage-io-depth-sweep"]
    latency, depths = view.jobs
    assert [row["level"] for row in latency.tables[0].rows] == ["L1", "L2", "LLC", "DRAM"]
    assert len(depths.repeats) == len(DEPTHS) * 3
    assert depths.repeats[0].label == "iodepth 1, repeat 1"
    assert view.facts["local"].cpu.cpus == 8
    assert "benchmarks: [latency-sweep" in view.plan_text
    assert view.notes == ()


def test_a_missing_benchmark_leaves_plain_tables(tmp_path: Path) -> None:
    view = open_view(write_sample(tmp_path), Empty())
    job = view.jobs[0]
    assert (job.title, job.figures) == ("latency-sweep", ())
    assert job.note == "`latency-sweep` is not installed on this machine"
    assert job.tables[0].rows[0]["at"] == "size 128"


def test_another_version_of_a_benchmark_is_not_trusted_with_old_records(tmp_path: Path) -> None:
    fakes = Fakes()
    benchmark = fakes.get("latency-sweep")
    assert benchmark is not None
    type(benchmark).version, before = "2", type(benchmark).version
    try:
        job = open_view(write_sample(tmp_path), fakes).jobs[0]
    finally:
        type(benchmark).version = before
    assert "measured with version 1" in job.note
    assert job.figures == ()


def test_damage_beside_the_records_is_noted_and_the_rest_stays(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    status = next(root.glob("jobs/*/storage*/*/r1/status.json"))
    status.write_text("{")
    (root / "facts" / "local.json").write_text("[]")
    (root / "plan.resolved.json").unlink()
    view = open_view(root, Fakes())
    assert len(view.notes) == 3
    report = build(view)
    assert len([item for item in report.warnings if str(root) in item.message]) == 0
    assert len(view.jobs[1].records) > 0


def test_a_torn_last_record_is_left_out_and_a_foreign_one_refused(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    whole = len(open_view(root, Fakes()).records)
    with (root / "records.jsonl").open("a") as stream:
        stream.write('{"schema": "asct.rec')
    view = open_view(root, Fakes())
    assert len(view.records) == whole
    assert [note.code for note in view.notes] == ["E511"]
    with (root / "records.jsonl").open("a") as stream:
        stream.write('\n{"schema": "other/1"}\n')
    with pytest.raises(StoreError):
        open_view(root, Fakes())


def test_missing_records_are_noted(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    (root / "records.jsonl").write_text("")
    (note,) = open_view(root, Fakes()).notes
    assert (note.code, note.severity) == ("E513", "warning")
    assert "results rebuild" in note.hint


def test_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        open_view(tmp_path, Fakes())


def test_the_report_says_first_what_went_wrong(tmp_path: Path) -> None:
    report = build(sample_view(tmp_path, fail_depth=64))
    assert report.summary.sentence == "1 of 3 expectations failed"
    assert report.summary.tone == "bad"
    assert "3 of 25 measurements failed and 1 is noisy" in report.summary.details
    assert report.expectations is not None
    assert [row[0].text for row in report.expectations.rows] == ["fail", "unknown", "pass"]
    failures = report.sections[1].parts[0].failures
    assert [item.label for item in failures] == ["iodepth 64, repeat 1, and 2 more"]
    assert failures[0].tail == "fio: pid=0, err=28/file:filesetup.c"


@pytest.mark.parametrize(
    ("sample", "sentence", "tone"),
    [
        (Sample(verdicts=False, quiet=True), "All 25 measurements are complete", "good"),
        (Sample(verdicts=False), "1 of 25 measurements is noisy", "doubt"),
        (Sample(verdicts=False, fail_depth=8), "3 of 25 measurements failed and 1 is noisy", "bad"),
        (Sample(verdicts=False, status="interrupted"), "The run was interrupted", "missing"),
    ],
)
def test_the_sentence_without_expectations(tmp_path: Path, sample: Sample, sentence: str, tone: str) -> None:
    summary = build(open_view(write_sample(tmp_path, sample), Fakes())).summary
    assert (summary.sentence, summary.tone) == (sentence, tone)


def test_headlines_are_levels_and_best_places(tmp_path: Path) -> None:
    found = build(sample_view(tmp_path)).headlines
    texts = [(item.label, f"{item.value} {item.unit}") for item in found]
    assert ("L1 latency", "1.18 ns") in texts
    assert ("DRAM latency", "98.1 ns") in texts
    assert ("Highest bandwidth", "240 MB/s") in texts
    level = next(item for item in found if item.label == "DRAM latency")
    assert (level.place, level.precision) == ("", "±0.4\N{NO-BREAK SPACE}%, 31 samples over several sizes")
    best = next(item for item in found if item.label == "Highest IOPS")
    assert (best.place, best.precision) == ("at iodepth 128", "range 6\N{NO-BREAK SPACE}%, 3 repeats")


def test_hosts_share_figures(tmp_path: Path) -> None:
    report = build(sample_view(tmp_path, hosts=("a", "b")))
    latency, depths = report.sections
    assert [series.name for series in latency.figures[0].series] == ["a", "b"]
    assert depths.figures[-1].title == "Processor time"
    assert [series.name for series in depths.figures[-1].series][4:6] == ["a, soft", "b, usr"]
    percentiles = next(figure for figure in depths.figures if figure.title == "Read latency percentiles")
    assert [series.name for series in percentiles.series][:2] == ["a, p50", "a, p95"]
    slugs = [figure.slug for section in report.sections for figure in section.figures]
    assert len(set(slugs)) == len(slugs)


def test_settings_tell_their_origin_and_what_was_swept(tmp_path: Path) -> None:
    section = build(sample_view(tmp_path)).sections[1]
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in section.settings.rows}
    assert rows["iodepth"] == ["swept: 1, 2, 4, 8, 16, 32, 64, 128", "sweep, plans/quickstart.yaml:3"]
    assert rows["block_size"][0] == "4K (4096)"
    assert "rw" not in rows, "a default"
    assert section.settings.notes == ("1 setting has its default value; `plan.resolved.json` lists it.",)
    assert section.parts[0].commands[0].lines == (
        "/usr/bin/mpstat -P ALL -o JSON 1 &",
        "/usr/bin/fio --output-format=json+ --output=fio.json point.fio",
    )


def test_a_noisy_repeat_says_so_beside_its_job(tmp_path: Path) -> None:
    part = build(sample_view(tmp_path)).sections[1].parts[0]
    assert "iodepth 64, repeat 2: noisy" in part.remarks


def test_links_out_of_the_run_are_not_followed(tmp_path: Path) -> None:
    root = write_sample(tmp_path, Sample(fail_depth=8))
    secret = tmp_path / "secret"
    secret.write_text("not for the report")
    for folder in root.glob("jobs/*/storage*/*/r1"):
        (folder / "stderr").unlink(missing_ok=True)
        (folder / "stderr").symlink_to(secret)
    report = build(open_view(root, Fakes()))
    assert "not for the report" not in repr(report)


def test_tidy_rows_have_one_value_each(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    columns = tidy_columns(view.records)
    rows = list(tidy_rows(view.records))
    assert len(rows) == len(view.records)
    assert {"point.iodepth", "at.size", "at.level", "ci95_low"} <= set(columns)
    assert all(set(row) <= set(columns) for row in rows)
    assert min(row["value"] for row in rows if row.get("at.level") == "DRAM") < 1e-6


def test_compact_data_hold_everything_once(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    body = compact(view.records)
    assert len(body["rows"]) == len(view.records)
    assert len(json.dumps(body)) < sum(len(r.model_dump_json()) for r in view.records) / 2
    row = dict(zip(body["columns"], body["rows"][-1], strict=True))
    assert body["points"][row["point_id"]] == {"iodepth": 128}
    assert body["metrics"]["storage-io-depth-sweep.iops"] == {"unit": "ops/s", "better": "higher"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (12.3, "12 s"), (59.9, "1 min 00 s"), (220, "3 min 40 s"), (7500, "2 h 05 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_pipe_in_place_of_the_plan_is_not_waited_for(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    (root / "plan.yaml").unlink()
    os.mkfifo(root / "plan.yaml")
    view = open_view(root, Fakes())
    assert view.plan_text == ""
    assert [note.code for note in view.notes] == ["E701"]


def test_what_is_the_same_for_several_hosts_is_said_once() -> None:
    def caution(host: str, message: str) -> Caution:
        return Caution("warning", "E432", host, message, "wait")

    hosts = [f"n{number}" for number in range(8)]
    forms = ("host {0}: it is busy", "{0}: it is busy", "{0} (me@{0}.lab:22): it is busy")
    busy = [caution(host, forms[number % 3].format(host)) for number, host in enumerate(hosts)]
    said = together([*busy, caution("n1", "another thing")])
    assert said == [caution("n0, n1, n2, n3, n4, n5 and 2 more", "it is busy"), caution("n1", "another thing")]
