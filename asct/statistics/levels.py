"""Find the levels of a memory hierarchy on a curve of latency plotted against working-set size.

A level is a plateau, determined by these rules (slopes are in log latency per doubling of the size):

* where the local Theil-Sen slope exceeds `RISE` (42 % per doubling), the curve rises; rises divide it into stretches;
* a stretch is a plateau if it spans at least `MIN_SPAN` octaves with an overall slope below `MAX_SLOPE` (28 % per
  doubling);
* two plateaus whose facing ends differ by less than a factor of `MIN_STEP` (1.4) are one level: such a small step comes
  from a TLB;
* the bounds are the outermost measured sizes (not rounded) whose latency is within a tolerance of the latency at that
  end of the plateau (10 %, or four standard deviations of its noise, up to 15 %);
* the last level has no upper end: a further rise by less than a factor of `TAIL` (2) up to the last size belongs to it;
* the latency is the median of the densest half of the plateau's values (the shorth), thinned to quarter octaves so that
  refined sizes do not carry more weight; if a level drifts toward its end, its flat part determines the latency;
* the optimum size is the midpoint between the bounds, and thus at most one octave below the upper one.

The cache sizes that the host reports are used only to name the levels. They never add or remove a level. See Saavedra
and Smith, "Measuring cache and TLB performance and their effect on benchmark run times", IEEE Transactions on Computers
44(10), 1995.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from asct.statistics.level_names import CacheHint, has_unmatched_hints, name_levels
from asct.statistics.robust import NORMAL_CONSISTENCY, median, median_slope, running_median, shorth_median

OUTLIER = math.log(1.15)
"""If the log latency of a size differs by more than this from the running median of five, the size is an outlier."""
DISTURBED = math.log(1.2)
"""If a size is slower than a larger one by more than this, its measurement was disturbed, because loads from a larger
working set are never faster."""
# The synthetic curves in tests/statistics/test_levels.py bound these values. If one is changed, the tests pass with
# - RISE from 0.35 to 0.6 (0.3: a short shelf on a rise is not recognized);
# - MIN_SPAN from 0.74 to 1.25 (0.5: the same). Four sizes of a thinned curve span 0.75 octaves;
# - MAX_SLOPE from 0.1 to 0.25 (0.3: a noisy ramp becomes a level);
# - MIN_STEP from 0.2 (0.1: noise of 3 % becomes levels) to 0.6 (0.69: two caches whose latencies differ by a factor
#   of 2 become one level);
# - TAIL from 0.3 to 0.69 (0.9: a sweep that ends in a cache has DRAM);
# - EDGE from 0.07 (0.05: a step of 7 % ends a level) to 0.1;
# - MAX_NOISE from 0.1 (0.08: curves with a noise of 6 % are rejected) to 0.3.
RISE = 0.35
MIN_SPAN = 0.74
MAX_SLOPE = 0.25
MIN_STEP = math.log(1.4)
TAIL = math.log(2.0)
EDGE = math.log(1.10)
MIN_SIZES = 8
"""Enough for two plateaus with four sizes each."""
MAX_LEVELS = 5
"""L1, L2, L3, LLC and DRAM."""
MAX_NOISE = 0.12
OPEN_END = "open-end"
"""The note that the curve is still rising at its end."""
_THINNED = 0.25
"""Spacing of a thinned curve, in octaves."""
_SLOPE_WINDOW = 0.51
"""Number of octaves that the local slope covers on either side of a point: two sizes of a thinned curve, with a margin
for sizes rounded to lines."""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A level, with sizes in bytes and latency in the unit of the curve.

    `sizes` and `latencies` are the points from which `latency` is computed. `below` and `above` are the measured sizes
    just outside the bounds, or None at the ends of the data. `scatter` is the standard deviation between sizes as a
    share of the latency, excluding slow drift.
    """

    name: str
    lower: int
    upper: int
    optimum: int
    latency: float
    sizes: tuple[int, ...]
    latencies: tuple[float, ...]
    scatter: float = 0.0
    below: int | None = None
    above: int | None = None

    @property
    def lower_gap(self) -> float | None:
        """The distance from the lower bound down to the next smaller size, as a share of that size."""
        return None if self.below is None else self.lower / self.below - 1.0

    @property
    def upper_gap(self) -> float | None:
        """The distance from the upper bound up to the next larger size, as a share of the bound."""
        return None if self.above is None else self.above / self.upper - 1.0


