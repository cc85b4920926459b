"""The figures of one benchmark entry on several hosts laid over one another, and figures as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asct.analysis.grid import ABSENT, Cell, Grid, Head, shown, size_text, slug
from asct.sdk.figure import Axis, Bars, Figure, Line, Series
from asct.sdk.record import Scalar
from asct.values.quantity import format_quantity

_MOST_SERIES = 24
"""Above this, figures stay apart: nobody can tell the lines of one figure from another."""


def overlaid(by_host: Mapping[str, tuple[Figure, ...]]) -> list[Figure]:
    """The figures of all hosts, in order; those with the same slug and axes become one with a series per host.

    Every series names its host afterwards. Stacked bars stay one figure per host.
    """
    several = len(by_host) > 1
    groups: dict[tuple[str, Axis, Axis], list[tuple[str, Figure]]] = {}
    for host, figures in by_host.items():
        for figure in figures:
            groups.setdefault((figure.slug, figure.x, figure.y), []).append((host, figure))
    result: list[Figure] = []
    for group in groups.values():
        result.extend(_one_group(group, several))
    return result


def _one_group(group: list[tuple[str, Figure]], several: bool) -> list[Figure]:
    first = group[0][1]
    apart = isinstance(first, Bars) and first.stacked
    if not several or len(group) == 1 or apart or sum(len(figure.series) for _, figure in group) > _MOST_SERIES:
        return [_owned(figure, host, several) for host, figure in group]
    series = tuple(_named(item, host, len(figure.series)) for host, figure in group for item in figure.series)
    if isinstance(first, Line):
        markers = tuple(
            replace(marker, label=f"{marker.label} {host}")
            for host, figure in group
            if isinstance(figure, Line)
            for marker in figure.markers
            if marker.kind == "bound"
        )
        return [replace(first, series=series, markers=markers if len(group) <= 2 else ())]
    return [replace(first, series=series)]


def _owned(figure: Figure, host: str, several: bool) -> Figure:
    series = tuple(replace(item, host=host) for item in figure.series)
    if not several:
        return replace(figure, series=series)
    return replace(figure, series=series, title=f"{figure.title}, {host}", slug=f"{figure.slug}-{slug(host)}")


def _named(series: Series, host: str, among: int) -> Series:
    name = host if among == 1 else f"{host}, {series.name}"
    return replace(series, name=name, host=host)


def figure_grid(figure: Figure) -> Grid:
    """The values of a figure as a table: one row per x, one column per series."""
    columns: list[dict[Scalar, float | None]] = [
        dict(zip(series.x, series.y, strict=False)) for series in figure.series
    ]
    xs: list[Scalar] = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if xs and all(isinstance(x, int | float) for x in xs):
        xs.sort(key=float)
    heads = (Head(figure.x.title), *(Head(series.name, "right") for series in figure.series))
    rows = tuple((_x_cell(x, figure.x), *(_y_cell(column.get(x), figure.y.unit) for column in columns)) for x in xs)
    return Grid(f"{slug(figure.slug)}-data", f"{figure.title}: {figure.y.title}", heads, rows)


def _x_cell(x: Scalar, axis: Axis) -> Cell:
    if isinstance(x, bool) or not isinstance(x, int | float):
        return Cell(shown(x), shown(x))
    return Cell(size_text(x) if axis.unit == "B" else f"{x:.6g}", float(x))


def _y_cell(y: float | None, unit: str) -> Cell:
    if y is None:
        return Cell(ABSENT, tone="muted")
    try:
        return Cell(format_quantity(y, unit or "1", 4), y)
    except KeyError:  # a unit of a benchmark from elsewhere
        return Cell(f"{y:.4g} {unit}", y)
