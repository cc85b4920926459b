"""Limits that show as equal rates: a volume sold by requests or bytes a second gives the same at every point beyond.

A drive slows down by degrees and differently for every size; a limit that somebody set is a straight line. Requests a
second that are equal from one size to another are one (the drive moves many times the bytes), so are rates that no
longer move when more requests are in flight. Bytes a second that are equal from some size on are a limit as well: of
the volume, of the link, or of the drive itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.rows import Row, shown
from asct.statistics.plateau import LEVEL, spread, top_plateau
from asct.statistics.robust import median

LEAST_POINTS: Final = 3
LEAST_RANGE: Final = 4.0
"""Between the first and last value of the axis on the plateau."""
_LEAST_BYTES_POINTS: Final = 2
"""Of equal bytes a second over sizes: the last sizes of a sweep are few."""
_BUSY: Final = 0.6
"""Of a CPU, that a job may use before it is taken for the limit."""
_FOLLOWS: Final = 0.1
"""Requests in flight are taken for those asked for within this share."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Equal values of `metric` (`iops` or `bandwidth`) at `rows`, which lie `spread` (a share) apart at most."""

    metric: str
    value: float
    rows: tuple[Row, ...]
    spread: float


def limits(rows: Sequence[Row], over: str) -> list[Limit]:
    """The limits on one curve, requests a second first. `rows` stand in the order of the axis `over`.

    Points at which the host was the limit say nothing of the volume: with one of these on it a plateau is none.
    """
    found = [_limit(rows, over, "iops", LEAST_POINTS, LEAST_RANGE)]
    if over == "block_size":
        found.append(_limit(rows, over, "bandwidth", _LEAST_BYTES_POINTS, 1.0))
    return [limit for limit in found if limit is not None]


def _limit(rows: Sequence[Row], over: str, metric: str, least: int, reach: float) -> Limit | None:
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


def _edges(row: Row) -> float:
    """How far a rate may be off because some requests were in flight when the run began or ended, as a share."""
    ios = row.value("ios")
    return (row.value("in_flight") or 0.0) / ios if ios else 0.0


def _host_bound(row: Row) -> bool:
    """Whether the jobs themselves used up most of a CPU each; without their CPU time, whether any CPU was busy."""
    rate, cost, jobs = row.value("iops"), row.value("cpu_time_per_io"), row.setting("numjobs")
    if rate is None or cost is None or not isinstance(jobs, int):
        return "host-limited" in row.flags
    return rate * cost > _BUSY * jobs


def limit_note(found: Sequence[Limit], over: str, where: str = "") -> str:
    """What the limits of one curve say, as a sentence without its full stop; "" for none."""
    if not found:
        return ""
    parts = " and ".join(f"{_amount(limit)} ({_reach(limit, over)})" for limit in found)
    said = (
        f"{where}: looks like a provisioned limit of {parts}" if where else f"Looks like a provisioned limit of {parts}"
    )
    return said + _latency_note(found[0], over) + "; a drive or link that is saturated may look the same"


def _amount(limit: Limit) -> str:
    if limit.metric == "bandwidth":
        return f"{limit.value / 1e6:,.3g} MB/s = {limit.value / 2**20:,.3g} MiB/s"
    return f"{_three_digits(limit.value):,.0f} IOPS"


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _reach(limit: Limit, over: str) -> str:
    first, last = (shown(over, row.setting(over)) for row in (limit.rows[0], limit.rows[-1]))
    return f"equal within {max(limit.spread * 100, 0.1):.1f} % at {over} {first} to {last}"


def _latency_note(limit: Limit, over: str) -> str:
    """Whether latency followed the requests in flight, as it must when these wait for their turn (Little)."""
    if over == "block_size" or limit.metric != "iops":
        return ""
    flights = [flight for row in limit.rows if (flight := row.value("in_flight")) is not None]
    depths = [depth for row in limit.rows if (depth := row.value("queue_depth"))]
    if len(flights) < len(limit.rows) or len(depths) < len(limit.rows) or min(flights) <= 0.0:
        return ""
    told = f"{min(flights):.3g}" if spread(flights) <= _FOLLOWS else f"{min(flights):.3g} to {max(flights):.3g}"
    if all(abs(flight / depth - 1.0) <= _FOLLOWS for flight, depth in zip(flights, depths, strict=True)):
        return f"; latency grew with {over}, so requests wait for their turn"
    if spread(flights) > _FOLLOWS:
        return f"; {told} requests were in flight, not the {depths[0]:.0f} to {depths[-1]:.0f} asked for"
    return f"; but latency did not grow with {over}: {told} requests were in flight, whatever was asked for"
