"""The statistics of a value in one object; `asct.sdk.samples.stats_of` converts it to the SDK's Stats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asct.statistics.quantiles import median_interval
from asct.statistics.robust import mad, median


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """Number of values, median, MAD, order-statistic 95 % interval of the median (None below 6), extremes; one unit."""

    n: int
    median: float
    mad: float
    ci95: tuple[float, float] | None
    min: float
    max: float


def summarise(values: Sequence[float], *, independent: bool = True) -> SampleSummary:
    """Summary of at least one value; without independence there is no interval. Raises ValueError on none."""
    middle = median(values)
    return SampleSummary(
        n=len(values),
        median=middle,
        mad=mad(values, middle),
        ci95=median_interval(values) if independent else None,
        min=float(min(values)),
        max=float(max(values)),
    )
