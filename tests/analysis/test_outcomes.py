"""The matrix of hosts and benchmarks: the worst outcomes come first, equal hosts share a row, and names are shown as
ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.outcomes import JobOutcome, matrix, outcome, outcome_grid, short_names
from asct.plan.names import expand_range
from asct.store.model import HostEntry, JobEntry, Run


def job(host: str, name: str, refused: bool = False, **counts: int) -> JobEntry:
    total = sum(counts.values())
    return JobEntry(
        id=name, benchmark="noop", version="1", host=host, points=total, repeats=1, counts=counts, refused=refused
    )


def run(*jobs: JobEntry, **states: str) -> Run:
    names = dict.fromkeys(item.host for item in jobs)
    hosts = [HostEntry(name=name, transport="ssh", address=name, status=states.get(name, "ok")) for name in names]
    return Run(
        run="r", plan="p", plan_hash="0" * 64, plan_file="", tool_version="1", started_at="2026-11-21T00:00:00Z",
        hosts=hosts, jobs=list(jobs),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "found", "text"),
    [
        (job("a", "x", ok=3), JobOutcome("ok", 3, 3), "ok"),
        (job("a", "x", ok=2, noisy=1), JobOutcome("noisy", 1, 3), "noisy 1/3"),
        (job("a", "x", ok=2, noisy=1, failed=2), JobOutcome("failed", 2, 5), "failed 2/5"),
        (job("a", "x", skipped=4), JobOutcome("skipped", 4, 4), "skipped"),
        (job("a", "x", refused=True, skipped=4), JobOutcome("refused", 4, 4), "refused"),
        (job("a", "x"), JobOutcome("skipped", 0, 0), "skipped"),
    ],
)
def test_the_worst_of_a_job(entry: JobEntry, found: JobOutcome, text: str) -> None:
    assert outcome(entry) == found
    assert found.text == text


def test_hosts_alike_share_a_row_and_the_worst_come_first() -> None:
    jobs = [job(f"n{number}", name, ok=1) for number in range(1, 7) for name in ("x", "y")]
    jobs += [job("gone", name, skipped=1) for name in ("x", "y")]
    jobs[2] = job("n2", "x", failed=1)
    jobs[5] = job("n3", "y", noisy=1)
    found = matrix(run(*jobs, job("only", "z", ok=1), gone="unreachable"))
    assert found.ids == ("x", "y", "z")
    assert [(row.label, [item and item.text for item in row.outcomes]) for row in found.rows] == [
        ("gone: unreachable", ["skipped", "skipped", None]),
        ("n2", ["failed", "ok", None]),
        ("n3", ["ok", "noisy", None]),
        ("n1, n[4:6]", ["ok", "ok", None]),
        ("only", [None, None, "ok"]),
    ]


def test_the_table_of_a_report() -> None:
    grid = outcome_grid(run(job("a", "x", ok=1), job("b", "x", failed=1), job("b", "y", ok=1)))
    assert grid is not None
    assert [head.title for head in grid.heads] == ["Host", "x", "y"]
    assert [[cell.text for cell in row] for row in grid.rows] == [["b", "failed", "ok"], ["a", "ok", "–"]]
    assert [[cell.tone for cell in row] for row in grid.rows] == [["", "bad", "good"], ["", "good", "muted"]]
    assert outcome_grid(run(job("a", "x", ok=1))) is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1"], "n1"),
        (["n1", "n2"], "n[1:2]"),
        (["n9", "n10", "n11"], "n[9:11]"),
        (["n09", "n10"], "n[09:10]"),
        (["n009", "n10"], "n009, n10"),
        (["n1.lab", "n2.lab", "n4.lab", "m5.lab"], "n[1:2].lab, n4.lab, m5.lab"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1:2], r2n1"),
        (["a", "b"], "a, b"),
    ],
)
def test_names_as_ranges(names: list[str], text: str) -> None:
    assert short_names(names) == text


@given(st.lists(st.from_regex(r"[ab]{0,2}[0-9]{1,3}[ab]{0,1}", fullmatch=True), min_size=1, max_size=12, unique=True))
def test_ranges_mean_exactly_the_names(names: list[str]) -> None:
    assert [one for part in short_names(names).split(", ") for one in expand_range(part)] == names
