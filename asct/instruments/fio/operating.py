"""Operating points and limits of a drive, derived from a curve of rate against load.

If the curve is plotted against the queue depth or the number of jobs, the rate is in requests per second. If it is
plotted against the request size, the rate is in bytes per second. Operating points are always measured, never
interpolated; their interval is the range over the repeats. Unreliable points are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.metrics import BOUND_METRIC
from asct.instruments.fio.rows import (
    AXIS_TITLES,
    LOADS,
    SIZES,
    PointRow,
    labeled,
    main_axis,
    settings_text,
    text_of,
    varying,
)
from asct.sdk.figure import Column, Table
from asct.sdk.rows import Row
from asct.statistics.knee import LEVEL, knee_index, spread, top_plateau
from asct.statistics.robust import median
from asct.values.text import counted

BOUNDS_S: Final = (200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3)
"""Bounds on the 99th percentile, in seconds, that are used if `latency_bound` is not set."""
MOST_SHARES: Final = {"90 % of the maximum": 0.90, "saturation (98 % of the maximum)": 0.98}
LEAST_POINTS: Final = 3
_STILL_RISING: Final = 1.05
"""Ratio of the last rate to the highest rate before it. Smaller differences are normal on a shared machine
(LEAST_CHANGE in verdict.py)."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A named point on a curve: its row, its share of the highest rate, and the range of its axis values over the
    repeats."""

    name: str
    row: PointRow
    share: float
    low: float
    high: float


Choice = Callable[[Sequence[PointRow], int | None], PointRow | None]
"""A function that selects a row, based on the medians over the repeats or on one repeat."""


def objective(over: str) -> str:
    """Return the rate metric that the operating points maximize."""
    return "iops" if over in LOADS else "bandwidth"


def operating_points(rows: Sequence[PointRow], over: str) -> list[OperatingPoint]:
    """Return the operating points on a curve whose rows are sorted by the axis `over`, excluding unreliable rows.

    If fewer than three rows remain, there are no operating points.
    """
    metric = objective(over)
    usable = [row for row in rows if not row.doubtful and row.value(metric)]
    if len(usable) < LEAST_POINTS:
        return []
    choices = {name: _reaching(metric, share) for name, share in MOST_SHARES.items()}
    if over in LOADS:
        choices["knee (rate / latency is highest)"] = _knee
        choices |= _bounded(usable, metric)
    most = max(row.value(metric) or 0.0 for row in usable)
    found = []
    for name, choice in choices.items():
        row = choice(usable, None)
        if row is not None:
            low, high = _ends(usable, over, choice, row)
            found.append(OperatingPoint(name, row, (row.value(metric) or 0.0) / most, low, high))
    return found


def still_rising(rows: Sequence[PointRow], over: str) -> bool:
    """Return whether the last point on a curve is at least 5 % above all others, which means that the maximum lies
    beyond the curve."""
    values = [row.value(objective(over)) or 0.0 for row in rows]
    return len(values) >= LEAST_POINTS and values[-1] > _STILL_RISING * max(values[:-1])


def _ends(rows: Sequence[PointRow], over: str, choice: Choice, row: PointRow) -> tuple[float, float]:
    repeats = set.intersection(*(set(row.repeats) for row in rows))
    picked = [choice(rows, repeat) for repeat in sorted(repeats)] or [row]
    settings = [one.setting(over) for one in (row, *picked) if one is not None]
    values = [float(value) if isinstance(value, int | float) else 0.0 for value in settings]
    return min(values), max(values)


def _reaching(metric: str, share: float) -> Choice:
    """Return a function that selects the first row that reaches `share` of the highest value."""

    def choose(rows: Sequence[PointRow], repeat: int | None) -> PointRow | None:
        values = [row.value(metric, repeat) or 0.0 for row in rows]
        return next(row for row, value in zip(rows, values, strict=True) if value >= share * max(values))

    return choose


def _knee(rows: Sequence[PointRow], repeat: int | None) -> PointRow | None:
    points = [(row.value("iops", repeat), row.value("lat_mean", repeat)) for row in rows]
    known = [(rate, latency) for rate, latency in points if rate is not None and latency]
    index = knee_index(known) if len(known) == len(rows) else None
    return None if index is None else rows[index]


def _bounded(rows: Sequence[PointRow], metric: str) -> dict[str, Choice]:
    """Return functions that select the highest rate within each bound on the 99th percentile, skipping bounds that
    select the same row."""
    bounds = [value for row in rows if (value := row.value(BOUND_METRIC)) is not None]
    found: dict[int, tuple[str, Choice]] = {}
    for bound in bounds[:1] or BOUNDS_S:
        choice = _under(metric, bound)
        row = choice(rows, None)
        text = f"{bound * 1e6:g} us" if bound < 1e-3 else f"{bound * 1e3:g} ms"
        if row is not None:
            found.setdefault(id(row), (f"p99 within {text}", choice))
    return dict(found.values())


def _under(metric: str, bound: float) -> Choice:
    def choose(rows: Sequence[PointRow], repeat: int | None) -> PointRow | None:
        within_bound = []
        for row in rows:
            tail, value = row.value("lat_p99", repeat), row.value(metric, repeat)
            if tail is not None and value is not None and tail <= bound:
                within_bound.append((value, row))
        return max(within_bound, key=lambda pair: pair[0])[1] if within_bound else None

    return choose


_CURVES: Final = (*LOADS, "block_size")
"""Settings against which the curves with operating points are plotted."""


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """Rows that differ only in the setting `over`, in ascending order of its values. `label` describes the other swept
    settings.
    """

    over: str
    label: str
    rows: tuple[PointRow, ...]


def curves(rows: Sequence[PointRow], names: Sequence[str], axis: str | None) -> list[LoadCurve]:
    """Return the curves plotted against the benchmark's axis or, if it has none, against load (depth, jobs) or request
    size."""
    vary = varying(rows, names)
    over = main_axis(rows, names, axis)
    if axis is None and over not in LOADS:
        over = next((name for name in _CURVES if name in vary), over)
    if over not in _CURVES:
        return []
    others = [name for name in vary if name != over]
    return [LoadCurve(over, settings_text(part[0], others), tuple(part)) for part in labeled(rows, others).values()]


def operating_table(rows: Sequence[PointRow], names: Sequence[str], slug: str, axis: str | None) -> tuple[Table, ...]:
    """Return a table with one row per operating point of each curve, or an empty tuple if there are none."""
    found = curves(rows, names, axis)
    points = [(curve, operating_points(curve.rows, curve.over)) for curve in found]
    cells = tuple(_cells(curve, point) for curve, part in points for point in part)
    if not cells:
        return ()
    over = found[0].over
    columns = (
        *((Column("curve", "Curve", format="text"),) if len(found) > 1 else ()),
        Column("operating", "Operating point", format="text"),
        Column(over, AXIS_TITLES[over], format="size" if over in SIZES else "integer"),
        Column("repeats", "Over repeats", format="text", help="range of this point over the individual repeats"),
        Column("share", "Share of peak (%)", 0.01),
        Column("iops", "Thruput (kops)", 1e3),
        Column("bandwidth", "BW (MB/s)", 1e6),
        Column("lat_mean", "Mean latency (us)", 1e-6),
        Column("lat_p99", "p99 (us)", 1e-6),
        Column("iops_per_core", "Per core (kops)", 1e3),
    )
    return (Table(f"{slug}-operating-points", "Operating points", columns, cells, tuple(_notes(found, over))),)


def _cells(curve: LoadCurve, point: OperatingPoint) -> Row:
    low, high = (text_of(curve.over, int(end)) for end in (point.low, point.high))
    several = len(point.row.repeats) > 1
    return {
        "curve": curve.label or None,
        "operating": point.name,
        curve.over: point.row.setting(curve.over),
        "repeats": (low if low == high else f"{low} to {high}") if several else None,
        "share": point.share,
        **{metric: point.row.value(metric) for metric in ("iops", "bandwidth", "lat_mean", "lat_p99", "iops_per_core")},
    }


def _notes(found: Sequence[LoadCurve], over: str) -> list[str]:
    rate = "requests" if objective(over) == "iops" else "bytes"
    notes = [
        f"Each row is a measured point, selected by its number of {rate} per second; latencies are total latencies"
    ]
    dropped = sum(row.doubtful for curve in found for row in curve.rows)
    if dropped:
        excluded = counted(dropped, "unreliable point is", "unreliable points are")
        notes.append(f"{excluded} excluded (flags noisy, invalid)")
    for curve in found:
        usable = [row for row in curve.rows if not row.doubtful]
        if still_rising(usable, over) and usable[-1] is curve.rows[-1]:
            start, last = (f"{curve.label}: the" if curve.label else "The"), text_of(over, usable[-1].setting(over))
            notes.append(f"{start} rate is still rising at {over} {last}: extend the sweep to larger values")
    return notes


# A drive saturates gradually, and at different rates for different request sizes. In contrast, a provisioned limit is
# exactly constant: the same requests per second for several sizes, or with more requests in flight. If the number of
# bytes per second is constant from some size onward, that is also a limit, imposed by the volume, the link, or the
# drive.
LEAST_RANGE: Final = 4.0
"""A plateau must span at least this ratio between the last and the first value of the axis."""
_LEAST_BYTES_POINTS: Final = 2
"""Minimum number of points with equal bytes per second. This number is low because a sweep has few large sizes."""
_BUSY: Final = 0.6
"""A job that uses more than this share of a CPU's time is considered to be limited by the host."""
_FOLLOWS: Final = 0.1
"""Largest relative difference at which the number of requests in flight is considered equal to the requested number."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A plateau: `rows` with nearly equal values of `metric` (`iops` or `bandwidth`). `spread` is the relative range of
    these values.
    """

    metric: str
    value: float
    rows: tuple[PointRow, ...]
    spread: float


