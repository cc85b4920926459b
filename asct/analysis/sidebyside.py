"""The tables of one benchmark entry with all of its hosts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asct.analysis.grid import ColumnHead, TableCell, TextTable, distinct, from_table, plain, without_empty_columns
from asct.analysis.view import JobView
from asct.values.grouping import grouped

_Owned = tuple[str, TextTable]
"""A host and its table."""


def side_by_side(jobs: Sequence[JobView], unique: str) -> Iterator[TextTable]:
    """Yield the tables of several jobs, each with the rows of all hosts and a second column that names the host.

    If the tables have the same rows, each row is followed by the corresponding rows of the other hosts. Otherwise, the
    rows of each host follow those of the previous host. Tables with different columns are not merged. The slugs start
    with `unique`.
    """
    tables = [(job.entry.host, from_table(table)) for job in jobs for table in job.tables if not table.bulk]
    groups = grouped(tables, lambda one: (one[1].slug, one[1].caption, one[1].heads)).values()
    slugs = distinct(f"{unique}-{group[0][1].slug}" for group in groups)
    for group, name in zip(groups, slugs, strict=True):
        yield replace(without_empty_columns(_joined(group)), slug=name)


def _joined(group: Sequence[_Owned]) -> TextTable:
    first = group[0][1]
    rows = [[_with_host(row, host) for row in grid.rows] for host, grid in group]
    names = [[row[0].text for row in own] for own in rows]
    alike = all(one == names[0] for one in names)
    ordered = (
        [row for same in zip(*rows, strict=True) for row in same] if alike else [row for own in rows for row in own]
    )
    heads = (first.heads[0], ColumnHead("Host", kept=True), *first.heads[1:])
    notes = tuple(dict.fromkeys(note for _, grid in group for note in grid.notes))
    return replace(first, heads=heads, rows=tuple(ordered), notes=notes)


def _with_host(row: tuple[TableCell, ...], host: str) -> tuple[TableCell, ...]:
    return (row[0], TableCell(plain(host), host), *row[1:])
