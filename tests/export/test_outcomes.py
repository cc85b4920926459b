"""Every way in which a run may end: the wording, the colors and the causes are the same in every report, and no report
of a run that did not succeed is green."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asct.analysis import markup
from asct.analysis.outcomes import TONES, refused_again
from asct.analysis.report import build
from asct.analysis.verdict import summarize
from asct.analysis.view import JobView, RepeatView, RunView
from asct.engine.run import exit_code
from asct.export import codequality, comment, github, html, junit, markdown, stdout
from asct.store.model import BaselineValue, HostEntry, JobEntry, Run, Status, Verdict
from tests.export.jenkins import violations

CAUSES = {
    "invalid": ("E627", "the result flagged invalid-host; an invalid value is treated as not measured"),
    "failed": ("E601", "fio ended with exit status 1"),
    "timeout": ("E602", "fio reached its time limit"),
    "refused": ("E430", "/dev/sdb is mounted"),
    "host-lost": ("E607", "the connection was lost"),
    "noisy": ("E617", "the result flagged noisy; with `strict`, a noisy value is treated as not measured"),
}
STATUSES = ("ok", "noisy", "invalid", "failed", "timeout", "refused", "skipped", "host-lost", "interrupted")


def repeat(host: str, job: str, number: int, status: str, strict: bool, count: int = 1) -> RepeatView:
    cause = CAUSES.get(status) if status != "noisy" or strict else None
    body: dict[str, Any] = {
        "status": status, "point_id": f"{number:012x}", "repeat": count, "started_at": "2026-11-21T04:28:13Z",
        "elapsed_s": 1234.5, "diagnostic": {"code": cause[0], "message": cause[1], "hint": "look"} if cause else None,
    }  # fmt: skip
    folder = f"jobs/{host}/{job}/{number:012x}/r{count}"
    return RepeatView(host, job, f"{number:012x}", count, folder, Status.model_validate(body), None)


def job_of(
    name: str, statuses: list[str], unstarted: int = 0, strict: bool = False, refused: bool = False, warmup: str = ""
) -> JobView:
    refused = refused or "refused" in statuses
    counts = {status: statuses.count(status) for status in statuses}
    note = next((" ".join(CAUSES[one]) for one in statuses if one in CAUSES and (one != "noisy" or strict)), "")
    entry = JobEntry(
        id=name, benchmark="b", version="1", host="h", points=len(statuses) + unstarted, repeats=1, counts=counts,
        strict=strict, refused=refused, note=note or ("E430 /dev/sdb is mounted" if refused else ""),
    )  # fmt: skip
    entry = entry.model_copy(update={"counts": {**counts, **entry.lacking()}})
    repeats = [repeat("h", name, number, one, strict) for number, one in enumerate(statuses)]
    warmups = [repeat("h", name, 0, warmup, strict, 0)] if warmup and statuses else []
    return JobView(entry, None, (), (*warmups, *repeats), (), ())


def view_of(jobs: list[JobView], verdicts: list[Verdict], findings: bool = False, signal: int | None = None) -> RunView:
    entries = [job.entry for job in jobs]
    code = exit_code(entries, verdicts, findings=findings, signal=signal)
    totals: dict[str, int] = {}
    for entry in entries:
        for status, number in entry.counts.items():
            totals[status] = totals.get(status, 0) + number
    broken = {"code": "E505", "severity": "error", "message": "no space left on device", "hint": "", "host": None}
    run = Run(
        run="r", plan="p", plan_hash="0", plan_file="p.yaml", tool_version="1", started_at="2026-11-21T04:28:13Z",
        status="interrupted" if signal else "incomplete" if code else "complete", exit_code=code, jobs=entries,
        counts=totals, hosts=[HostEntry(name="h", transport="local", status="ok")], verdicts=verdicts,
        findings=[broken] if findings else [],
    )  # fmt: skip
    return RunView(Path("/nowhere"), run, (), {}, tuple(jobs))


def verdict(outcome: str, severity: str = "fail", if_missing: str = "fail", reason: str = "") -> Verdict:
    body = {"outcome": outcome, "severity": severity, "if_missing": if_missing, "reason": reason, "host": "h"}
    return Verdict.model_validate({**body, "id": "j0", "metric": "m", "file": "p.yaml", "line": 7, "text": "j0.m: 1"})


JOBS = st.lists(
    st.builds(
        job_of,
        st.just("j"),
        st.lists(st.sampled_from(STATUSES), max_size=5),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "", "failed"]),
    ).filter(lambda job: job.entry.points > 0),
    min_size=1,
    max_size=3,
)
VERDICTS = st.lists(
    st.builds(
        verdict,
        st.sampled_from(["pass", "fail", "unknown", "not planned"]),
        st.sampled_from(["fail", "warn", "info"]),
        st.sampled_from(["fail", "warn", "pass"]),
    ),
    max_size=3,
)
RUNS = st.builds(view_of, JOBS, VERDICTS, st.booleans(), st.sampled_from([None, None, None, 2, 15]))


@given(RUNS)
@example(view_of([job_of("j", ["ok"], warmup="failed")], []))
def test_junit_is_red_exactly_if_the_exit_code_is_and_jenkins_accepts_it(view: RunView) -> None:
    root = ET.fromstring(junit.render(view))
    assert violations(root) == []
    bad = int(root.get("failures", "")) + int(root.get("errors", ""))
    assert (bad > 0) == (view.run.exit_code != 0)
    counted = [sum(int(suite.get(name, "")) for suite in root) for name in ("tests", "failures", "errors")]
    assert counted == [int(root.get(name, "")) for name in ("tests", "failures", "errors")]


@given(RUNS)
def test_nothing_is_green_unless_everything_is_well(view: RunView) -> None:
    doubts = {status for job in view.run.jobs for status, number in job.counts.items() if number} - {"ok"}
    mild = [
        one for one in view.run.verdicts if one.outcome == "unknown" or (one.outcome, one.severity) == ("fail", "warn")
    ]
    green = view.run.exit_code == 0 and not doubts and not mild
    assert (summarize(view).tone == "good") == green
    head = markdown.render(view).splitlines()[2]
    assert head.startswith("✅") == green
    assert ('class="verdict good"' in html.render(view)) == green


@given(RUNS)
@example(view_of([job_of("j", ["noisy"], strict=True)], []))
@example(view_of([job_of("j", ["noisy"])], [], findings=True))
@example(view_of([job_of("j", ["ok"], warmup="failed")], []))
def test_every_report_for_ci_is_red_exactly_if_the_exit_code_is_not_zero(view: RunView) -> None:
    red = view.run.exit_code != 0
    assert any(line.startswith("::error") for line in github.render(view).splitlines()) == red
    assert ("critical" in {item["severity"] for item in json.loads(codequality.render(view))}) == red
    assert (summarize(view).tone not in ("good", "doubt")) == red
    assert (markdown.render(view).splitlines()[2].partition(" ")[0] not in ("✅", "⚠️")) == red
    assert (comment.render(view).splitlines()[3].partition(" ")[0] not in ("✅", "⚠️")) == red


@pytest.mark.parametrize("status", [*CAUSES])
def test_the_cause_travels_unchanged_into_every_report(status: str) -> None:
    cause = " ".join(CAUSES[status])
    view = view_of([job_of("j0", [status], strict=True)], [verdict("unknown", reason=f"not measured ({cause})")])
    build.cache_clear()
    root = ET.fromstring(junit.render(view))
    [problem, unknown] = list(root.iter("error"))
    assert (problem.get("type"), problem.get("message")) == (status, cause)
    assert cause in unknown.get("message", "")
    assert cause in summarize(view).details
    assert f"error file=p.yaml,title={status}%3A h/j0::000000000000, repeat 1: {cause}" in github.render(view)
    body = stdout.render(view, 400)
    assert body.count(cause) >= 3, "the verdict, the expectation and the point"
    assert markup.prose(cause) in markdown.render(view)
    page = html.render(view)
    assert page.count(CAUSES[status][0]) >= 3


def test_the_baseline_and_how_it_was_chosen_are_named() -> None:
    named = BaselineValue(run="p/r1", chosen="named `golden` in the plan", value=1.0)
    accepted = BaselineValue(run="p/r2", chosen="accepted: new firmware", value=2.0)

    def told(*bases: BaselineValue) -> list[str]:
        verdicts = [verdict("pass").model_copy(update={"baseline": base}) for base in bases]
        return [text for text in summarize(view_of([job_of("j", ["ok"])], verdicts)).details if "baseline" in text]

    assert told(named, named) == ["The baseline is p/r1 (named `golden` in the plan)"]
    assert told(named, accepted, named) == [
        "The baseline of 2 values is p/r1 (named `golden` in the plan)",
        "The baseline of 1 value is p/r2 (accepted: new firmware)",
    ]


@pytest.mark.parametrize("refused", [True, False])
def test_points_that_were_not_started_say_why(refused: bool) -> None:
    """A refused run has 0 errors and 0 failures, and states `named in the plan` as the reason."""
    view = view_of([job_of("j0", [], unstarted=2, refused=refused)], [])
    root = ET.fromstring(junit.render(view))
    [problem] = list(root.iter("error"))
    assert problem.get("type") == ("refused" if refused else "skipped")
    assert problem.get("message") == ("E430 /dev/sdb is mounted" if refused else "not started")
    assert summarize(view).sentence == f"Both measurements {'were refused' if refused else 'were skipped'}"


@pytest.mark.parametrize(
    ("statuses", "unstarted", "words"),
    [
        (["ok", "interrupted"], 0, "1 of 2 measurements was interrupted"),
        (["interrupted"], 1, "Both measurements are missing"),
        (["host-lost"], 0, "The only measurement is missing"),
    ],
)
def test_missing_measurements_have_the_word_of_their_status_if_they_share_it(
    statuses: list[str], unstarted: int, words: str
) -> None:
    assert summarize(view_of([job_of("j0", statuses, unstarted=unstarted)], [])).sentence == words


def test_resume_after_a_refusal_needs_a_change_on_the_host_first() -> None:
    refused = view_of([job_of("j0", [], unstarted=2, refused=True)], [])
    words = "after a change on the host, <code>asct resume r</code>"
    assert refused_again(refused.run) and words in html.render(with_hint(refused))
    failed = view_of([job_of("j0", ["failed"])], [])
    assert not refused_again(failed.run) and words not in html.render(failed)
    refused.run.hosts[0].status = "locked"
    assert not refused_again(refused.run), "the lock ends by itself"
    assert words not in html.render(refused)


def with_hint(view: RunView) -> RunView:
    """Return the view with a finding that gives the fix for its refusal."""
    finding = {"code": "E430", "severity": "error", "message": "/dev/sdb is mounted", "hint": "unmount it", "host": "h"}
    return replace(view, run=view.run.model_copy(update={"findings": [finding]}))


def test_each_kind_of_outcome_has_its_own_colour_everywhere() -> None:
    kinds = ("ok", "noisy", "invalid", "failed", "refused", "skipped", "unknown")
    from asct.cli.summary import _STYLES

    tones = [TONES[word] for word in kinds]
    assert len(set(tones)) == len(kinds)
    assert len({_STYLES[tone] for tone in tones}) == len(kinds)
    assert len({markup.SIGNS[tone] for tone in tones}) == len(kinds)
    css = (Path(__file__).parents[2] / "templates" / "report.css").read_text()
    assert all(f".{tone} {{ --tone: var(--{tone});" in css for tone in tones)


def test_noisy_is_never_green_and_says_that_the_expectations_held() -> None:
    view = view_of([job_of("j0", ["noisy"] * 6 + ["ok"] * 2)], [verdict("pass")] * 4)
    found = summarize(view)
    assert (view.run.exit_code, found.tone, found.sentence) == (0, "doubt", "6 of 8 measurements are noisy")
    assert "All 4 expectations were met" in found.details


def test_problems_that_count_the_same_share_a_sentence() -> None:
    jobs = [job_of("j0", ["failed", "noisy", "ok"], unstarted=2), job_of("j1", ["noisy"] * 3, strict=True)]
    found = summarize(view_of(jobs, [verdict("fail"), verdict("unknown"), verdict("unknown"), verdict("pass")]))
    assert found.sentence == "1 of 4 expectations failed and 2 could not be judged"
    assert found.others == ("1 of 8 measurements failed, 2 were skipped, 3 are too noisy for `strict` and 1 is noisy",)
    alone = summarize(view_of([job_of("j0", ["failed"] * 2)], [verdict("unknown")] * 3))
    assert (alone.sentence, alone.others) == (
        "Both measurements failed",
        ("None of the 3 expectations could be judged",),
    )


def test_a_run_that_failed_outside_its_points_is_red() -> None:
    view = view_of([job_of("j0", ["ok"])], [], findings=True)
    [problem] = list(ET.fromstring(junit.render(view)).iter("error"))
    assert problem.get("message") == "The run ended with exit code 3" and "E505 no space left" in str(problem.text)


@pytest.mark.parametrize(("points", "size"), [(1, "1 point, 1 repeat"), (2, "2 points, 1 repeat each")])
def test_the_line_of_a_job_counts_its_points_and_repeats(points: int, size: str) -> None:
    view = view_of([job_of("j", ["ok"] * points)], [])
    assert build(view).sections[0].parts[0].line.split("; ")[0] == size