def limits(rows: Sequence[PointRow], over: str) -> list[Limit]:
    """Return the limits of a curve whose rows are sorted by the axis `over`, starting with the limit on requests per
    second.

    A plateau that contains a point limited by the host is ignored, because it does not describe the volume.
    """
    found = [_limit(rows, over, "iops", LEAST_POINTS, LEAST_RANGE)]
    if over == "block_size":
        found.append(_limit(rows, over, "bandwidth", _LEAST_BYTES_POINTS, 1.0))
    return [limit for limit in found if limit is not None]


def _limit(rows: Sequence[PointRow], over: str, metric: str, least: int, reach: float) -> Limit | None:
    values = [row.value(metric) or 0.0 for row in rows]
    part = top_plateau(values, LEVEL + max((_edges(row) for row in rows), default=0.0))
    level = [rows[index] for index in part]
    ends = [row.setting(over) for row in (level[:1] + level[-1:])]
    numbers = [float(end) for end in ends if isinstance(end, int | float)]
    if len(level) < least or len(numbers) < 2 or numbers[1] < reach * numbers[0]:
        return None
    if any(_host_bound(row) for row in level):
        return None
    chosen = [values[index] for index in part]
    return Limit(metric, median(chosen), tuple(level), spread(chosen))


def _edges(row: PointRow) -> float:
    """Return the relative error in a rate caused by requests in flight at the start or the end of the run."""
    ios = row.value("ios")
    return (row.value("in_flight") or 0.0) / ios if ios else 0.0


