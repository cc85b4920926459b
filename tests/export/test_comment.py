"""Comments for pull requests: their order, marker and size limit, and what they must not contain."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.analysis.ci import ci_job
from asct.analysis.redaction import redacted, redactor
from asct.analysis.view import JobView, RepeatView, RunView
from asct.export import comment, github, render
from asct.sdk.facts import BlockDevice, HostFacts, Product, System
from asct.sdk.record import Record
from asct.store.model import BaselineValue, HostEntry, JobEntry, Run, Status, Verdict
from tests.export.conftest import Viewer
from tests.export.fakes import FakeDepth
from tests.export.test_formats import HOSTILE
from tests.export.test_outcomes import job_of, verdict, view_of

METRICS = {"bandwidth": ("B/s", "higher"), "iops": ("ops/s", "higher"), "read_clat_mean": ("s", "lower")}


def compared(host: str, depth: int, change: float, reason: str) -> Verdict:
    base = BaselineValue(
        run="big/r0", chosen="named `golden` in the plan", value=1e5, change=change, ci95=(change - 0.01, change + 0.01)
    )
    body: dict[str, Any] = {
        "outcome": "fail" if change < -0.05 else "pass", "severity": "fail", "host": host, "id": "depth",
        "metric": "iops", "unit": "ops/s", "at": {"iodepth": depth}, "value": 1e5 * (1 + change), "reason": reason,
        "text": "*: at most 5% worse than the baseline", "file": "big.yaml", "line": 9,
        "baseline": base.model_copy(update={"noise": 0.02}),
    }  # fmt: skip
    return Verdict(**body)


def job(host: str, points: int) -> JobView:
    """Return a job whose first point failed."""
    records = [
        Record.model_construct(
            run="r", plan="big", host=host, benchmark="storage-io-depth-sweep", id="depth", version="1",
            point={"iodepth": depth}, point_id=f"{depth:012x}", repeat=1, metric=metric, value=1e5 / depth, unit=unit,
            better=better, raw="jobs", coords={}, stats=None, flags=[],
        )
        for depth in range(1, points + 1) for metric, (unit, better) in METRICS.items()
    ]  # fmt: skip
    entry = JobEntry(
        id="depth", benchmark="storage-io-depth-sweep", version="1", host=host, points=points, repeats=1,
        counts={"ok": points - 1, "failed": 1}, note="E601 fio ended with exit status 1",
    )  # fmt: skip
    status = Status.model_validate({
        "status": "failed", "point_id": f"{1:012x}", "repeat": 1, "started_at": "2026-11-21T04:28:13Z",
        "elapsed_s": 1.0, "diagnostic": {"code": "E601", "message": f"{host}: fio ended with exit status 1"},
    })  # fmt: skip
    repeats = [RepeatView(host, "depth", f"{1:012x}", 1, f"jobs/{host}/depth/{1:012x}/r1", status)]
    repeats += [
        RepeatView(
            host, "depth", f"{n:012x}", 1, "jobs", status.model_copy(update={"status": "ok", "diagnostic": None})
        )
        for n in range(2, points + 1)
    ]
    return JobView(entry, FakeDepth(), tuple(records), tuple(repeats), tuple(FakeDepth().tables(records)), ())


def large(hosts: int, points: int, reason: str) -> RunView:
    """Return a run in which every third value became worse."""
    names = [f"node{number:03}" for number in range(hosts)]
    jobs = tuple(job(name, points) for name in names)
    verdicts = [
        compared(name, depth, -0.1 if depth % 3 == 0 else 0.03, reason)
        for name in names
        for depth in range(1, points + 1)
    ]
    run = Run(
        run="20261121T042813Z-3f9c2a", plan="big", plan_hash="0", plan_file="big.yaml", tool_version="1",
        started_at="2026-11-21T04:28:13Z", status="incomplete", exit_code=3, jobs=[one.entry for one in jobs],
        counts={"ok": hosts * (points - 1), "failed": hosts}, verdicts=verdicts,
        hosts=[HostEntry(name=name, transport="ssh", status="ok", address="10.1.2.3") for name in names],
    )  # fmt: skip
    return RunView(Path("/nowhere"), run, tuple(record for one in jobs for record in one.records), {}, jobs)


def require_whole(body: str) -> None:
    """Check that no table, section or code block is truncated."""
    assert body.count("<details>") == body.count("</details>")
    cells = 0
    for line in body.splitlines():
        own = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not (own and cells) or own == cells, line
        cells = own
        assert line.count("`") % 2 == 0, line


@pytest.mark.parametrize(("hosts", "points"), [(1, 240), (100, 50)])
@pytest.mark.parametrize("reason", ["worse by more than the limit of 5 %", "ä😀" * 300])
def test_a_comment_stays_below_the_limit(hosts: int, points: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("GITHUB_RUN_ID", "77")
    body = comment.render(large(hosts, points, reason))
    assert len(body) <= len(body.encode()) <= 65_000
    require_whole(body)
    assert body.startswith("<!-- asct: big -->\n## big\n\n❌ **")
    assert "[artifacts](https://github.com/o/r/actions/runs/77)" in body
    assert "E601" in body[:3000], "the causes of what is missing are at the top"
    assert "### Changes from the baseline" in body
    if hosts * points > 1000:
        assert re.search(r"\d more rows", body) or "Shortened or left out" in body.splitlines()[-1]


def test_the_verdict_and_the_changes_come_first_and_small_changes_are_counted() -> None:
    view = large(2, 6, "worse")
    quiet = [compared("node000", 1, 0.001, "") for _ in range(7)]
    view = replace(view, run=view.run.model_copy(update={"verdicts": [*view.run.verdicts, *quiet, verdict("fail")]}))
    body = comment.render(view)
    titles = re.findall(r"^(#+ .*|<details><summary>.*)$", body, re.MULTILINE)
    assert titles == [
        "## big", "### Changes from the baseline", "### Expectations not met", "### Not measured", "### Key results",
        "<details><summary>Coverage by host</summary>",
        "<details><summary>Storage by queue depth (depth)</summary>", "### node000", "### node001",
    ]  # fmt: skip
    assert "-10.0 % (-11.0 % to -9.0 %)" in body
    assert "7 further values did not change by more than the noise floor" in body
    assert body.index("-10.0 %") < body.index("+3.0 %")
    other = quiet[0].baseline
    assert other is not None
    changed = {
        "outcome": "unknown",
        "reason": "different hardware",
        "baseline": other.model_copy(update={"change": None}),
    }
    unlike = [quiet[0].model_copy(update=changed)] * 50
    body = comment.render(replace(view, run=view.run.model_copy(update={"verdicts": unlike})))
    assert "50 values could not be compared: different hardware." in body and body.count("unknown") == 0


TEXT = st.text("a@#|`<_😀", max_size=50).map(lambda text: text * 100)


@settings(max_examples=25)
@given(TEXT, TEXT)
def test_no_text_of_others_makes_it_too_large(words: str, reason: str) -> None:
    view = view_of([job_of("j0", ["failed", "ok"])], [verdict("fail", reason=reason)] * 100)
    run = view.run.model_copy(
        update={"title": words, "description": words, "plan_file": words, "git_commit": "0" * 40,
                "hosts": [view.run.hosts[0].model_copy(update={"reason": words, "status": "unfit"})]}
    )  # fmt: skip
    body = comment.render(replace(view, run=run))
    assert len(body.encode()) <= 65_000
    assert "### Expectations not met" in body or "Shortened or left out" in body


@pytest.mark.parametrize("plan", ["quick", "a--b", "a--", "-->", "x --> <script>"])
def test_the_marker_is_a_hidden_comment_that_no_name_ends(plan: str) -> None:
    found = comment.marker(plan)
    assert re.fullmatch(r"<!-- asct: [\w@+.-]+( -[\w@+.-]*)* -->", found)
    assert found.count("--") == 2
    assert comment.marker("quick") == "<!-- asct: quick -->"


def test_the_comments_on_a_plan_have_the_same_marker(view: Viewer) -> None:
    one, other = view(), view(fail_depth=8, hosts=("a", "b"))
    assert comment.render(one).splitlines()[0] == comment.render(other).splitlines()[0] == "<!-- asct: quickstart -->"


def test_a_comment_lets_nothing_out(view: Viewer) -> None:
    body = str(render(view(text=HOSTILE, fail_depth=8), "comment"))
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    assert "<script" not in outside.replace("\\<script", "") and "\x1b" not in body
    assert "![i](" not in outside and "http://" not in outside
    assert not re.search(r"(?<!\\)@team", outside)


# ---- what must not be published ----

SECRETS = {
    "10.0.0.7", "fe80::1", "2001:db8::17", "02:42:ac:11:00:02", "bench@altra-01.lab", "altra-01.lab",
    "rack7.corp.example", "S6XZNX0R123456", "nvme-ACME_X1_S6XZNX0R123456",
    "BOOT_IMAGE=/vmlinuz root=/dev/sda1 mitigations=off",
}  # fmt: skip


def secretive(text: str) -> RunView:
    view = view_of([job_of("j0", ["failed", "ok"])], [verdict("fail", reason=text)])
    host = view.run.hosts[0].model_copy(update={"address": "altra-01.lab", "reason": text, "description": text})
    run = view.run.model_copy(update={"hosts": [host], "title": text, "plan_file": text})
    facts = HostFacts(
        host="h",
        collected_at="2026-11-21T04:28:13Z",
        system=System(
            hostname="rack7.corp.example", command_line="BOOT_IMAGE=/vmlinuz root=/dev/sda1 mitigations=off",
            product=Product(serial="S6XZNX0R123456"),
        ),
        block_devices=[BlockDevice(name="nvme0n1", kind="disk", serial="S6XZNX0R123456")],
    )  # fmt: skip
    return replace(view, run=run, facts={"h": facts})


@pytest.mark.parametrize("secret", sorted(SECRETS))
def test_a_comment_contains_no_addresses_serial_numbers_or_command_lines(secret: str) -> None:
    told = f"/dev/disk/by-id/{secret}" if secret.startswith("nvme-") else secret
    body = comment.render(secretive(f"host h ({told}): cannot be used"))
    plain = body.replace("\\", "").replace("<!-- -->", "")
    assert secret not in plain
    assert re.search(r"host h \((/dev/disk/by-id/)?\[(address|serial number|kernel command line)\]\): cannot", plain)


@pytest.mark.parametrize(
    "kept", ["04:28:13", "0000:01:00.0", "6.1.0-28-amd64", "fio-3.33", "std::max", "1.2.3", "h/j0"]
)
def test_what_only_looks_like_an_address_is_kept(kept: str) -> None:
    assert redactor(secretive(""))(f"see {kept} there") == f"see {kept} there"


def test_hosts_that_are_named_by_their_address_are_numbered() -> None:
    view = view_of([job_of("j0", ["ok"])], [])
    hosts = [
        HostEntry(name=name, transport="ssh", status="ok", address=name) for name in ("10.0.0.7", "lab", "10.0.0.8")
    ]
    redact = redactor(replace(view, run=view.run.model_copy(update={"hosts": hosts})))
    assert redact("10.0.0.8/sids and lab/sids") == "host-3/sids and lab/sids"
    assert redacted(("10.0.0.7", ("lab", 4)), redact) == ("host-1", ("lab", 4))


# ---- the environment ----


def test_the_link_is_that_of_the_job() -> None:
    hub = {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r"}
    assert ci_job({**hub, "GITHUB_RUN_ID": "7"}).artifacts == "https://github.com/o/r/actions/runs/7"
    assert ci_job(hub).artifacts == ""
    lab = {"GITLAB_CI": "true", "CI_JOB_URL": "https://gitlab.example/o/r/-/jobs/5"}
    assert ci_job(lab).artifacts == "https://gitlab.example/o/r/-/jobs/5/artifacts/browse"
    assert ci_job({**lab, "CI_JOB_URL": "javascript:x)"}).artifacts == ""
    assert ci_job({}).server == ""


def test_paths_outside_the_repository_stay(tmp_path: Path) -> None:
    found = ci_job({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path)})
    assert found.path(str(tmp_path / "plans" / "a.yaml")) == "plans/a.yaml"
    assert found.path("/elsewhere/a.yaml") == "/elsewhere/a.yaml"
    assert (found.path(""), found.path("a\0b")) == ("", "a�b")
    assert github.annotate([], "") == ""
