"""How cells, sizes and slugs are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.grid import (
    as_text,
    cell,
    coordinates_text,
    distinct,
    from_table,
    plain,
    setting_text,
    size_text,
    slug,
    with_micro_sign,
    without_empty_columns,
)
from asct.sdk.figure import Column, Table


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"), (128, "128"), (1000, "1000"), (32832, "32.0625K"), (33_400, "32.62K"), (288 << 10, "288K"),
        (4608 << 10, "4.5M"), (528 << 20, "528M"), (1 << 30, "1G"), (1 << 60, "1024P"), (26_200_000, "24.99M"),
    ],
)  # fmt: skip
def test_sizes_read_as_in_the_known_tables(size: int, text: str) -> None:
    assert size_text(size) == text


def test_columns_scale_and_round() -> None:
    assert cell(Column("x", "Latency [ns]", scale=1e-9, digits=1), 1.54e-9).text == "1.5"
    assert cell(Column("x", "kops", scale=1e3, digits=1), 3049.0).text == "3.0"
    assert cell(Column("x", "irq (%)", digits=1), 0.031).text == "0.03"
    assert cell(Column("x", "irq (%)", digits=1), 0.0).text == "0.0"
    assert cell(Column("x", "MB/s", digits=1), 9999.94).text == "9999.9"
    assert cell(Column("x", "MB/s", digits=1), 9999.97).text == "10000"
    assert cell(Column("x", "MB/s", digits=1), 12345.6).text == "12346"
    assert cell(Column("x", "n", format="integer"), 8.0).text == "8"
    assert cell(Column("x", "size", format="size"), 65536).text == "64K"
    assert cell(Column("x", "size", format="size"), 32832).text == "32.06K"
    assert cell(Column("x", "t", format="text"), "L1").text == "L1"
    assert cell(Column("x", "t"), None).text == "–"
    assert cell(Column("x", "t", format="size"), 65536).sort == 65536.0


def test_a_table_keeps_its_order_and_notes() -> None:
    table = Table("My levels", "Levels", (Column("a", "A", format="text"), Column("b", "B")), ({"a": "x"},), ("note",))
    grid = from_table(table)
    assert grid.slug == "my-levels"
    assert [c.text for c in grid.rows[0]] == ["x", "–"]
    assert grid.notes == ("note",)
    assert [head.title for head in without_empty_columns(grid).heads] == ["A"]


def test_a_column_to_be_kept_stays_when_it_is_empty() -> None:
    columns = (Column("a", "A", format="text"), Column("b", "B"), Column("c", "C", kept=True))
    grid = without_empty_columns(from_table(Table("t", "T", columns, ({"a": "x"},))))
    assert [head.title for head in grid.heads] == ["A", "C"]
    assert [c.text for c in grid.rows[0]] == ["x", "–"]


def test_the_first_column_is_removed_too_if_it_is_empty_unless_no_other_is_left() -> None:
    columns = (Column("a", "A", format="text"), Column("b", "B"))
    assert [head.title for head in without_empty_columns(from_table(Table("t", "T", columns, ({"b": 1},)))).heads] == [
        "B"
    ]
    for rows in ((), ({},)):
        grid = without_empty_columns(from_table(Table("t", "T", columns, rows)))
        assert [head.title for head in grid.heads] == ["A"]


def test_settings_are_shown_on_one_line() -> None:
    assert as_text([1, 2.5, True, None]) == "1, 2.5, true, –"
    assert coordinates_text({"level": "L1", "threads": 4}) == "level L1, threads 4"


def test_control_and_direction_marks_are_replaced() -> None:
    assert plain("a\x1b[31mb\u202ec\nd") == "a�[31mb�c d"
    assert plain("a\n\tb\x00", keep_lines=True) == "a\n\tb�"


@given(st.text(), st.text())
def test_slugs_are_safe_and_distinct(first: str, second: str) -> None:
    names = distinct([slug(first), slug(second), slug(first)])
    assert len(set(names)) == 3
    assert all(name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)


def test_a_place_rounds_sizes_and_a_setting_keeps_them_exact() -> None:
    assert coordinates_text({"size": 370_752}, {"size"}) == "size 362.1K"
    assert setting_text(370_752, is_size=True) == "362.0625K"


def test_a_place_tells_sizes_as_they_are_written() -> None:
    assert coordinates_text({"file_names": [], "rw": "read"}) == "file_names none, rw read"
    assert coordinates_text({"block_size": 65536, "iodepth": 4096}, {"block_size"}) == "block_size 64K, iodepth 4096"
    assert (
        coordinates_text({"block_size": "auto", "direct": True}, {"block_size", "direct"})
        == "block_size auto, direct true"
    )


def test_reports_write_microseconds_as_their_figures_do() -> None:
    columns = (
        Column("name", "Point", format="text"), Column("goal", "Goal", format="text"),
        Column("p99", "p99 (us)", 1e-6),
    )  # fmt: skip
    rows = (
        {"name": "p99 within 500 us", "goal": "200 us", "p99": 4e-4}, {"name": "bus", "goal": "bus", "p99": 1e-4},
    )  # fmt: skip
    table = Table("points", "Points", columns, rows)
    grid = with_micro_sign(from_table(table))
    assert [head.title for head in grid.heads] == ["Point", "Goal", "p99 (\N{MICRO SIGN}s)"]
    texts = [[cell.text for cell in row[:2]] for row in grid.rows]
    assert texts == [["p99 within 500 \N{MICRO SIGN}s", "200 \N{MICRO SIGN}s"], ["bus", "bus"]]
