"""Figures of a comparison: the curves of all runs in one figure, and matrices of relative changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Final, TypeVar

from asct.analysis.combined import combined_figures, is_stacked
from asct.analysis.diff.source import ASCT, DiffSource, Job
from asct.analysis.grid import ColumnHead, TableCell, TextTable, plain, slug
from asct.sdk.benchmark import Catalog
from asct.sdk.figure import Compared, Figure, Heatmap, Series
from asct.sdk.record import Record
from asct.values.grouping import grouped

MOST_TEXT_CELLS: Final = 16
"""Maximum number of rows, and of columns, in a matrix that is printed as text."""

_Cell = TypeVar("_Cell")
JobFigures = Mapping[Job, Sequence[Figure]]


def figures_of(source: DiffSource, catalog: Catalog) -> dict[Job, Sequence[Figure]]:
    """Return the figures of each job, as its benchmark draws them. A job that was not measured with the installed
    version of its benchmark has no figures."""
    jobs = grouped(source.records, lambda record: (record.host, record.id))
    return {job: _figures(source, job, records, catalog) for job, records in jobs.items()}


def _figures(source: DiffSource, job: Job, records: Sequence[Record], catalog: Catalog) -> Sequence[Figure]:
    first = records[0]
    benchmark = catalog.get(first.benchmark)
    if benchmark is None or (source.tool == ASCT and benchmark.version != first.version):
        return ()
    fixed = source.settings.get(job, {})
    settings = {record.point_id: {**fixed, **record.point} for record in records}
    return tuple(benchmark.with_settings(settings).figures(records))


def overlaid(job_id: str, host: str, sides: Mapping[str, Sequence[Figure]]) -> list[Figure]:
    """Return the charts of one job with the lines of every run; `sides` maps each run's title to its figures.

    Charts that only one run has, stacked bars and matrices are left out. Titles include the name of the job, because
    several jobs of a run may draw the same charts.
    """
    charts = {
        title: tuple(one for one in figures if not isinstance(one, Heatmap) and not is_stacked(one))
        for title, figures in sides.items()
    }
    found = combined_figures({title: figures for title, figures in charts.items() if figures})
    joined = [one for one in found if not isinstance(one, Heatmap) and len({item.host for item in one.series}) > 1]
    name = plain(f"{job_id} on {host}" if host else job_id)
    return [
        replace(one, slug=f"{slug(job_id)}-{slug(host)}-{slug(one.slug)}", title=f"{one.title} ({name})")
        for one in joined
    ]


def delta_maps(base: JobFigures, new: JobFigures, hosts: Mapping[str, str]) -> dict[Job, list[Heatmap]]:
    """For each job in a run, return matrices of its changes, as percentages of the base. `hosts` maps the hosts of the
    run to the hosts of the base."""
    found = {}
    for (host, job_id), figures in new.items():
        before = {one.slug: one for one in base.get((hosts.get(host, ""), job_id), ()) if isinstance(one, Heatmap)}
        maps = [_delta(before[one.slug], one) for one in figures if isinstance(one, Heatmap) and one.slug in before]
        found[host, job_id] = [one for one in maps if one is not None]
    return {job: maps for job, maps in found.items() if maps}


def _delta(base: Heatmap, new: Heatmap) -> Heatmap | None:
    """Return the changes in the cells that both matrices contain. Return None if the figure's values have no direction
    (neither higher nor lower is better), or if the matrices have no cell in common."""
    before, after = _rows(base, new), _rows(new, new)
    values = tuple(tuple(map(_percent, own.y, other.y)) for own, other in zip(before, after, strict=True))
    known = [value for line in values for value in line if value is not None]
    if new.better == "neither" or (base.x_title, base.y_title, base.unit) != (new.x_title, new.y_title, new.unit):
        return None
    caption = "Change in each cell as a percentage of the base. Orange cells are worse; blue ones are better."
    changed = replace(
        new, title=f"{new.title}: change", caption=caption, values=values, unit="%", ceiling=None, diverging=True,
        series=(),
        compared=(
            Compared("base", base.unit, tuple(map(_without_settings, before))),  # they are those of the new values
            Compared("new", new.unit, after),
        ),
    )  # fmt: skip
    return changed if known else None


def _rows(matrix: Heatmap, other: Heatmap) -> tuple[Series, ...]:
    """Return the values of a matrix, and what is known about them, in the rows and columns of the `other` matrix."""
    series = matrix.series or tuple(map(Series, matrix.rows, repeat(matrix.columns), matrix.values))
    rows = dict(zip(matrix.rows, series, strict=True))
    columns = {name: number for number, name in enumerate(matrix.columns)}
    numbers = [columns.get(name) for name in other.columns]
    return tuple(_cells(rows.get(name), numbers, name, other.columns) for name in other.rows)


def _cells(row: Series | None, numbers: Sequence[int | None], name: str, columns: tuple[str, ...]) -> Series:
    """Return the cells of a row with these numbers. A number is None if there is no such cell."""

    def chosen(cells: Sequence[_Cell | None]) -> tuple[_Cell | None, ...]:
        return tuple(None if number is None else cells[number] for number in numbers) if cells else ()

    if row is None:
        return Series(name, columns, (None,) * len(columns))
    return Series(name, columns, chosen(row.y), chosen(row.low), chosen(row.high), details=chosen(row.details))


def _without_settings(row: Series) -> Series:
    return replace(row, details=tuple(one and replace(one, setting="") for one in row.details))


def _percent(base: float | None, new: float | None) -> float | None:
    return None if not base or new is None else 100.0 * (new / base - 1.0)


def matrix_grid(figure: Heatmap) -> TextTable | None:
    """Return a matrix of changes as a compact table, or None if it is too large to be printed."""
    if max(len(figure.rows), len(figure.columns)) > MOST_TEXT_CELLS:
        return None
    heads = (ColumnHead("%"), *(ColumnHead(plain(name), "right", kept=True) for name in figure.columns))
    rows = tuple(
        (TableCell(plain(name)), *(TableCell("" if value is None else f"{value:+.1f}") for value in line))
        for name, line in zip(figure.rows, figure.values, strict=True)
    )
    caption = f"{figure.title} ({figure.y_title} by {figure.x_title})"
    return TextTable(slug(figure.slug), plain(caption), heads, rows)
