"""The response times of one long run: percentiles up to the 99.999th, and a histogram with one bucket per power of two.

Source: SNIA Solid State Storage Performance Test Specification 2.0, "response time histogram" and "confidence level
plot". Percentiles with fewer than 10 requests above them are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from asct.instruments.fio.histogram import NS, percentile_values
from asct.instruments.fio.metrics import percentile_text
from asct.instruments.fio.point import FioPoint
from asct.instruments.qualification.journal import level_flags
from asct.sdk.figure import Axis, Bars, Figure
from asct.sdk.metric import Coords, Metric
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.rows import series_of
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity

PERCENTILES: Final = {
    "p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99, "p99_999": 99.999,
}  # fmt: skip


def response_metrics(coords: Coords | None = None) -> tuple[Metric, ...]:
    """Return the metrics whose values `response_values` yields, with the coordinates `coords`."""
    at: Coords = dict(coords or {})
    return (
        Metric("response_mean", "s", "lower", "Mean latency in the histogram run", at),
        *(
            Metric(
                f"response_{name}", "s", "lower", f"{percentile_text(percent)} of the latency in the histogram run", at
            )
            for name, percent in PERCENTILES.items()
        ),
        Metric("response_max", "s", "lower", "Maximum latency in the histogram run", at),
        Metric.info(
            "response_share",
            "%",
            "Share of the requests that took between `latency` and twice that time",
            at | {"latency": None},
        ),
    )


def response_values(
    point: FioPoint, at: Mapping[str, Scalar] | None = None, flags: tuple[str, ...] = ()
) -> Iterator[Measurement]:
    """Yield the mean, percentiles and maximum of all requests, followed by the histogram as details. Yield nothing if
    fio reports no latency. `flags` precede the flags of the run."""
    latency = point.sides[""].lat
    if latency is None:
        return
    coords, flags = dict(at or {}), (*flags, *level_flags(point))
    yield Measurement("response_mean", latency.mean_ns * NS, coords, latency.mean_stats(), flags)
    yield from percentile_values(latency, PERCENTILES, "response_", coords, flags)
    yield Measurement("response_max", latency.max_ns * NS, coords, flags=flags)
    octaves = latency.quantiles.octaves()
    for octave in range(min(octaves), max(octaves) + 1) if octaves else ():
        share = 100.0 * octaves.get(octave, 0) / latency.quantiles.n
        yield Measurement("response_share", share, coords | {"latency": 2**octave * NS}, flags=flags, detail=True)


def response_figure(records: Mapping[str, Sequence[Record]], slug: str, title: str, note: str = "") -> Figure | None:
    """Return the histogram as bars, or None if it is empty. `records` contains the `response_share` records of each
    series, from all repeats. `note` is appended to the caption."""
    found = {name: grouped(mine, lambda one: float(one.coords["latency"])) for name, mine in records.items()}
    lows = sorted({low for shares in found.values() for low in shares})
    if not lows:
        return None
    labels = [format_quantity(low, "s") for low in lows]
    series = tuple(series_of(name, labels, [shares.get(low, ()) for low in lows]) for name, shares in found.items())
    caption = "Share of the requests by latency: each bar covers the latencies from its label to twice that value."
    caption += note
    x = Axis("Response time (at least)", "", "category", better="lower")
    return Bars(slug, title, caption, x, Axis("Requests", "%"), series)