Suspicion = Literal["outlier", "disturbed"]
Cause = Literal[
    "", "flat-curve", "steady-rise", "one-plateau", "too-many-plateaus", "few-sizes", "disturbed", "scattered"
]
"""A keyword for the reason why no levels were found. It is empty if there are levels."""


@dataclass(frozen=True, slots=True)
class LevelSearch:
    """The result of a search: the levels, smallest first. If there are none, `cause` is a keyword for the reason.

    `notes` contains keywords that describe the curve (`shoulder`, `open-end`, `cache-without-plateau`,
    `ends-in-cache`). `suspects` contains the excluded sizes and the reasons.
    """

    levels: tuple[MemoryLevel, ...]
    cause: Cause = ""
    notes: tuple[str, ...] = ()
    suspects: Mapping[int, Suspicion] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Curve:
    """Points in ascending order of size. x is log2 of the size (octaves), and y is the natural logarithm of the
    latency, so a slope of 0.1 is about 10 % per doubling."""

    sizes: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    def without(self, sizes: Collection[int]) -> _Curve:
        return self.take([index for index, size in enumerate(self.sizes) if size not in sizes])

    def take(self, indices: Sequence[int]) -> _Curve:
        """Return the curve that consists of the points with these indices."""
        return _Curve(
            tuple(self.sizes[i] for i in indices), tuple(self.x[i] for i in indices), tuple(self.y[i] for i in indices)
        )


def find_levels(
    latencies: Mapping[int, float],
    *,
    hints: Sequence[CacheHint] = (),
    uncertain: Collection[int] = (),
    granule: int = 64,
) -> LevelSearch:
    """Find the levels of a curve, which maps sizes in bytes to latencies.

    `uncertain` contains sizes that are too small to be trusted (a few cache lines): they can be part of a level but
    never form one. Optimum sizes are multiples of `granule`. Raises ValueError if a size or latency is not positive.
    """
    curve = _curve_of(latencies)
    trusted = curve.without(uncertain)
    bad = _suspects(trusted)
    clean = trusted.without(bad)
    if cause := _unfit(clean, len(trusted)):
        return LevelSearch((), cause, suspects=bad)
    thin = clean.take(_thinned(clean))
    plateaus, shoulders = _plateaus(thin)
    if cause := _why_none(thin, plateaus):
        return LevelSearch((), cause, suspects=bad)
    plateaus, open_end = _with_tail(thin, plateaus)
    unnamed = [_level(curve.without(bad), thin, plateau, latencies, granule) for plateau in plateaus]
    uppers = [level.upper for level in unnamed]
    names = name_levels(uppers, curve.sizes[-1], open_end, hints)
    notes = {
        "shoulder": _has_shoulder(plateaus, shoulders),
        OPEN_END: open_end,
        "cache-without-plateau": has_unmatched_hints(uppers, names, hints),
        "ends-in-cache": not open_end and names[-1] != "DRAM",
    }
    levels = tuple(replace(level, name=name) for name, level in zip(names, unnamed, strict=True))
    return LevelSearch(levels, notes=tuple(note for note, holds in notes.items() if holds), suspects=bad)


def _curve_of(latencies: Mapping[int, float]) -> _Curve:
    sizes = tuple(sorted(latencies))
    if any(size <= 0 for size in sizes) or any(not 0 < latencies[size] < math.inf for size in sizes):
        raise ValueError("sizes and latencies of a curve must be positive")
    return _Curve(sizes, tuple(math.log2(s) for s in sizes), tuple(math.log(latencies[s]) for s in sizes))


