"""Show sweeps as lines of text with one character per value, such as `▁▂▅█ 1.18 ns to 98.1 ns`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from asct.analysis.grid import plain, size_text
from asct.sdk.figure import Figure, Line, Series
from asct.values.quantity import format_quantity

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_GAP: Final = " "
_MOST: Final = 32
"""Maximum number of characters in a sparkline. If there are more values, each character stands for the median of
several neighboring values."""
_FEWEST: Final = 3
"""Minimum number of values that a series needs for a sparkline."""
_QUANTITIES: Final = ("s", "B/s", "ops/s", "cycles", "B/cycle")
"""Units whose values are shown. Percentages and counts are shown only in tables."""


@dataclass(frozen=True, slots=True)
class SweepText:
    """The text form of a figure whose x axis is a setting or a size. Each row contains the name, the sparkline and the
    range of a series."""

    title: str
    rows: tuple[tuple[str, str, str], ...]


def sweeps(figures: Iterable[Figure], most: int) -> Iterator[SweepText]:
    """Yield the figures that show how a value depends on a setting or a size, with at most `most` series each."""
    for figure in figures:
        if not isinstance(figure, Line) or figure.x.unit not in ("", "B") or figure.y.unit not in _QUANTITIES:
            continue
        series = [one for one in figure.series if _is_sweep(one)]
        if 0 < len(series) <= most:
            ends = _ends(series, figure.x.unit)
            name = figure.x.title.partition(" (")[0]
            axis = "" if name.lower() in figure.title.lower() else f"{name} "
            title = f"{figure.title}, {axis}{ends}" if ends else figure.title
            rows = (_row(one, figure) for one in series)
            yield SweepText(plain(title), tuple(rows))


def _is_sweep(series: Series) -> bool:
    numbers = [x for x in series.x if isinstance(x, int | float) and not isinstance(x, bool)]
    known = sum(value is not None for value in series.y)
    return len(numbers) == len(series.x) and numbers == sorted(set(numbers)) and known >= _FEWEST


def _ends(lines: Sequence[Series], unit: str) -> str:
    """Return the range of x as text if it is the same for all series, so that their characters are comparable."""
    if len({one.x for one in lines}) > 1:
        return ""
    low, high = (size_text(float(x), exact=False) if unit == "B" else f"{x:g}" for x in (lines[0].x[0], lines[0].x[-1]))
    return f"{low} to {high}"


def _row(series: Series, figure: Line) -> tuple[str, str, str]:
    known = [value for value in series.y if value is not None]
    low, high = (format_quantity(end, figure.y.unit) for end in (min(known), max(known)))
    line = sparkline(series.y, logarithmic=figure.y.logarithmic)
    return plain(series.name), line, low if low == high else f"{low} to {high}"


def sparkline(
    values: Sequence[float | None],
    *,
    logarithmic: bool = False,
    ends: tuple[float, float] | None = None,
    most: int = _MOST,
) -> str:
    """Return one character per value, on a scale from the lowest value to the highest (or between `ends`), and a space
    where nothing was measured. If there are more than `most` values, each character stands for the median of several
    neighboring values."""
    merged = _merged([_scaled(value, logarithmic) for value in values], most)
    known = [value for value in merged if value is not None]
    if not known:
        return _GAP * len(merged)
    low, high = ends or (min(known), max(known))
    steps = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    middle = 0 if high > low else len(_BLOCKS) // 2
    return "".join(_GAP if value is None else _BLOCKS[middle + round((value - low) * steps)] for value in merged)


def _scaled(value: float | None, logarithmic: bool) -> float | None:
    if value is None or not math.isfinite(value) or (logarithmic and value <= 0):
        return None
    return math.log(value) if logarithmic else value


def _merged(values: Sequence[float | None], most: int) -> list[float | None]:
    if len(values) <= most:
        return list(values)
    ends = [number * len(values) // most for number in range(most + 1)]
    parts = [[value for value in values[start:end] if value is not None] for start, end in pairwise(ends)]
    return [median(part) if part else None for part in parts]
