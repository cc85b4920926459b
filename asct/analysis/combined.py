"""Combine the figures of one benchmark entry across hosts, and convert figures to tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from asct.analysis.grid import NO_VALUE, ColumnHead, TableCell, TextTable, as_text, size_cell, slug
from asct.sdk.figure import Axis, Band, Bars, Chart, Figure, Heatmap, Line, Marker, Rated
from asct.sdk.record import Scalar
from asct.values.grouping import grouped, shortened, split

_MOST_SERIES = 256
"""Maximum number of series in a combined figure, which is drawn as panels of at most eight series each. If there are
more, each host gets its own figure."""
_CLOSE = 0.25
"""Maximum difference, relative to the lowest position, at which the positions found on several hosts are shown as one
marker."""
_MOST_NAMED = 6
"""Maximum number of hosts named in the label of a line or band."""
_MOST_CELLS = 4096
"""Maximum number of cells for which a figure is also shown as a table."""
_MOST_IN_ALL = 40_000
"""Maximum total number of table cells for all figures in a report. A figure whose table would bring the total above
this number is shown without a table."""

ValueText = Callable[[float, str, str], str]
"""Formats a value, given its unit and the title of its axis, as the axis shows it. Values of matrices have no title."""


def combined_figures(by_host: Mapping[str, tuple[Figure, ...]]) -> list[Figure]:
    """Return the figures of all hosts in order. Figures with the same slug and axes are combined into one.

    Every series is named after its host. Heat maps remain separate for each host.
    """
    figures = ((host, figure) for host, items in by_host.items() for figure in items)
    groups = grouped(figures, lambda item: figure_key(item[1])).values()
    return [figure for group in groups for figure in combined(group, len(by_host) > 1)]


def figure_key(figure: Figure) -> tuple[str, str, Axis | str, Axis | str]:
    """Return a key that is the same for figures that can be combined. The title of stacked bars is part of the key,
    because it states which CPUs they show."""
    if isinstance(figure, Heatmap):
        return figure.slug, "", figure.x_title, figure.y_title
    return figure.slug, figure.title if is_stacked(figure) else "", figure.x, figure.y


def is_stacked(figure: Figure) -> bool:
    """Return whether a figure consists of stacked bars."""
    return isinstance(figure, Bars) and figure.stacked


def combined(group: Sequence[tuple[str, Figure]], several: bool) -> list[Figure]:
    """Return the figures of a group, combined into one figure if possible. `group` pairs each figure with its host, and
    `several` states whether the run has several hosts."""
    charts = [(host, figure) for host, figure in group if not isinstance(figure, Heatmap)]
    few = sum(len(figure.series) for _, figure in charts) <= _MOST_SERIES
    if several and 1 < len(group) == len(charts) and few and share_categories(chart for _, chart in charts):
        return [_joined(charts)]
    return [_owned(figure, host, several) for host, figure in group]


def share_categories(charts: Iterable[Chart]) -> bool:
    """Return whether charts can share an x axis: its values are numbers, or each chart has at least half of its
    categories in common with the chart that has the most.

    The ranges of a histogram, for example, depend on the values of its host.
    """
    found = [{x for item in chart.series for x in item.x} for chart in charts]
    if not all(isinstance(x, str) for own in found for x in own):
        return True
    most = max(found, key=len, default=set())
    return all(2 * len(own & most) >= len(own) for own in found)


def _joined(charts: list[tuple[str, Chart]]) -> Chart:
    first = charts[0][1]
    series = tuple(
        replace(item, name=host if len(figure.series) == 1 else f"{host}, {item.name}", host=host)
        for host, figure in charts
        for item in figure.series
    )
    rated = rated_of(charts)
    if isinstance(first, Bars):
        return replace(first, series=series, rated=rated)
    return replace(first, series=series, markers=markers_of(charts), rated=rated, bands=bands_of(charts))


def markers_of(charts: Sequence[tuple[str, Chart]]) -> tuple[Marker, ...]:
    """Return markers that represent all hosts: for each name, the marker from the host with the median position.

    If the positions on the hosts differ by more than `_CLOSE`, each group of positions that are close together gets its
    own marker, which states the number of hosts in the group. Positions found on fewer than half of the hosts get no
    marker. If hosts have several markers with the same name, the first markers of all hosts belong together, as do the
    second ones, and so on.
    """
    same: dict[tuple[str, str, int], list[Marker]] = {}
    for _, figure in charts:
        groups = grouped(figure.markers if isinstance(figure, Line) else (), lambda marker: (marker.name, marker.kind))
        for (name, kind), markers in groups.items():
            for occurrence, marker in enumerate(markers):
                same.setdefault((name, kind, occurrence), []).append(marker)
    found = []
    for markers in same.values():
        in_order = sorted(markers, key=lambda marker: marker.x)
        for part in split(in_order, lambda near, marker: marker.x <= (1 + _CLOSE) * near[0].x):
            if 2 * len(part) < len(charts):
                continue
            middle = part[(len(part) - 1) // 2]
            hosts = "" if len(part) == len(charts) else f" on {len(part)} of {len(charts)} hosts"
            found.append(replace(middle, value=f"{middle.value}{hosts}".strip()))
    return tuple(found)


def rated_of(charts: Sequence[tuple[str, Chart]]) -> tuple[Rated, ...]:
    """Return the rated values of all hosts. Hosts with identical values share one set of lines."""
    by_value = grouped(((line, host) for host, figure in charts for line in figure.rated), lambda pair: pair[0])
    shared = all(len(pairs) == len(charts) for pairs in by_value.values())
    return tuple(
        line if shared else replace(line, label=f"{line.label} {shortened([host for _, host in pairs], _MOST_NAMED)}")
        for line, pairs in by_value.items()
    )


def bands_of(charts: Sequence[tuple[str, Chart]], least: float = 0.0) -> tuple[Band, ...]:
    """Return the bands that at least the fraction `least` of the hosts share. The label of a band that is as high as
    the figure names its hosts unless all hosts share the band."""
    by_band = grouped(
        ((band, host) for host, figure in charts if isinstance(figure, Line) for band in figure.bands),
        lambda pair: pair[0],
    )
    return tuple(
        band
        if band.low is not None or len(pairs) == len(charts)
        else replace(band, label=f"{band.label} of {shortened([host for _, host in pairs], _MOST_NAMED)}")
        for band, pairs in by_band.items()
        if len(pairs) >= least * len(charts)
    )


def _owned(figure: Figure, host: str, several: bool) -> Figure:
    """Add the name of the host to every series of `figure` and, if there are several hosts, to its title and slug."""
    if isinstance(figure, Heatmap):
        result: Figure = replace(figure, host=host)
    else:
        result = replace(figure, series=tuple(replace(item, host=host) for item in figure.series))
    return replace(result, title=f"{figure.title}, {host}", slug=f"{figure.slug}-{slug(host)}") if several else result


def figure_grid(figure: Figure, text: ValueText) -> TextTable | None:
    """Return the values of a figure as a table, in the units of its axes.

    A heat map becomes a table with the same cells. A chart becomes a table with one row per x value and one column per
    series or, for curves plotted against load, one row per data point.

    Returns None for a figure that has too many cells to be readable.
    """
    if isinstance(figure, Heatmap):
        return _heat_grid(figure, text) if len(figure.rows) * len(figure.columns) <= _MOST_CELLS else None
    if any(series.labels for series in figure.series):
        marks = sum(len(series.x) for series in figure.series)
        return _mark_grid(figure, text) if 4 * marks <= _MOST_CELLS else None
    columns: list[dict[Scalar, float | None]] = [
        dict(zip(series.x, series.y, strict=False)) for series in figure.series
    ]
    xs: list[Scalar] = list(dict.fromkeys(x for series in figure.series for x in series.x))
    if xs and all(isinstance(x, int | float) for x in xs):
        xs.sort(key=float)
    if len(xs) * len(columns) > _MOST_CELLS:
        return None
    heads = (ColumnHead(figure.x.title), *(ColumnHead(series.name, "right") for series in figure.series))
    rows = tuple(
        (_x_cell(x, figure.x, text), *(_y_cell(column.get(x), figure.y, text) for column in columns)) for x in xs
    )
    return TextTable(f"{slug(figure.slug)}-data", f"{figure.title}: {figure.y.title}", heads, rows)


def figure_grids(sections: Iterable[tuple[Iterable[Figure], ValueText]]) -> dict[str, TextTable]:
    """Return the tables of figures, keyed by slug, omitting tables that would make the page too large."""
    found: dict[str, TextTable] = {}
    left = _MOST_IN_ALL
    for figure, text in ((figure, text) for figures, text in sections for figure in figures):
        grid = figure_grid(figure, text)
        size = 0 if grid is None else len(grid.heads) * len(grid.rows)
        if grid is not None and size <= left:
            found[figure.slug] = grid
            left -= size
    return found


def _mark_grid(figure: Chart, text: ValueText) -> TextTable:
    """Return a table with one row for each data point on curves plotted against load. One row per x value would be
    unsuitable, because few data points share an x value."""
    axes = (ColumnHead(axis.title, "right") for axis in (figure.x, figure.y))
    rows = tuple(
        (
            TableCell(series.name, series.name),
            TableCell(label, float(number)),
            _x_cell(x, figure.x, text),
            _y_cell(y, figure.y, text),
        )
        for series in figure.series
        for number, (x, y, label) in enumerate(
            zip(series.x, series.y, series.labels or ("",) * len(series.x), strict=True)
        )
    )
    heads = (ColumnHead("Line"), ColumnHead("Mark", "right"), *axes)
    return TextTable(f"{slug(figure.slug)}-data", f"{figure.title}: {figure.y.title}", heads, rows)


def _heat_grid(figure: Heatmap, text: ValueText) -> TextTable:
    corner = f"{figure.y_title} \N{RIGHTWARDS ARROW} {figure.x_title}"
    heads = (ColumnHead(corner), *(ColumnHead(name, "right") for name in figure.columns))
    rows = tuple(
        (TableCell(name, name), *(_y_cell(value, Axis("", figure.unit), text) for value in row))
        for name, row in zip(figure.rows, figure.values, strict=True)
    )
    return TextTable(f"{slug(figure.slug)}-data", figure.title, heads, rows)


def _x_cell(x: Scalar, axis: Axis, text: ValueText) -> TableCell:
    if isinstance(x, bool) or not isinstance(x, int | float):
        return TableCell(as_text(x), as_text(x))
    if axis.unit == "B":
        return size_cell(x)
    return _y_cell(float(x), axis, text) if axis.unit else TableCell(f"{x:.6g}", float(x))


def _y_cell(y: float | None, axis: Axis, text: ValueText) -> TableCell:
    return NO_VALUE if y is None else TableCell(text(y, axis.unit, axis.title), y)
