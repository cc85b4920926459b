"""Operating points: how much load a drive should be given, read off the curve of its rate over load.

Over the depth or the number of jobs the rate is that of requests, over the size of requests it is that of bytes. All
points are measured ones, none is interpolated; which one it is in each repeat makes the interval. Points that cannot
be trusted take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.rows import Row
from asct.instruments.fio.views import LOADS
from asct.statistics.knee import knee_index

BOUNDS_S: Final = (200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3)
"""Bounds of the 99th percentile when the setting `latency_bound` gives none."""
BOUND_METRIC: Final = "latency_bound"
MOST_SHARES: Final = {"90 % of the most": 0.90, "saturation (98 % of the most)": 0.98}
LEAST_POINTS: Final = 3
_STILL_RISING: Final = 1.05


@dataclass(frozen=True, slots=True)
class Operating:
    """A named point on a curve: its row, its share of the highest rate, and the first and last value of the axis among
    those that single repeats have there."""

    name: str
    row: Row
    share: float
    low: float
    high: float


Choice = Callable[[Sequence[Row], int | None], Row | None]
"""Picks a row by the medians over the repeats, or by one repeat."""


def objective(over: str) -> str:
    """The rate that is to be high."""
    return "iops" if over in LOADS else "bandwidth"


def operating_points(rows: Sequence[Row], over: str) -> list[Operating]:
    """The points of one curve, whose rows stand in the order of the numbers on the axis `over`; doubtful rows are left
    out, and fewer than three others have none."""
    metric = objective(over)
    usable = [row for row in rows if not row.doubtful and row.value(metric)]
    if len(usable) < LEAST_POINTS:
        return []
    choices: dict[str, Choice] = {name: _reaching(metric, share) for name, share in MOST_SHARES.items()}
    if over in LOADS:
        choices["knee (rate / latency greatest)"] = _knee
        choices |= _bounded(usable, metric)
    most = max(row.value(metric) or 0.0 for row in usable)
    found = []
    for name, choice in choices.items():
        row = choice(usable, None)
        if row is not None:
            low, high = _ends(usable, over, choice, row)
            found.append(Operating(name, row, (row.value(metric) or 0.0) / most, low, high))
    return found


def still_rising(rows: Sequence[Row], over: str) -> bool:
    """Whether the last point of a curve is 5 % above all before: the most lies beyond it."""
    values = [row.value(objective(over)) or 0.0 for row in rows]
    return len(values) >= LEAST_POINTS and values[-1] > _STILL_RISING * max(values[:-1])


def _ends(rows: Sequence[Row], over: str, choice: Choice, row: Row) -> tuple[float, float]:
    repeats = set.intersection(*(set(row.repeats) for row in rows))
    picked = [choice(rows, repeat) for repeat in sorted(repeats)] or [row]
    values = [_number(one, over) for one in (row, *picked) if one is not None]
    return min(values), max(values)


def _number(row: Row, over: str) -> float:
    value = row.setting(over)
    return float(value) if isinstance(value, int | float) else 0.0


def _reaching(metric: str, share: float) -> Choice:
    """The first row that has `share` of the most."""

    def choose(rows: Sequence[Row], repeat: int | None) -> Row | None:
        values = [row.value(metric, repeat) or 0.0 for row in rows]
        return next(row for row, value in zip(rows, values, strict=True) if value >= share * max(values))

    return choose


def _knee(rows: Sequence[Row], repeat: int | None) -> Row | None:
    points = [(row.value("iops", repeat), row.value("lat_mean", repeat)) for row in rows]
    known = [(rate, latency) for rate, latency in points if rate is not None and latency]
    index = knee_index(known) if len(known) == len(rows) else None
    return None if index is None else rows[index]


def _bounded(rows: Sequence[Row], metric: str) -> dict[str, Choice]:
    """The most under each bound of the 99th percentile; a bound that changes nothing is left out."""
    given = [value for row in rows if (value := row.value(BOUND_METRIC)) is not None]
    found: dict[str, Choice] = {}
    seen: list[Row] = []
    for bound in given[:1] or BOUNDS_S:
        choice = _under(metric, bound)
        row = choice(rows, None)
        if row is not None and not any(row is one for one in seen):
            seen.append(row)
            found[f"p99 within {_time(bound)}"] = choice
    return found


def _under(metric: str, bound: float) -> Choice:
    def choose(rows: Sequence[Row], repeat: int | None) -> Row | None:
        kept = []
        for row in rows:
            tail, value = row.value("lat_p99", repeat), row.value(metric, repeat)
            if tail is not None and value is not None and tail <= bound:
                kept.append((value, row))
        return max(kept, key=lambda pair: pair[0])[1] if kept else None

    return choose


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:g} us" if seconds < 1e-3 else f"{seconds * 1e3:g} ms"
