"""A table and a figure that show the averages of several qualification points, usually several drives, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.rows import MOST_PANELS, MOST_SERIES, capped
from asct.instruments.qualification.figures import TITLES, better, mix_series, mixes_of, over_window
from asct.instruments.qualification.settings import size_name
from asct.instruments.qualification.tables import MATRICES, UNITS, QualificationView, WorkloadKey, views
from asct.sdk.figure import Axis, Column, Figure, Line, Table
from asct.sdk.record import Record
from asct.sdk.rows import Row

_SIDE_BY_SIDE: Final = "side by side"


def compared_tables(records: Sequence[Record], slug: str, metrics: Sequence[str]) -> list[Table]:
    """Return a table for each metric, with a row for each workload and a column for each point. The result is empty if
    there is only one point."""
    points = views(records)
    return [_table(points, slug, metric) for metric in metrics if _several(points, metric)]


def compared_figures(records: Sequence[Record], metrics: Sequence[str]) -> list[Figure]:
    """Return a figure for each metric, plotted against the block size, with a line for each mix and point. The result
    is empty if there is only one point."""
    points = views(records)
    return [_figure(points, metric) for metric in metrics if _several(points, metric)]


def _several(points: Sequence[QualificationView], metric: str) -> bool:
    return sum(1 for view in points if view.cells(metric)) > 1


def _workloads(points: Sequence[QualificationView], metric: str) -> list[WorkloadKey]:
    """Return all workloads, ordered by mix and, within a mix, from large to small requests."""
    found = dict.fromkeys(key for view in points for key in view.cells(metric))
    reads = list(dict.fromkeys(mix for _, mix in found))
    return sorted(found, key=lambda key: (reads.index(key[1]), -key[0]))


def _table(points: Sequence[QualificationView], slug: str, metric: str) -> Table:
    title, scale, digits = MATRICES[metric]
    names = {f"p{number}": view for number, view in enumerate(points)}
    cells = {name: view.cells(metric) for name, view in names.items()}
    columns = (
        Column("block_size", "Block Size", format="text"),
        Column("mix", "R/W Mix %", format="text"),
        *(Column(name, view.label, scale, digits, kept=True) for name, view in names.items()),
    )
    rows: list[Row] = [
        {"block_size": size_name(size), "mix": f"{reads}/{100 - reads}"}
        | {name: values.get((size, reads)) for name, values in cells.items()}
        for size, reads in _workloads(points, metric)
    ]
    flags = tuple(dict.fromkeys(flag for view in points for flag in view.flags(metric)))
    name = f"{slug}-{metric}-compared".replace("_", "-")
    return Table(name, f"{title}, {_SIDE_BY_SIDE}", columns, tuple(rows), flags=flags)


def _figure(points: Sequence[QualificationView], metric: str) -> Figure:
    mixes = {reads: name for view in points for reads, name in mixes_of(view).items()}
    reads, mix_note = capped(list(mixes), MOST_PANELS, "mixes")
    chosen, point_note = capped(list(points), MOST_SERIES, "points")
    series = [mix_series(f"{mixes[share]}, {view.label}", view, metric, share) for share in reads for view in chosen]
    return Line(
        f"compared-{metric.replace('_', '-')}",
        f"{TITLES[metric]}, {_SIDE_BY_SIDE}",
        f"{over_window(metric)}, for each mix of reads and writes (given as percentages).{mix_note}{point_note}",
        Axis("Block size", "B", "log2"), Axis(TITLES[metric], UNITS[metric], "log10", better=better(metric)),
        tuple(line for line in series if line.x),
    )  # fmt: skip
