"""Figures of one benchmark entry combined across hosts, and figures as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, shown, size_text, slug
from asct.sdk.figure import Axis, Bars, Chart, Figure, Heatmap, Line, Series
from asct.sdk.record import Scalar
from asct.values.quantity import format_quantity

_MOST_SERIES = 24
"""Above this number, figures are not combined: their lines would be indistinguishable."""
_MOST_CELLS = 4096
"""Of a heat map that is also shown as a table."""


def combined_figures(by_host: Mapping[str, tuple[Figure, ...]]) -> list[Figure]:
    """The figures of all hosts, in order; those with the same slug and axes become one with a series per host.

    Every series names its host afterwards. Stacked bars and heat maps stay one figure per host.
    """
    several = len(by_host) > 1
    groups: dict[tuple[str, Axis | str, Axis | str], list[tuple[str, Figure]]] = {}
    for host, figures in by_host.items():
        for figure in figures:
            groups.setdefault(_key(figure), []).append((host, figure))
    result: list[Figure] = []
    for group in groups.values():
        result.extend(_one_group(group, several))
    return result


def _key(figure: Figure) -> tuple[str, Axis | str, Axis | str]:
    """What figures that belong together have in common."""
    if isinstance(figure, Heatmap):
        return figure.slug, figure.x_title, figure.y_title
    return figure.slug, figure.x, figure.y


def _one_group(group: list[tuple[str, Figure]], several: bool) -> list[Figure]:
    charts = [(host, figure) for host, figure in group if not isinstance(figure, Heatmap)]
    alone = not several or len(group) == 1 or len(charts) < len(group)
    if alone or not _fit_together([figure for _, figure in charts]):
        return [_owned(figure, host, several) for host, figure in group]
    return [_joined(charts)]


def _fit_together(charts: list[Chart]) -> bool:
    stacked = isinstance(charts[0], Bars) and charts[0].stacked
    return not stacked and sum(len(figure.series) for figure in charts) <= _MOST_SERIES


def _joined(charts: list[tuple[str, Chart]]) -> Chart:
    first = charts[0][1]
    series = tuple(_named(item, host, len(figure.series)) for host, figure in charts for item in figure.series)
    if isinstance(first, Bars):
        return replace(first, series=series)
    markers = tuple(
        replace(marker, label=f"{marker.label} {host}")
        for host, figure in charts
        if isinstance(figure, Line)
        for marker in figure.markers
        if marker.kind == "bound"
    )
    return replace(first, series=series, markers=markers if len(charts) <= 2 else ())


def _owned(figure: Figure, host: str, several: bool) -> Figure:
    """`figure` with its host in every series; among several hosts also in its title and slug."""
    if isinstance(figure, Heatmap):
        owned: Figure = replace(figure, host=host)
    else:
        owned = replace(figure, series=tuple(replace(item, host=host) for item in figure.series))
    return replace(owned, title=f"{figure.title}, {host}", slug=f"{figure.slug}-{slug(host)}") if several else owned


def _named(series: Series, host: str, among: int) -> Series:
    name = host if among == 1 else f"{host}, {series.name}"
    return replace(series, name=name, host=host)


def figure_grid(figure: Figure) -> TextTable | None:
    """The values of a figure as a table: one row per x and one column per series, or rows and columns of a heat map.

    None for a heat map with more cells than anyone reads.
    """
    if isinstance(figure, Heatmap):
        return _heat_grid(figure) if len(figure.rows) * len(figure.columns) <= _MOST_CELLS else None
    columns: list[dict[Scalar, float | None]] = [
        dict(zip(series.x, series.y, strict=False)) for series in figure.series
    ]
    xs: list[Scalar] = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if xs and all(isinstance(x, int | float) for x in xs):
        xs.sort(key=float)
    heads = (ColumnHead(figure.x.title), *(ColumnHead(series.name, "right") for series in figure.series))
    rows = tuple((_x_cell(x, figure.x), *(_y_cell(column.get(x), figure.y.unit) for column in columns)) for x in xs)
    return TextTable(f"{slug(figure.slug)}-data", f"{figure.title}: {figure.y.title}", heads, rows)


def _heat_grid(figure: Heatmap) -> TextTable:
    corner = f"{figure.y_title} \N{RIGHTWARDS ARROW} {figure.x_title}"
    heads = (ColumnHead(corner), *(ColumnHead(name, "right") for name in figure.columns))
    rows = tuple(
        (TableCell(name, name), *(_y_cell(value, figure.unit) for value in row))
        for name, row in zip(figure.rows, figure.values, strict=True)
    )
    return TextTable(f"{slug(figure.slug)}-data", figure.title, heads, rows)


def _x_cell(x: Scalar, axis: Axis) -> TableCell:
    if isinstance(x, bool) or not isinstance(x, int | float):
        return TableCell(shown(x), shown(x))
    if axis.unit == "B":
        return TableCell(size_text(x), float(x))
    return _y_cell(float(x), axis.unit) if axis.unit else TableCell(f"{x:.6g}", float(x))


def _y_cell(y: float | None, unit: str) -> TableCell:
    if y is None:
        return TableCell(ABSENT, tone="muted")
    try:
        return TableCell(format_quantity(y, unit or "1", 4), y)
    except KeyError:  # a unit of a benchmark from elsewhere
        return TableCell(f"{y:.4g} {unit}", y)
