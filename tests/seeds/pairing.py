"""Combine the tables of a study with those of a run: each row of the original is followed by our row with the same
name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, from_table, without_empty_columns
from asct.analysis.view import JobView, RunView
from asct.sdk.figure import Figure
from tests.seeds.original import Cell, OriginalFigure, OriginalTable

FLAGS = "Flags"


def job_of(view: RunView, entry: str) -> JobView:
    """Return the job of an entry in the plan. Raises LookupError if the run contains no such job."""
    for job in view.jobs:
        if job.entry.id == entry:
            return job
    raise LookupError(f"the run has no entry {entry}; it has {view.ids()}")


def table_of(view: RunView, table: OriginalTable) -> TextTable | None:
    """Return our counterpart of a table, or None if the hosts have too few NUMA nodes for it. Raises LookupError if the
    entry has no such table."""
    tables = job_of(view, table.entry).tables
    for found in tables:
        if found.slug == table.table:
            return from_table(found)
    if table.nodes > max(len(facts.nodes) for facts in view.facts.values()):
        return None
    raise LookupError(f"{table.entry} has no table {table.table}; it has {[found.slug for found in tables]}")


def figure_of(view: RunView, figure: OriginalFigure) -> Figure | None:
    """Return our counterpart of a figure, or None if this run does not contain it."""
    found = [item for item in job_of(view, figure.entry).figures if item.slug == figure.figure]
    return found[0] if found else None


def rows_of(table: OriginalTable, grid: TextTable) -> list[dict[str, str]]:
    """Return those of our rows that a table selects. Each row maps the titles of the columns to the text of the
    cells."""
    titles = [head.title for head in grid.heads]
    rows = [dict(zip(titles, (cell.text for cell in row), strict=True)) for row in grid.rows]
    return [row for row in rows if all(row.get(title) == text for title, text in table.where.items())]


def values_of(table: OriginalTable, grid: TextTable) -> list[str]:
    """Return our values in the columns that the original contains, except in those that identify a row."""
    wanted = [table.ours(column) for column in table.columns if column not in table.keys]
    shown = wanted or [head.title for head in grid.heads]
    return [row[title] for row in rows_of(table, grid) for title in shown if row.get(title, ABSENT) != ABSENT]


def paired(table: OriginalTable, grid: TextTable | None) -> TextTable:
    """Return a table with the columns of the original, in which rows of the original alternate with ours. The last
    column contains our flags."""
    if not table.columns:
        return replace(without_empty_columns(grid), caption=table.title) if grid else TextTable(table.table, "", (), ())
    keys, values = list(table.keys), [column for column in table.columns if column not in table.keys]
    cells = [[row[table.columns.index(column)] for column in (*keys, *values)] for row in table.rows]
    ours = rows_of(table, grid) if grid else []
    rows = list(_rows(table, cells, ours, [*keys, *values]))
    flagged = any(row[-1].text for row in rows)
    heads = [*(ColumnHead(key) for key in keys), ColumnHead(""), *(ColumnHead(name, "right") for name in values)]
    heads += [ColumnHead(FLAGS)] if flagged else []
    kept = tuple(row if flagged else row[:-1] for row in rows)
    return TextTable(table.table, table.title, tuple(heads), kept)


def _rows(
    table: OriginalTable, cells: Sequence[Sequence[Cell | None]], ours: Sequence[Mapping[str, str]], order: list[str]
) -> Iterator[tuple[TableCell, ...]]:
    names, left = order[: len(table.keys)], list(ours)
    for row in cells:
        texts = ["" if cell is None else str(cell) for cell in row]
        yield _row(texts, len(names), "original", "")
        same = [item for item in left if all(item.get(table.ours(n)) == t for n, t in zip(names, texts, strict=False))]
        if same:
            left.remove(same[0])
            yield _ours(table, same[0], order, texts[: len(names)])
    for item in left if table.more else ():
        yield _ours(table, item, order, [item.get(table.ours(name), ABSENT) for name in names])


def _ours(table: OriginalTable, row: Mapping[str, str], order: list[str], names: list[str]) -> tuple[TableCell, ...]:
    values = [row.get(table.ours(column), ABSENT) for column in order[len(names) :]]
    return _row([*names, *values], len(names), "here", row.get(FLAGS, ""))


def _row(texts: Sequence[str], names: int, side: str, flags: str) -> tuple[TableCell, ...]:
    return tuple(TableCell(text) for text in (*texts[:names], side, *texts[names:], flags if flags != ABSENT else ""))
