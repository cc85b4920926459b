"""Text that describes how quiet the hosts were: in every report, next to the repeat, and in a line of the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.analysis.provenance import remarks_of
from asct.analysis.report import build
from asct.analysis.telemetry import host_remarks, hosts_line, mark_of, meanings, reason_text
from asct.analysis.view import open_view
from asct.export import render
from asct.store.model import JobEntry, Reason
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import write_sample


def entry(**states: int) -> JobEntry:
    reasons = {"others": states.get("noisy", 0), "quota": states.get("invalid", 0)}
    return JobEntry(
        id="a", benchmark="b", version="1", host="h", points=1, repeats=1,
        host_states=states, host_reasons={name: number for name, number in reasons.items() if number},
    )  # fmt: skip


def test_a_reason_says_how_much() -> None:
    reason = Reason(what="others", state="noisy", seen=1.48112, limit=0.1, unit="CPUs", means="other programs used")
    assert reason_text(reason) == "other programs: 1.48 CPUs, limit 0.1 CPUs"
    plain = Reason(what="drive-warning", state="invalid", seen=4, limit=0, unit="", means="\x1b[31mx")
    assert reason_text(plain) == "drive warning: 4, limit 0"


def test_the_line_of_all_jobs() -> None:
    assert hosts_line([]) == hosts_line([entry(), entry(stable=9, unknown=1)]) == ""
    assert (
        hosts_line([entry(stable=2, noisy=3), entry(noisy=1)])
        == "4 of 6 measurements ran while the host was noisy (other programs)"
    )
    assert hosts_line([entry(stable=2, noisy=3, invalid=1)]) == (
        "3 of 6 measurements ran while the host was noisy, 1 of 6 while it was throttled or limited "
        "(other programs, CPU quota)"
    )


QUIET = {"schema": "asct.telemetry/1", "steps": 1, "elapsed_s": 1.0, "before": {}, "after": {}}


def test_repeats_are_told_together_with_the_worst(tmp_path: Path) -> None:
    latency, depths = sample_view(tmp_path).jobs
    assert host_remarks(latency) == []
    assert host_remarks(depths) == ["2 repeats (worst: iodepth 4, repeat 2): noisy host (steal time: 3 %, limit 1 %)"]
    assert meanings([latency, depths]) == {"steal time": "the hypervisor ran other guests"}
    assert [item.label for item in depths.repeats if mark_of(item)] == ["iodepth 4, repeat 1", "iodepth 4, repeat 2"]


def test_what_is_invalid_comes_first(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    (folder,) = {path.parent for path in root.glob("jobs/*/storage-*/*/r3/status.json") if "iodepth 8" in label(path)}
    body = json.loads((folder / "status.json").read_text())
    heat = {"what": "heat", "state": "invalid", "seen": 2, "limit": 0, "unit": "times", "means": "too warm"}
    body["telemetry"]["verdict"] = {"state": "invalid", "reasons": [heat]}
    (folder / "status.json").write_text(json.dumps(body))
    _, depths = open_view(root, Fakes()).jobs
    assert [line.partition(",")[0] for line in host_remarks(depths)] == ["iodepth 8", "2 repeats (worst: iodepth 4"]
    assert "invalid host (thermal throttling: 2 times, limit 0 times)" in host_remarks(depths)[0]
    assert meanings([depths])["thermal throttling"] == "too warm"


def test_a_noisy_host_is_told_once(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    for path in root.glob("jobs/*/storage-*/*/*/status.json"):
        body = json.loads(path.read_text())
        if body["telemetry"]["verdict"]["state"] == "noisy":
            path.write_text(json.dumps({**body, "status": "noisy", "flags": ["noisy-host"]}))
    _, depths = open_view(root, Fakes()).jobs
    told = [line for line in remarks_of(depths) if "iodepth 4," in line]
    assert told == ["2 repeats (worst: iodepth 4, repeat 2): noisy host (steal time: 3 %, limit 1 %)"]


def label(path: Path) -> str:
    return f"iodepth {json.loads(path.read_text())['command']['swept']['iodepth']}"


@pytest.mark.parametrize("name", ["html", "markdown", "stdout"])
def test_every_report_tells_it(tmp_path: Path, name: str) -> None:
    text = render(sample_view(tmp_path), name)
    assert isinstance(text, str)
    words = " ".join(text.replace("\\", "").split())
    assert "worst: iodepth 4, repeat 2): noisy host (steal time: 3 %" in words
    assert "2 of 24 measurements ran while the host was noisy (steal time)" in words
    if name == "html":
        assert text.count('<span class="chip doubt">noisy host</span>') == 2


def test_an_older_run_tells_nothing_of_it(tmp_path: Path) -> None:
    root = write_sample(tmp_path)
    for path in root.glob("jobs/*/*/*/*/status.json"):
        body = json.loads(path.read_text())
        body.pop("telemetry", None)
        path.write_text(json.dumps(body))
    run = json.loads((root / "run.json").read_text())
    for job in run["jobs"]:
        del job["host_states"], job["host_reasons"]
    (root / "run.json").write_text(json.dumps(run))
    view = open_view(root, Fakes())
    assert view.notes == ()
    report = build(view)
    assert not any(
        "host," in remark for section in report.sections for part in section.parts for remark in part.remarks
    )
    assert not any("noisy host" in part.line for section in report.sections for part in section.parts)


def test_hostile_words_of_a_host_steer_nothing(tmp_path: Path) -> None:
    view = sample_view(tmp_path, text="\x1b[31m<script>alert(1)</script>")
    for name in ("html", "stdout", "markdown"):
        text = render(view, name)
        assert isinstance(text, str) and "\x1b" not in text
        assert name == "stdout" or "something else<script>" not in text


def test_headlines_tell_that_the_host_was_noisy(tmp_path: Path) -> None:
    report = build(sample_view(tmp_path))
    doubts = {item.label: item.doubt for item in report.headlines}
    assert (
        doubts["DRAM latency"] == ""
        and "2 of 24 measurements ran while the host was noisy (steal time)" in report.summary.details
    )
    root = write_sample(tmp_path / "other")
    for path in root.glob("jobs/*/latency-sweep/*/r1/status.json"):
        body = json.loads(path.read_text())
        body["telemetry"] = {**QUIET, "verdict": {"state": "noisy", "reasons": []}}
        path.write_text(json.dumps(body))
    noisy = build(open_view(root, Fakes())).headlines
    assert {item.label: item.doubt for item in noisy}["DRAM latency"] == "noisy host"
