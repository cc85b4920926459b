"""The curve of latency over bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

from asct.benchmarks.loaded_latency.measure import NO_LOAD
from asct.benchmarks.loaded_latency.tables import TableUnits
from asct.sdk.figure import Axis, Line, Marker, Series
from asct.sdk.record import Record
from asct.sdk.rows import at, by_point, middle, point_label, series_of
from asct.values.quantity import format_quantity


def load_curve(records: Sequence[Record]) -> Line | None:
    """One line a point, from the lowest load to the highest; None unless latency and bandwidth were both measured."""
    shown = TableUnits.of(records)
    metric = f"latency{shown.suffix}"
    points = by_point(records)
    series = [one for mine in points if (one := _series(mine, metric)) is not None]
    if not series:
        return None
    return Line(
        slug="loaded-latency",
        title="Latency under load",
        caption=(
            "Latency of one dependent load over the bandwidth of the other CPUs on the memory bus: one mark for "
            "each number of injected NOPs, medians with 95 % intervals. The knee is where bandwidth / latency is "
            "highest."
        ),
        x=Axis("Bandwidth", "B/s"),
        y=Axis("Latency", "cycles" if shown.suffix else "s"),
        series=tuple(series),
        markers=_knee(records) if len(points) == 1 else (),
        better="lower",
    )


def _series(mine: Sequence[Record], metric: str) -> Series | None:
    """In the order of rising load: past saturation more load may bring less bandwidth. Levels without a value under
    their load are no part of the curve."""
    mine = [record for record in mine if NO_LOAD not in record.flags]
    delays = sorted(
        {int(record.coords["delay"]) for record in at(mine, metric) if "delay" in record.coords}, reverse=True
    )
    rungs = [(at(mine, "bus_bandwidth", delay=delay), at(mine, metric, delay=delay)) for delay in delays]
    both = [(bandwidth, latency) for bandwidth, latency in rungs if bandwidth and latency]
    if not both:
        return None
    x = [middle(bandwidth) or 0.0 for bandwidth, _ in both]
    return series_of(point_label(mine[0], "latency"), x, [latency for _, latency in both])


def _knee(records: Sequence[Record]) -> tuple[Marker, ...]:
    bandwidth, latency = middle(at(records, "knee_bandwidth")), middle(at(records, "knee_latency"))
    if bandwidth is None or latency is None:
        return ()
    return (Marker(bandwidth, f"knee: {format_quantity(latency, 's')}"),)
