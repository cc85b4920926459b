"""Latency histograms of fio's jobs: exact merging, and statistics.

json+ contains latencies as `bins`: the number of requests by the midpoint of their bucket in ns. Each power of two has
64 buckets, so that a value is off by at most 1/128 (fio documentation, "JSON+ output"; stat.h, `FIO_IO_U_PLAT_*`). Bins
of several jobs can be added, whereas the mean of their percentiles would be meaningless.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Generic, TypeVar

from asct.sdk.record import Measurement, Scalar, Stats

N = TypeVar("N", int, float)
K = TypeVar("K")
NS: Final = 1e-9
MIN_BEYOND: Final = 10
"""Minimum number of requests above a percentile; otherwise the percentile is omitted."""
MIN_FOR_INTERVAL: Final = 6
_Z95: Final = 1.959964
_MAD_OF_NORMAL: Final = 0.674490


class Quantiles(Generic[N]):
    """The quantiles of a histogram, which is sorted once."""

    def __init__(self, counts: Mapping[N, int]) -> None:
        if 0 in counts.values():
            counts = {value: count for value, count in counts.items() if count}
        self._values: list[N] = sorted(counts)
        self._counts = [counts[value] for value in self._values]
        self._reached = list(accumulate(self._counts))

    @property
    def n(self) -> int:
        """The number of values."""
        return self._reached[-1] if self._reached else 0

    def octaves(self) -> dict[int, int]:
        """Return the number of values in each power of two, by its exponent; values below 1 are counted as 1."""
        counts: Counter[int] = Counter()
        for value, count in zip(self._values, self._counts, strict=True):
            counts[max(0, int(value).bit_length() - 1)] += count
        return dict(counts)

    def at(self, share: float) -> float:
        """Return the smallest value whose cumulative count reaches `share` (0 to 1); raise ValueError if all are 0."""
        if not self._values:
            raise ValueError("a histogram without values has no quantiles")
        index = bisect_left(self._reached, share * self._reached[-1])
        return float(self._values[min(index, len(self._values) - 1)])

    def deviation(self, middle: float) -> float:
        """Return the median distance from `middle`, by walking outward from it until half of the values are passed."""
        above = bisect_left(self._values, middle)
        below, end = above - 1, len(self._values)
        distance, left = 0.0, 0.5 * self.n
        while left > 0:
            if above == end or (below >= 0 and middle - self._values[below] < self._values[above] - middle):
                distance, left, below = middle - self._values[below], left - self._counts[below], below - 1
            else:
                distance, left, above = self._values[above] - middle, left - self._counts[above], above + 1
        return distance

    def percentile(self, percent: float) -> float | None:
        """Return the quantile at `percent`, as fio computes it; None if fewer than MIN_BEYOND values are above it."""
        if self.n * (100.0 - percent) < MIN_BEYOND * 100.0 * (1.0 - 1e-12):
            return None
        return self.at(percent / 100.0)


@dataclass(frozen=True)
class Latency:
    """The latencies of `n` requests. Times are in ns. `stddev_ns` is the sample standard deviation (n - 1)."""

    n: int
    min_ns: float
    max_ns: float
    mean_ns: float
    stddev_ns: float
    bins: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def quantiles(self) -> Quantiles[int]:
        """The quantiles of the bin midpoints, in ns."""
        return Quantiles(self.bins)

    def percentile_ns(self, percent: float) -> float | None:
        """Return the midpoint of the bucket in which the cumulative count reaches `percent`, as fio computes it.

        None if fewer than MIN_BEYOND requests are above it: the value would depend on a few requests.
        """
        return self.quantiles.percentile(percent)

    def percentile_stats(self, percent: float) -> Stats | None:
        """Return the percentile with the 95 % interval of its order statistics, in seconds; None without requests.

        The number of requests below a quantile is binomial, so the interval ends at two ranks around it (Hahn and
        Meeker, Statistical Intervals, 1991, section 5.2). The ranks use the normal approximation, for which MIN_BEYOND
        requests above the percentile suffice, and are rounded outward. Requests in one queue are not independent, so
        the true interval is wider.
        """
        if not self.bins:
            return None
        share = percent / 100.0
        half = _Z95 * math.sqrt(share * (1.0 - share) / self.n) + 1.0 / self.n
        value, low, high = map(self.quantiles.at, (share, max(0.0, share - half), min(1.0, share + half)))
        return Stats(
            n=self.n,
            median=value * NS,
            mad=(high - low) / (2.0 * _Z95) * _MAD_OF_NORMAL * NS,
            ci95=(low * NS, high * NS) if self.n >= MIN_FOR_INTERVAL else None,
            min=low * NS,
            max=high * NS,
        )

    @cached_property
    def stats(self) -> Stats | None:
        """The statistics of the requests in seconds, without an interval, because requests in a queue are not
        independent."""
        if not self.bins:
            return None
        middle = self.quantiles.at(0.5)
        return Stats(
            n=self.n,
            median=middle * NS,
            mad=self.quantiles.deviation(middle) * NS,
            ci95=None,
            min=self.min_ns * NS,
            max=self.max_ns * NS,
        )


def percentile_values(
    latency: Latency,
    percentiles: Mapping[str, float],
    prefix: str,
    coords: Mapping[str, Scalar] | None = None,
    flags: tuple[str, ...] = (),
) -> Iterator[Measurement]:
    """Yield the percentiles that have enough requests above them, as the metrics `prefix` + name."""
    for name, percent in percentiles.items():
        value = latency.percentile_ns(percent)
        if value is not None:
            yield Measurement(prefix + name, value * NS, dict(coords or {}), latency.percentile_stats(percent), flags)


def added(parts: Sequence[Mapping[K, int]]) -> Mapping[K, int]:
    """Add the counts of several histograms."""
    if len(parts) == 1:
        return parts[0]
    bins: Counter[K] = Counter()
    for part in parts:
        bins.update(part)
    return dict(bins)


def merged(parts: Iterable[Latency]) -> Latency | None:
    """Combine all requests into one population by adding the bins and pooling mean and variance; None without
    requests."""
    used = [part for part in parts if part.n > 0]
    if len(used) < 2:
        return used[0] if used else None
    n = sum(part.n for part in used)
    mean = sum(part.n * part.mean_ns for part in used) / n
    squares = sum((part.n - 1) * part.stddev_ns**2 + part.n * (part.mean_ns - mean) ** 2 for part in used)
    return Latency(
        n=n,
        min_ns=min(part.min_ns for part in used),
        max_ns=max(part.max_ns for part in used),
        mean_ns=mean,
        stddev_ns=math.sqrt(squares / (n - 1)) if n > 1 else 0.0,
        bins=added([part.bins for part in used]),
    )
