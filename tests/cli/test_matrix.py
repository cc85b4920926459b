"""The matrix on a terminal: 80 columns wide, for many hosts and many benchmarks, with and without color."""

from __future__ import annotations

import pytest

from asct.analysis.outcomes import HostRow, JobOutcome, OutcomeMatrix
from asct.cli.summary import MOST_ROWS, matrix_lines

OK, BAD, NOISY = JobOutcome("ok", 1, 1), JobOutcome("failed", 2, 10), JobOutcome("noisy", 1, 10)


def lines(found: OutcomeMatrix, width: int = 80) -> list[str]:
    shown = [line.plain for line in matrix_lines(found, width)]
    assert max(map(len, shown)) <= width
    return shown


def test_words_where_they_fit() -> None:
    rows = (
        HostRow(("n07",), "ok", (BAD, OK)),
        HostRow(("gw",), "unreachable", (JobOutcome("skipped", 1, 1), None)),
        HostRow(tuple(f"n{number:02}" for number in range(8, 99)), "ok", (OK, NOISY)),
    )
    assert lines(OutcomeMatrix(("latency-sweep", "depth"), rows)) == [
        "host             latency-sweep  depth",
        "n07              failed 2/10    ok",
        "gw: unreachable  skipped        -",
        "n[08:98]         ok             noisy 1/10",
    ]


def test_letters_where_words_do_not_fit() -> None:
    ids = tuple(f"benchmark-number-{number}" for number in range(1, 13))
    rows = (
        HostRow(("n1",), "ok", (BAD, *[OK] * 10, None)),
        HostRow(("n2", "n3"), "ok", tuple([OK] * 11 + [NOISY])),
    )
    shown = lines(OutcomeMatrix(ids, rows))
    assert shown[:3] == [
        "host   1  2  3  4  5  6  7  8  9  10 11 12",
        "n1     F  .  .  .  .  .  .  .  .  .  .",
        "n[2:3] .  .  .  .  .  .  .  .  .  .  .  n",
    ]  # fmt: skip
    assert shown[3].split() == ["1", "benchmark-number-1"]
    assert len(shown) == 3 + 12 + 1
    assert shown[-1] == ". ok, n noisy, F failed"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_more_benchmarks_than_columns_go_into_blocks(width: int) -> None:
    ids = tuple(f"b{number}" for number in range(60))
    shown = lines(OutcomeMatrix(ids, (HostRow(("n1",), "ok", tuple([OK] * 60)),)), width)
    assert sum(line.startswith("n1") for line in shown) == -(-60 // ((width - 4) // 3))
    assert sum(line.count(".") for line in shown if line.startswith("n1")) == 60


def test_a_hundred_hosts_that_all_went_differently() -> None:
    rows = tuple(HostRow((f"n{number}",), "ok", (JobOutcome("failed", number, 200), OK)) for number in range(1, 101))
    shown = lines(OutcomeMatrix(("x", "y"), rows))
    assert len(shown) == 1 + MOST_ROWS + 1
    assert shown[-1] == "and 80 more hosts with better results; see the reports for the full list"


def test_names_without_order_are_counted() -> None:
    hosts = tuple(f"{letter}-machine" for letter in "acegikmoqs")
    assert lines(OutcomeMatrix(("x",), (HostRow(hosts, "ok", (OK,)),)))[1] == "a-machine and 9 more  ok"


def test_colours_are_styles_of_single_cells() -> None:
    [_, line] = matrix_lines(OutcomeMatrix(("x", "y"), (HostRow(("n1",), "ok", (BAD, OK)),)), 80)
    styled = {line.plain[span.start : span.end].strip(): span.style for span in line.spans}
    assert styled == {"failed 2/10": "red", "ok": "green"}
