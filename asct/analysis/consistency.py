"""The quantities that a run measured more than once, as a table in which pairs that disagree come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.analysis.agreement import QuantityPair, quantity_pairs
from asct.analysis.grid import ColumnHead, TableCell, TextTable, plain, without_empty_columns
from asct.analysis.view import RunView
from asct.values.quantity import format_quantity
from asct.values.text import counted

_MOST_ROWS: Final = 200
"""Maximum number of pairs in the table. Every pair that disagrees is also flagged in the tables of its benchmarks."""


def consistency_grid(view: RunView) -> TextTable | None:
    """Return a table of all pairs of values that measure the same quantity, or None if no quantity was measured
    twice."""
    if view.catalog is None:
        return None
    records = [record for job in view.jobs for record in job.records]
    pairs = sorted(quantity_pairs(records, view.resolved, view.facts, view.catalog), key=lambda pair: pair.agrees)
    if not pairs:
        return None
    several = len(view.run.hosts) > 1
    titles = ("Outcome", "Quantity", "Host", "At", "First", "Second", "Difference")
    heads = tuple(ColumnHead(title, "right" if title == "Difference" else "left") for title in titles)
    rows = tuple(_row(pair, several) for pair in pairs[:_MOST_ROWS])
    left = len(pairs) - len(rows)
    notes = (f"{counted(left, 'more pair is', 'more pairs are')} not listed.",) if left else ()
    return without_empty_columns(TextTable("consistency-pairs", "The same quantity measured twice", heads, rows, notes))


def sentence(grid: TextTable) -> str:
    """Return a sentence that says how many pairs in the table agree or disagree."""
    count = sum(row[0].tone == "bad" for row in grid.rows)
    if count:
        return f"{count} of {_pairs(grid.rows)} that measure the same quantity disagree"
    return "Both values of the same quantity agree" if len(grid.rows) == 1 else f"All {_pairs(grid.rows)} agree"


def _pairs(rows: Sequence[object]) -> str:
    return f"{len(rows):,} pairs of values"


def _row(pair: QuantityPair, several: bool) -> tuple[TableCell, ...]:
    first, second = pair.sides  # `first.text` describes the second value, and vice versa
    at = ", ".join(f"{plain(name)} {plain(text)}" for name, text in pair.conditions)
    change = second.other_value / first.other_value - 1.0 if first.other_value else 0.0
    word = "agree" if pair.agrees else "disagree"
    return (
        TableCell(word, word, "good" if pair.agrees else "bad"),
        TableCell(plain(pair.quantity), pair.quantity),
        TableCell(plain(pair.host) if several else "", pair.host),
        TableCell(at.replace("_", " "), at),
        *(
            TableCell(f"{plain(side.other)} {format_quantity(side.other_value, side.unit, 4)}", side.other_value)
            for side in pair.sides
        ),
        TableCell(f"{100 * change:+z.1f} %", change),
    )
