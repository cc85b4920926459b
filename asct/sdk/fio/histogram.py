"""Latency statistics of fio's jobs and their exact merging.

json+ gives each latency as `bins`: the midpoint of a bucket in ns to the number of requests in it, 64 buckets for each
power of two, so that a value is off by at most 1/128 (fio documentation, "JSON+ output"; stat.h, `FIO_IO_U_PLAT_*`).
Bins of several jobs add up; the mean of percentiles does not mean anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from asct.sdk.record import Stats

N = TypeVar("N", int, float)
NS: float = 1e-9
MIN_BEYOND = 10
"""Requests that must lie above a percentile for it to be given."""


@dataclass(frozen=True, slots=True)
class Latency:
    """One kind of latency of `n` requests; times in ns. `stddev_ns` is that of a sample (n - 1)."""

    n: int
    min_ns: float
    max_ns: float
    mean_ns: float
    stddev_ns: float
    bins: Mapping[int, int] = field(default_factory=dict)

    def percentile_ns(self, percent: float) -> float | None:
        """The midpoint of the bucket where the cumulative count reaches `percent` of all, as fio computes it.

        None when fewer than MIN_BEYOND requests lie above: then it would be the accident of a few.
        """
        total = sum(self.bins.values())
        if total * (100.0 - percent) < MIN_BEYOND * 100.0 * (1.0 - 1e-12):
            return None
        return quantile_of_bins(self.bins, percent / 100.0)

    def stats(self) -> Stats | None:
        """The spread over the requests in seconds. No interval: requests in one queue are not independent."""
        if not self.bins:
            return None
        middle = quantile_of_bins(self.bins, 0.5)
        deviations: Counter[float] = Counter()
        for value, count in self.bins.items():
            deviations[abs(value - middle)] += count
        return Stats(
            n=self.n,
            median=middle * NS,
            mad=quantile_of_bins(deviations, 0.5) * NS,
            ci95=None,
            min=self.min_ns * NS,
            max=self.max_ns * NS,
        )


def quantile_of_bins(bins: Mapping[N, int], share: float) -> float:
    """The smallest value whose cumulative count reaches `share` (0 to 1) of all. Raises ValueError on no counts."""
    total = sum(bins.values())
    reached = 0
    for value in sorted(bins):
        reached += bins[value]
        if reached >= share * total and reached > 0:
            return float(value)
    raise ValueError("a quantile of no values does not exist")


def merged(parts: Iterable[Latency]) -> Latency | None:
    """All requests of `parts` as one population: bins added, mean and variance pooled. None if there are none."""
    used = [part for part in parts if part.n > 0]
    if not used:
        return None
    n = sum(part.n for part in used)
    mean = sum(part.n * part.mean_ns for part in used) / n
    squares = sum((part.n - 1) * part.stddev_ns**2 + part.n * (part.mean_ns - mean) ** 2 for part in used)
    bins: Counter[int] = Counter()
    for part in used:
        bins.update(part.bins)
    return Latency(
        n=n,
        min_ns=min(part.min_ns for part in used),
        max_ns=max(part.max_ns for part in used),
        mean_ns=mean,
        stddev_ns=math.sqrt(squares / (n - 1)) if n > 1 else 0.0,
        bins=dict(bins),
    )
