"""Rated values (`reference:` in a plan), which reports compare with measured values, but which do not affect
verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asct.analysis.combined import is_stacked
from asct.analysis.expectations import selects
from asct.analysis.grid import ColumnHead, TableCell, TextTable, coordinates_text, plain, quantity_cell, with_columns
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.view import RunView, sizes_of
from asct.planner.model import Check
from asct.sdk.figure import Chart, Figure, Heatmap, Rated
from asct.values.quantity import format_quantity
from asct.values.text import listed

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class RatedValue:
    """A measured value and its reference, both in the base unit of the metric."""

    place: MetricGroup
    reference: float
    at: str
    """The coordinates of the value as text."""
    selected: str
    """The coordinates that the plan specifies, as text."""

    @property
    def rated(self) -> Rated:
        """The reference as a line for a figure."""
        text = f"reference {format_quantity(self.reference, self.place.record.unit, _DIGITS)}"
        return Rated(self.reference, f"{text} at {self.selected}" if self.selected else text)


def rated_values(view: RunView) -> list[RatedValue]:
    """Return the measured values for which the plan contains a reference, in the order of the plan."""
    checks = list(_checks(view.resolved.get("checks")))
    if not checks:  # return early, because grouping thousands of values takes seconds
        return []
    groups = [(job, group) for job in view.jobs for group in gather(job.records, job.disagreements)]
    return [
        RatedValue(
            group, check.reference, *(coordinates_text(at, sizes_of(job.benchmark)) for at in (group.at, check.at))
        )
        for check in checks
        for job, group in groups
        if check.reference and selects(check, group)
    ]


def _checks(items: Any) -> Iterator[Check]:
    """Yield the expectations with a reference. Damaged expectations are skipped."""
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("reference"), int | float):
            names = ("job_id", "metric", "at", "hosts", "reference")
            if all(name in item for name in names):
                yield Check(**{name: item[name] for name in names})


def reference_grid(found: Sequence[RatedValue]) -> TextTable | None:
    """Return a table of the values with their references, or None if there are none."""
    if not found:
        return None
    titles = ("Metric", "At", "Host", "Measured", "Reference", "Share")
    heads = tuple(ColumnHead(title, "right" if number > 2 else "left") for number, title in enumerate(titles))
    several = len({item.place.host for item in found}) > 1
    grid = TextTable(
        "references", "References", heads, tuple(map(_row, found)), ("Reference values do not affect verdicts.",)
    )
    return grid if several else with_columns(grid, (0, 1, 3, 4, 5))


def _row(item: RatedValue) -> tuple[TableCell, ...]:
    place, name = item.place, f"{item.place.id}.{item.place.metric}"
    share = place.value / item.reference
    note = f"the value is flagged {listed(place.doubts)}" if place.doubts else ""
    return (
        TableCell(plain(name), name),
        TableCell(item.at, item.at),
        TableCell(plain(place.host), place.host),
        replace(quantity_cell(place.value, place.record.unit), tone="doubt" if note else "", note=note),
        quantity_cell(item.reference, place.record.unit),
        TableCell(f"{100 * share:.1f} %", share),
    )


def with_references(figures: Iterable[Figure], found: Sequence[RatedValue]) -> list[Figure]:
    """Return the figures of one benchmark entry, with a line added for each reference.

    A reference is drawn in the charts that contain its measured value. If no chart contains it, for example because the
    value is the mean of a level, the reference is drawn in all charts with the same unit and direction.
    """
    figures = list(figures)
    charts = {at: one for at, one in enumerate(figures) if not isinstance(one, Heatmap) and not is_stacked(one)}
    lines: dict[int, list[Rated]] = {at: [] for at in charts}
    for item in found:
        kind = item.place.record.unit, item.place.record.better
        fitting = [at for at, chart in charts.items() if (chart.y.unit, chart.y.better) == kind]
        containing = [at for at in fitting if _contains(charts[at], item.place.value)]
        for at in containing or fitting:
            lines[at].append(item.rated)
    for at, chart in charts.items():
        figures[at] = replace(chart, rated=tuple(dict.fromkeys((*chart.rated, *lines[at])))) if lines[at] else chart
    return figures


def _contains(chart: Chart, value: float) -> bool:
    return any(y is not None and math.isclose(y, value) for series in chart.series for y in series.y)
