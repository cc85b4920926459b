"""Determine from several runs of the same plan how well the intervals of values predict the next run, and print rows of
the table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.bench.table import Goal, note, row


@dataclass(frozen=True)
class Value:
    """One value from one run. `early` is true if too few earlier runs were known for the interval to cover the spread
    between runs."""

    value: float
    ci95: tuple[float, float] | None
    flagged: bool
    early: bool = False


Place = tuple[str, str, str]
"""The title of the row, the metric and the coordinates of a value."""
Runs = Mapping[Place, Sequence[Value]]
"""One value per run, in chronological order, for each row, metric and set of coordinates."""


def report_intervals(runs: Runs) -> None:
    """For each title, report how often the next unflagged value is within the interval, the share of flagged values,
    and the half-width."""
    for name in dict.fromkeys(place[0] for place in runs):
        series = [values for place, values in runs.items() if place[0] == name]
        pairs = [pair for values in series for pair in pairwise(values)]
        _report_inside(name, [pair for pair in pairs if not pair[0].early])
        early = [_holds(now.ci95, later) for now, later in pairs if now.early and now.ci95 is not None]
        if early:
            share = 100 * statistics.fmean(early)
            note(f"{name}: {share:.0f} % of {len(early)} pairs of the first runs, flagged ones included")
        every = [value for values in series for value in values]
        without = sum(value.ci95 is None for value in every)
        if without:
            note(f"{name}: {without} of {len(every)} values have no interval")
        doubted = 100 * statistics.fmean(value.flagged for value in every)
        row(f"  flagged, {name}", "%", doubted, doubted, goal=Goal("at most 20 %", doubted <= 20))
        widths = [ratio for values in series if (ratio := _width(values)) is not None]
        if widths:
            middle = statistics.median(widths)
            row(f"  half-width, {name}", "SD", middle, min(widths), goal=Goal("at most 3 SD", middle <= 3))


def _report_inside(name: str, pairs: Sequence[tuple[Value, Value]]) -> None:
    found = [(_holds(now.ci95, later), now.flagged or later.flagged) for now, later in pairs if now.ci95 is not None]
    sure = [holds for holds, flagged in found if not flagged]
    if sure:
        share = 100 * statistics.fmean(sure)
        row(f"coverage, {name} ({len(sure)} pairs)", "%", share, share, goal=Goal("80 to 95 %", 80 <= share <= 95))
    else:
        note(f"coverage, {name}: no two runs in a row with an interval and without a flag")
    if len(sure) < len(found):
        share = 100 * statistics.fmean(holds for holds, _ in found)
        note(f"{name}: {share:.0f} % of {len(found)} pairs, flagged ones included")


def _holds(ci95: tuple[float, float], later: Value) -> bool:
    return ci95[0] <= later.value <= ci95[1]


def _width(values: Sequence[Value]) -> float | None:
    """Return the median half-width of the intervals, in standard deviations between the runs."""
    halves = [(value.ci95[1] - value.ci95[0]) / 2 for value in values if value.ci95 is not None and not value.early]
    spread = statistics.stdev([value.value for value in values]) if len(values) > 1 else 0.0
    return statistics.median(halves) / spread if halves and spread > 0 else None