def _host_bound(row: PointRow) -> bool:
    """Return whether each job used most of a CPU or, if the CPU time of the jobs is unknown, whether any CPU was
    busy."""
    rate, cost, jobs = row.value("iops"), row.value("cpu_time_per_io"), row.setting("numjobs")
    if rate is None or cost is None or not isinstance(jobs, int):
        return "host-limited" in row.flags
    return rate * cost > _BUSY * jobs


def limit_note(found: Sequence[Limit], over: str, where: str = "") -> str:
    """Describe the limits of a curve in a sentence without a period, or return an empty string if there are none."""
    if not found:
        return ""
    start = f"{where}: this looks" if where else "This looks"
    parts = " and ".join(_limit_text(limit, over) for limit in found)
    note = _latency_note(found[0], over)
    return f"{start} like a provisioned limit of {parts}{note}; a saturated drive or link can look the same"


def _limit_text(limit: Limit, over: str) -> str:
    amount = f"{_rounded(limit.value)} IOPS"
    if limit.metric == "bandwidth":
        amount = f"{_rounded(limit.value / 1e6)} MB/s = {_rounded(limit.value / 2**20)} MiB/s"
    first, last = (text_of(over, row.setting(over)) for row in (limit.rows[0], limit.rows[-1]))
    return f"{amount} (all rates equal to within {max(limit.spread * 100, 0.1):.1f} % at {over} {first} to {last})"


def _rounded(value: float) -> str:
    """Format a number with three significant digits and without an exponent: `3,120`, `133`, `0.5`."""
    return f"{float(f'{value:.3g}'):,g}"


def _latency_note(limit: Limit, over: str) -> str:
    """Describe whether latency grew with the number of requests in flight, as it does if requests wait in a queue
    (Little's law)."""
    if over == "block_size" or limit.metric != "iops":
        return ""
    flights = [flight for row in limit.rows if (flight := row.value("in_flight")) is not None]
    depths = [depth for row in limit.rows if (depth := row.value("queue_depth"))]
    if len(flights) < len(limit.rows) or len(depths) < len(limit.rows) or min(flights) <= 0.0:
        return ""
    if all(abs(flight / depth - 1.0) <= _FOLLOWS for flight, depth in zip(flights, depths, strict=True)):
        return f"; latency grew with {over}, so requests wait in a queue"
    if spread(flights) > _FOLLOWS:
        depth_range = f"{depths[0]:.0f} to {depths[-1]:.0f}"
        return f"; {min(flights):.3g} to {max(flights):.3g} requests were in flight instead of {depth_range}"
    return f", but latency did not grow with {over}: {min(flights):.3g} requests were in flight at every setting"
