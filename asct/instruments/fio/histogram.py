"""Merge the latency histograms of fio's jobs exactly, and compute statistics from them.

In json+ output, latencies are given as `bins`, which map the midpoint of each bucket (in ns) to the number of requests
in it. Each power of two has 64 buckets, so a value is off by at most 1/128 (fio documentation, "JSON+ output"; stat.h,
`FIO_IO_U_PLAT_*`).
The bins of several jobs can be added, whereas the mean of their percentiles would be meaningless.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Generic, TypeVar

from asct.sdk.record import Measurement, Scalar, Stats
from asct.statistics.series import ratio_half_width

N = TypeVar("N", int, float)
K = TypeVar("K")
NS: Final = 1e-9
MIN_BEYOND: Final = 10
"""Minimum number of requests above a percentile. With fewer, the percentile is omitted."""
_Z95: Final = 1.959964
_MAD_OF_NORMAL: Final = 0.674490


class Quantiles(Generic[N]):
    """The quantiles of a histogram that maps each value to its count. The histogram is sorted only once."""

    def __init__(self, counts: Mapping[N, int]) -> None:
        if 0 in counts.values():
            counts = {value: count for value, count in counts.items() if count}
        self._values: list[N] = sorted(counts)
        self._counts = [counts[value] for value in self._values]
        self._reached = list(accumulate(self._counts))

    @property
    def n(self) -> int:
        """The number of values, which is the sum of the counts."""
        return self._reached[-1] if self._reached else 0

    def octaves(self) -> dict[int, int]:
        """Return the number of values in each power of two, keyed by exponent. Values below 1 are counted as 1."""
        counts: Counter[int] = Counter()
        for value, count in zip(self._values, self._counts, strict=True):
            counts[max(0, int(value).bit_length() - 1)] += count
        return dict(counts)

    def at(self, share: float) -> float:
        """Return the smallest value whose cumulative count reaches `share` (0 to 1). Raises ValueError if all counts
        are 0."""
        if not self._values:
            raise ValueError("a histogram without values has no quantiles")
        index = bisect_left(self._reached, share * self._reached[-1])
        return float(self._values[min(index, len(self._values) - 1)])

    def above(self, value: float) -> int:
        """Return the number of values above `value`."""
        index = bisect_right(self._values, value)
        return self.n - (self._reached[index - 1] if index else 0)

    @cached_property
    def total(self) -> float:
        """The sum of all values, each multiplied by its count."""
        return float(sum(value * count for value, count in zip(self._values, self._counts, strict=True)))

    def deviation(self, middle: float) -> float:
        """Return the median distance from `middle`, found by moving outward until half of the values are covered."""
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
        """Return the quantile at `percent` as fio computes it, or None if fewer than MIN_BEYOND values are above it."""
        return self.at(percent / 100.0) if _enough_beyond(self.n, percent) else None


def _enough_beyond(n: int, percent: float) -> bool:
    """Return whether at least MIN_BEYOND of `n` values are above a percentile."""
    return n * (100.0 - percent) >= MIN_BEYOND * 100.0 * (1.0 - 1e-12)


class LatencyCourse:
    """The latencies of a whole run and of its consecutive parts, such as its seconds.

    The variation between the parts indicates how much another run would differ. The number of requests does not
    indicate this, because requests in one queue are not independent.
    """

    def __init__(self, whole: Quantiles[int], parts: Sequence[Quantiles[int]]) -> None:
        self._whole = whole
        self._parts = parts
        self._counts = [float(part.n) for part in parts]
        self._halves: dict[float, float | None] = {}

    @cached_property
    def mean_half_ns(self) -> float | None:
        """Half the width of the 95 % interval for the mean, in ns, or None for fewer than 6 independent parts."""
        return ratio_half_width([part.total for part in self._parts], self._counts) if any(self._counts) else None

    def share_half(self, percent: float) -> float | None:
        """Return half the width of the 95 % interval for the share of requests above the whole run's percentile
        `percent`.

        Returns None for fewer than 6 independent parts.
        """
        if percent not in self._halves and any(self._counts):
            value = self._whole.at(percent / 100.0)
            self._halves[percent] = ratio_half_width([float(part.above(value)) for part in self._parts], self._counts)
        return self._halves.get(percent)


@dataclass(frozen=True)
class Latency:
    """The latencies of `n` requests. Times are in ns. `stddev_ns` is the sample standard deviation (n - 1)."""

    n: int
    min_ns: float
    max_ns: float
    mean_ns: float
    stddev_ns: float
    bins: Mapping[int, int] = field(default_factory=dict)
    fio_percentiles: Mapping[float, float] = field(default_factory=dict)
    """Percentiles computed by fio, as a mapping from percent to ns; only used if there are no bins
    (`--output-format=json`)."""

    @cached_property
    def quantiles(self) -> Quantiles[int]:
        """The quantiles of the histogram, in ns; each bin is represented by its midpoint."""
        return Quantiles(self.bins)

    def percentile_ns(self, percent: float) -> float | None:
        """Return the midpoint of the bucket in which the cumulative count reaches `percent`, as computed by fio.

        Returns None if fewer than MIN_BEYOND requests are above it, because the value would depend on a few requests.
        """
        if not self.bins:
            return self.fio_percentiles.get(percent) if _enough_beyond(self.n, percent) else None
        return self.quantiles.percentile(percent)

    def percentile_stats(self, percent: float, course: LatencyCourse | None = None) -> Stats | None:
        """Return the percentile in seconds, with a 95 % interval if `course` contains the parts of the run. Return None
        if there is no histogram.

        The interval of a share of requests is mapped to latencies (Woodruff, "Confidence intervals for medians and
        other position measures", Journal of the American Statistical Association 47, 1952). The share is assumed to
        vary as it does between the parts of the run, but at least as much as the binomial share of independent requests
        (Hahn and Meeker, Statistical Intervals, 1991, section 5.2; normal approximation, rounded outward).
        """
        if not self.bins:
            return None
        share = percent / 100.0
        value = self.quantiles.at(share)
        half_width = None if course is None else course.share_half(percent)
        half = max(_Z95 * math.sqrt(share * (1.0 - share) / self.n), half_width or 0.0) + 1.0 / self.n
        low, high = map(self.quantiles.at, (max(0.0, share - half), min(1.0, share + half)))
        return Stats(
            n=self.n,
            median=value * NS,
            mad=(high - low) / (2.0 * _Z95) * _MAD_OF_NORMAL * NS,
            ci95=None if half_width is None else (low * NS, high * NS),
            min=low * NS,
            max=high * NS,
        )

    def mean_stats(self, course: LatencyCourse | None = None) -> Stats | None:
        """Return the statistics of the requests in seconds, with a 95 % interval for the mean if `course` contains the
        parts of the run.

        Returns None if there is no histogram.
        """
        if not self.bins:
            return None
        middle = self.quantiles.at(0.5)
        half = None if course is None else course.mean_half_ns
        return Stats(
            n=self.n,
            median=middle * NS,
            mad=self.quantiles.deviation(middle) * NS,
            ci95=None if half is None else (max(0.0, self.mean_ns - half) * NS, (self.mean_ns + half) * NS),
            min=self.min_ns * NS,
            max=self.max_ns * NS,
        )


def percentile_values(
    latency: Latency,
    percentiles: Mapping[str, float],
    prefix: str,
    coords: Mapping[str, Scalar] | None = None,
    flags: tuple[str, ...] = (),
    course: LatencyCourse | None = None,
) -> Iterator[Measurement]:
    """Yield the percentiles with enough requests above them, as metrics named `prefix` + name."""
    for name, percent in percentiles.items():
        value = latency.percentile_ns(percent)
        if value is not None:
            stats = latency.percentile_stats(percent, course)
            yield Measurement(prefix + name, value * NS, dict(coords or {}), stats, flags)


def added(parts: Sequence[Mapping[K, int]]) -> Mapping[K, int]:
    """Return one histogram whose counts are the sums of the counts in `parts`."""
    if len(parts) == 1:
        return parts[0]
    bins: Counter[K] = Counter()
    for part in parts:
        bins.update(part)
    return dict(bins)


def merged(parts: Iterable[Latency]) -> Latency | None:
    """Combine all requests into one population by adding the bins and pooling mean and variance. Return None if there
    are no requests."""
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