def _suspects(curve: _Curve) -> dict[int, Suspicion]:
    """Return the sizes that do not fit the curve: `outlier` (unlike their neighbors) or `disturbed` (slower than larger
    sizes).

    A running median of five preserves a rising curve with any steps, but reveals at most two adjacent bad sizes. A
    longer disturbance makes some sizes slower than larger ones, which never happens without a disturbance.
    """
    smooth = running_median(curve.y)
    spread = max(OUTLIER, 4.0 * _noise(curve))
    found: dict[int, Suspicion] = {
        size: "outlier"
        for size, value, level in zip(curve.sizes, curve.y, smooth, strict=True)
        if abs(value - level) > spread
    }
    floor = math.inf
    later: list[float] = []
    for size, value in reversed([pair for pair in zip(curve.sizes, curve.y, strict=True) if pair[0] not in found]):
        if value > floor + max(DISTURBED, spread):
            found[size] = "disturbed"
            continue
        later.append(value)
        if len(later) >= 3:
            floor = min(floor, median(later[-3:]))
    return found


def _noise(curve: _Curve) -> float:
    """Return the point-to-point standard deviation of log latency, from second differences, or 0.0 for fewer than four
    points.

    The estimate is robust: it is affected neither by a slow drift nor by the few steps of a staircase. A second
    difference of independent values with variance v has variance 1.5 v.
    """
    bends = [abs(curve.y[i] - (curve.y[i - 1] + curve.y[i + 1]) / 2.0) for i in range(1, len(curve) - 1)]
    return NORMAL_CONSISTENCY * median(bends) / math.sqrt(1.5) if len(bends) > 1 else 0.0


def _thinned(curve: _Curve) -> list[int]:
    """Return the indices of a thinned curve with at most one point per interval of `_THINNED` octaves: the one nearest
    to the middle.

    Refined sizes are concentrated at the edges of levels; without thinning, they would outweigh the plateaus.
    """
    best: dict[int, tuple[float, int]] = {}
    for index, x in enumerate(curve.x):
        cell = round(x / _THINNED)
        distance = abs(x - cell * _THINNED)
        if cell not in best or distance < best[cell][0]:
            best[cell] = (distance, index)
    return [best[cell][1] for cell in sorted(best)]


def _local_slopes(curve: _Curve) -> list[float]:
    """Return the Theil-Sen slope around each point. It is computed from all points within `_SLOPE_WINDOW`, and always
    includes both neighbors."""
    slopes = []
    last = len(curve) - 1
    for index, x in enumerate(curve.x):
        low, high = max(index - 1, 0), min(index + 1, last)
        while low > 0 and x - curve.x[low - 1] <= _SLOPE_WINDOW:
            low -= 1
        while high < last and curve.x[high + 1] - x <= _SLOPE_WINDOW:
            high += 1
        slopes.append(median_slope(curve.x[low : high + 1], curve.y[low : high + 1]))
    return slopes


def _unfit(curve: _Curve, trusted: int) -> Cause:
    """Return the reason why the usable sizes cannot be searched for levels, or an empty string if they can."""
    if len(curve) < MIN_SIZES:
        return "few-sizes"
    if len(curve) < 0.75 * trusted:
        return "disturbed"
    return "scattered" if _noise(curve) > MAX_NOISE else ""


def _why_none(thin: _Curve, plateaus: Sequence[range]) -> Cause:
    """Return the reason why the plateaus do not form levels, or an empty string if they do."""
    if len(plateaus) > 1:
        return "too-many-plateaus" if len(plateaus) > MAX_LEVELS else ""
    if max(thin.y) - min(thin.y) < MIN_STEP:
        return "flat-curve"
    return "one-plateau" if plateaus else "steady-rise"


def _plateaus(thin: _Curve) -> tuple[list[range], list[range]]:
    """Return the plateaus and the stretches that are not plateaus, both as ranges of indices into the thinned curve."""
    grown = [_grown(thin, stretch) for stretch in _stretches(_local_slopes(thin))]
    plateaus: list[range] = []
    for stretch in grown:
        if not _is_plateau(thin, stretch):
            continue
        if plateaus and _step(thin, plateaus[-1], stretch) < MIN_STEP:
            plateaus[-1] = range(plateaus[-1].start, stretch.stop)
        else:
            plateaus.append(stretch)
    return plateaus, [stretch for stretch in grown if not _is_plateau(thin, stretch)]


def _stretches(slopes: Sequence[float]) -> list[range]:
    runs = [(level, list(same)) for level, same in groupby(range(len(slopes)), key=lambda at: slopes[at] <= RISE)]
    return [range(run[0], run[-1] + 1) for level, run in runs if level]


