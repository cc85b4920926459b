"""Latency statistics of fio's jobs and their exact merging.

json+ gives each latency as `bins`: the midpoint of a bucket in ns to the number of requests in it, 64 buckets for each
power of two, so that a value is off by at most 1/128 (fio documentation, "JSON+ output"; stat.h, `FIO_IO_U_PLAT_*`).
Bins of several jobs add up; the mean of percentiles does not mean anything.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Generic, TypeVar

from asct.sdk.record import Stats

N = TypeVar("N", int, float)
K = TypeVar("K")
NS: Final = 1e-9
MIN_BEYOND: Final = 10
"""Minimum number of requests above a percentile; otherwise the percentile is omitted."""
MIN_FOR_INTERVAL: Final = 6
_Z95: Final = 1.959964
_MAD_OF_NORMAL: Final = 0.674490


class Quantiles(Generic[N]):
    """The quantiles of values with counts, which are sorted once."""

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
        """The number of values in each power of two, by its exponent; values below 1 are counted as 1."""
        if not self._values:
            return {}
        low: int = _exponent(self._values[0])
        high: int = _exponent(self._values[-1])
        below = [0, *(bisect_left(self._values, 2 ** (exponent + 1)) for exponent in range(low, high + 1))]
        sums = [self._reached[place - 1] if place else 0 for place in below]
        counts = {low + index: sums[index + 1] - sums[index] for index in range(len(sums) - 1)}
        return {exponent: count for exponent, count in counts.items() if count}

    def at(self, share: float) -> float:
        """The smallest value whose cumulative count reaches `share` (0 to 1) of all. Raises ValueError on no counts."""
        if not self._values:
            raise ValueError("no values to compute a quantile of")
        place = bisect_left(self._reached, share * self._reached[-1])
        return float(self._values[min(place, len(self._values) - 1)])

    def deviation(self, middle: float) -> float:
        """The median of the distances from `middle`: outwards from there, whichever side is nearer, to half of all."""
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
        """The quantile at `percent`, as fio computes it. None if fewer than MIN_BEYOND values are above it."""
        if self.n * (100.0 - percent) < MIN_BEYOND * 100.0 * (1.0 - 1e-12):
            return None
        return self.at(percent / 100.0)


@dataclass(frozen=True)
class Latency:
    """One kind of latency of `n` requests; times in ns. `stddev_ns` is the sample standard deviation (n - 1)."""

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
        """The midpoint of the bucket where the cumulative count reaches `percent` of all requests, as fio computes it.

        None if fewer than MIN_BEYOND requests are above it: the value would depend on a few requests.
        """
        return self.quantiles.percentile(percent)

    def percentile_stats(self, percent: float) -> Stats | None:
        """The percentile with the 95 % interval of its order statistics, in seconds; None without requests.

        The number of requests below a quantile is binomial, so that the interval runs between two ranks around it
        (Hahn and Meeker, Statistical Intervals, 1991, section 5.2), here by the normal approximation, which the
        MIN_BEYOND requests above it allow, rounded outwards. Requests of one queue depend on one another: it is the
        least there is.
        """
        if percent not in self._known:
            self._known[percent] = self._percentile_stats(percent / 100.0)
        return self._known[percent]

    @cached_property
    def _known(self) -> dict[float, Stats | None]:
        return {}

    def _percentile_stats(self, share: float) -> Stats | None:
        if not self.bins:
            return None
        value, low, high = (self.quantiles.at(one) for one in (share, *_rank_shares(self.n, share)))
        return Stats(
            n=self.n,
            median=value * NS,
            mad=(high - low) / (2.0 * _Z95) * _MAD_OF_NORMAL * NS,
            ci95=(low * NS, high * NS) if self.n >= MIN_FOR_INTERVAL else None,
            min=low * NS,
            max=high * NS,
        )

    def stats(self) -> Stats | None:
        """The spread over the requests in seconds. No interval: requests in one queue are not independent."""
        return self._spread

    @cached_property
    def _spread(self) -> Stats | None:
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


def _exponent(value: float) -> int:
    return max(0, int(value).bit_length() - 1)


def _rank_shares(n: int, share: float) -> tuple[float, float]:
    half = _Z95 * math.sqrt(share * (1.0 - share) / n) + 1.0 / n
    return max(0.0, share - half), min(1.0, share + half)


def added(parts: Sequence[Mapping[K, int]]) -> Mapping[K, int]:
    """The counts of several histograms together; a single one is itself."""
    if len(parts) == 1:
        return parts[0]
    bins: Counter[K] = Counter()
    for part in parts:
        bins.update(part)
    return dict(bins)


def merged(parts: Iterable[Latency]) -> Latency | None:
    """All requests of `parts` as one population: bins added, mean and variance pooled. None if there are none."""
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
