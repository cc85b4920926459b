"""Tables as text, 80 columns wide: the columns of a storage sweep in one block, and tables that do not fit into one
block."""

from __future__ import annotations

import pytest

from asct.analysis.grid import NO_VALUE, ColumnHead, TableCell, TextTable
from asct.export import stdout

SWEEP = (
    "Read BW (MB/s)", "Write BW (MB/s)", "Total BW (MB/s)", "Read Thruput (kops)", "Write Thruput (kops)",
    "Thruput (kops)", "Read Lat. (us)", "Write Lat. (us)", "Lat. (us)", "CPU usr (%)", "CPU sys (%)", "CPU iowait (%)",
)  # fmt: skip
"""The columns that Arm's ASCT prints for each storage sweep."""


def sweep(axis: str, names: list[str], fast: bool, *more: str) -> TextTable:
    rate, latency = ("13421.8", "14.6") if fast else ("11.9", "1311.7")
    values = (
        rate,
        "0.0",
        rate,
        "3276.8" if fast else "3.0",
        "0.0",
        "3.0",
        latency,
        None,
        latency,
        "0.1",
        "0.1",
        "99.8",
    )
    heads = (ColumnHead(axis), *(ColumnHead(title, "right", kept=True) for title in (*SWEEP, *more)))
    cells = tuple(NO_VALUE if value is None else TableCell(value) for value in values)
    rows = tuple((TableCell(name), *cells, *(TableCell("1.5") for _ in more)) for name in names)
    return TextTable("s", "Sweep", heads, rows)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("axis", "names"),
    [
        ("BlockSize", ["4K", "128K"]),
        ("IODepth", ["1", "128"]),
        ("ProcessCount", ["1", "16"]),
        ("AccessPattern", ["read", "randwrite"]),
    ],
)
def test_the_columns_of_a_storage_sweep_are_one_block_of_80_columns(axis: str, names: list[str], fast: bool) -> None:
    lines = stdout.table(sweep(axis, names, fast)).split("\n")
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line.startswith(tuple(names))]
    assert [len(row) for row in rows] == [13, 13]
    assert rows[0][8] == "–"


def test_columns_share_the_words_of_their_titles() -> None:
    lines = stdout.table(sweep("BlockSize", ["4K", "128K"], False)).split("\n")
    assert lines[0].split()[0] == "Block"
    assert [lines[0].count(word) for word in ("BW (MB/s)", "Thruput (kops)", "Lat. (us)", "CPU (%)")] == [1, 1, 1, 1]
    assert lines[1].split() == ["Size", "Read", "Write", "Total", *["Read", "Write", "All"] * 2, "usr", "sys", "iowait"]


def test_numbers_keep_their_decimals_where_there_is_room() -> None:
    assert "1311.7" in stdout.table(sweep("BlockSize", ["4K"], False), 200)
    narrow = stdout.table(sweep("BlockSize", ["4K"], False))
    assert " 1312 " in narrow and "1311.7" not in narrow and " 11.9 " in narrow


def test_further_columns_follow_below_and_those_that_belong_together_stay_together() -> None:
    more = ("p50 (us)", "p90 (us)", "p99 (us)", "Spread (%)")
    blocks = stdout.table(sweep("AccessPattern", ["read", "randwrite"], False, *more)).split("\n\n")
    assert len(blocks) == 2
    titles = ["AccessPattern", "p50", "(us)", "p90", "(us)", "p99", "(us)", "Spread", "(%)"]
    assert blocks[1].split("\n")[0].split() == titles


def test_several_columns_of_a_group_stay_in_the_block_before() -> None:
    lines = stdout.table(sweep("BlockSize", ["4K"], True, "CPU irq (%)", "CPU soft (%)", "p50 (us)", "p90 (us)")).split(
        "\n"
    )
    row = next(line.split() for line in lines if line.startswith("4K"))
    assert len(row) >= 13


def test_the_verdict_of_a_comparison_stays_in_the_table() -> None:
    titles = ("Value", "Base", "New", "Change [95 %]", "Noise floor", "Verdict")
    heads = tuple(ColumnHead(title, "right" if 0 < i < 5 else "left") for i, title in enumerate(titles))
    row = ("latency, level DRAM, block_size 128K", "123.4 GB/s", "100.7k ops/s", "-13.4 % [-14.0, -12.9]", "11.1 %")
    grid = TextTable("d", "Values", heads, ((*map(TableCell, row), TableCell("too few visits")),))
    lines = stdout.table(grid).split("\n")
    assert max(map(len, lines)) <= 80
    assert "" not in lines
    assert "Verdict" in lines[0] + lines[1] and "too few" in stdout.table(grid)