def _ends(thin: _Curve, stretch: range) -> tuple[float, float]:
    """Return the log latency at either end of a stretch: the median over its first three sizes, and the median over its
    last three."""
    values = thin.y[stretch.start : stretch.stop]
    return median(values[:3]), median(values[-3:])


def _step(thin: _Curve, left: range, right: range) -> float:
    """Return the rise in log latency from the upper end of one stretch to the lower end of the next."""
    return _ends(thin, right)[0] - _ends(thin, left)[1]


def _is_plateau(thin: _Curve, stretch: range) -> bool:
    x, y = thin.x[stretch.start : stretch.stop], thin.y[stretch.start : stretch.stop]
    return len(x) >= 3 and x[-1] - x[0] >= MIN_SPAN and abs(median_slope(x, y)) < MAX_SLOPE


def _tolerance(thin: _Curve, stretch: range) -> float:
    return min(max(4.0 * _noise(thin.take(stretch)), EDGE), 1.5 * EDGE)


def _grown(thin: _Curve, stretch: range) -> range:
    """Extend a stretch by the adjacent points at the same level. These points seem to belong to a rise, because the
    window used to compute their slope includes a step."""
    tolerance = _tolerance(thin, stretch)
    first, last = stretch[0], stretch[-1]
    low, high = _ends(thin, stretch)
    while first > 0 and abs(thin.y[first - 1] - low) <= tolerance:
        first -= 1
    while last < len(thin) - 1 and abs(thin.y[last + 1] - high) <= tolerance:
        last += 1
    return range(first, last + 1)


def _with_tail(thin: _Curve, plateaus: Sequence[range]) -> tuple[list[range], bool]:
    """Return the plateaus, and whether the curve is still rising at its end. If it is not, the last plateau is extended
    to the end of the data."""
    final = plateaus[-1]
    end = range(max(final[-1], len(thin) - 3), len(thin))
    if _step(thin, final, end) < TAIL:
        return [*plateaus[:-1], range(final.start, len(thin))], False
    return list(plateaus), True


def _level(usable: _Curve, thin: _Curve, plateau: range, latencies: Mapping[int, float], granule: int) -> MemoryLevel:
    """Return an unnamed level. Its bounds are the outermost usable sizes whose latency still matches the plateau's end.
    They are found by searching outward from both ends of the plateau."""
    tolerance = _tolerance(thin, plateau)
    low, high = ([abs(y - end) <= tolerance for y in usable.y] for end in _ends(thin, plateau))
    down = last_inside(low, usable.sizes.index(thin.sizes[plateau[0]]), -1)
    up = len(usable) - 1
    if plateau.stop < len(thin):
        up = last_inside(high, usable.sizes.index(thin.sizes[plateau[-1]]))
    lower, upper = usable.sizes[down], usable.sizes[up]
    below = None if down == 0 else usable.sizes[down - 1]
    above = None if up == len(usable) - 1 else usable.sizes[up + 1]
    chosen = [i for i, size in enumerate(thin.sizes) if lower <= size <= upper]
    optimum = max((lower + upper) // 2 // granule * granule, granule)
    sizes = tuple(thin.sizes[i] for i in chosen)
    values = tuple(latencies[size] for size in sizes)
    scatter = _noise(thin.take(chosen))
    return MemoryLevel("", lower, upper, optimum, shorth_median(values), sizes, values, scatter, below, above)


def last_inside(inside: Sequence[bool], start: int, direction: int = 1) -> int:
    """Return the last index in `direction` from `start` on that is inside, skipping isolated indices that are not."""
    at = start
    while 0 <= at + direction < len(inside):
        if inside[at + direction]:
            at += direction
        elif 0 <= at + 2 * direction < len(inside) and inside[at + 2 * direction]:
            at += 2 * direction
        else:
            break
    return at


def _has_shoulder(plateaus: Sequence[range], shoulders: Sequence[range]) -> bool:
    """Return whether the latency rises more slowly over several sizes that do not form a plateau and do not overlap
    one."""
    separate = [s for s in shoulders if not any(p.start < s.stop and s.start < p.stop for p in plateaus)]
    return any(len(shoulder) > 1 for shoulder in separate)
