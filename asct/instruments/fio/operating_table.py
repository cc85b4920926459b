"""The operating points of every curve among the points of a job, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.operating import Operating, objective, operating_points, still_rising
from asct.instruments.fio.rows import AXIS_TITLES, SIZES, Row, grouped, place, shown, varying
from asct.instruments.fio.views import LOADS, main_axis
from asct.sdk.figure import Column, Table
from asct.sdk.record import Scalar

_CURVES: Final = (*LOADS, "block_size")
"""Settings along which rows make a curve with operating points."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Rows that differ in the setting `over` alone, in its order; `label` says what they share."""

    over: str
    label: str
    rows: tuple[Row, ...]


def curves(rows: Sequence[Row], names: Sequence[str], axis: str | None) -> list[Curve]:
    """The curves over the benchmark's own axis, or else over load (depth, jobs) or the size of requests."""
    vary = varying(rows, names)
    over = main_axis(rows, names, axis)
    if axis is None and over not in LOADS:
        over = next((name for name in _CURVES if name in vary), over)
    if over not in _CURVES:
        return []
    others = [name for name in vary if name != over]
    return [Curve(over, place(part[0], others), tuple(part)) for part in grouped(rows, others).values()]


def operating_table(rows: Sequence[Row], names: Sequence[str], slug: str, axis: str | None) -> tuple[Table, ...]:
    """One row per operating point of each curve; no table without any."""
    found = curves(rows, names, axis)
    points = [(curve, operating_points(curve.rows, curve.over)) for curve in found]
    cells = tuple(_cells(curve, point) for curve, part in points for point in part)
    if not cells:
        return ()
    over = found[0].over
    columns = _columns(over)[0 if len(found) > 1 else 1 :]
    return (Table(f"{slug}-operating-points", "Operating points", columns, cells, tuple(_notes(found, over))),)


def _columns(over: str) -> tuple[Column, ...]:
    """The first one says which curve."""
    return (
        Column("curve", "Points with", format="text"),
        Column("operating", "Operating point", format="text"),
        Column(over, AXIS_TITLES[over], format="size" if over in SIZES else "integer"),
        Column("repeats", "Over repeats", format="text", help="the same read off every single repeat"),
        Column("share", "Of the most (%)", 0.01),
        Column("iops", "Thruput (kops)", 1e3),
        Column("bandwidth", "BW (MB/s)", 1e6),
        Column("lat_mean", "Mean latency (us)", 1e-6),
        Column("lat_p99", "p99 (us)", 1e-6),
        Column("iops_per_core", "Per core (kops)", 1e3),
    )


def _cells(curve: Curve, point: Operating) -> dict[str, Scalar | None]:
    low, high = (shown(curve.over, int(end)) for end in (point.low, point.high))
    several = len(point.row.repeats) > 1
    return {
        "curve": curve.label or None,
        "operating": point.name,
        curve.over: point.row.setting(curve.over),
        "repeats": (low if low == high else f"{low} to {high}") if several else None,
        "share": point.share,
        **{metric: point.row.value(metric) for metric in ("iops", "bandwidth", "lat_mean", "lat_p99", "iops_per_core")},
    }


def _notes(found: Sequence[Curve], over: str) -> list[str]:
    rate = "requests" if objective(over) == "iops" else "bytes"
    notes = [f"Measured points, judged by {rate} a second; latency from the call until a request was complete"]
    dropped = sum(row.doubtful for curve in found for row in curve.rows)
    if dropped:
        notes.append(f"Left out, because they cannot be trusted (flags noisy, invalid): {dropped} points")
    for curve in found:
        usable = [row for row in curve.rows if not row.doubtful]
        if still_rising(usable, over) and usable[-1] is curve.rows[-1]:
            where = f"{curve.label}: the" if curve.label else "The"
            notes.append(f"{where} rate still rises at {over} {shown(over, usable[-1].setting(over))}: go further")
    return notes
