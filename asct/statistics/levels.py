"""Levels of a memory hierarchy on a curve of latency over the size of the working set.

A level is a plateau, by these rules (slopes in log latency per doubling of the size):

* a *rise* is where the local Theil-Sen slope exceeds `RISE` (42 % per doubling); rises part the curve into stretches;
* a stretch is a plateau if it spans at least `MIN_SPAN` octaves with an overall slope below `MAX_SLOPE` (28 % per
  doubling);
* two plateaus whose facing ends differ by less than `MIN_STEP` (1.4 times) are one level: a TLB step, not a memory;
* bounds are the outermost sizes measured whose latency is within the tolerance of the end of the plateau (10 %, or four
  standard deviations of its noise up to 15 %), to the resolution of the data: no rounding;
* the last level has no upper end: a further rise by less than `TAIL` (2 times) up to the last size belongs to it;
* latency is the median of the densest half of the plateau's sizes (the shorth), thinned to quarter octaves so that
  refined sizes do not count more: a level that drifts towards its end is told by its level part;
* the optimum size is halfway between the bounds, at most one octave below the upper one.

Cache sizes that the host reports only name what was found; they never make or remove a level. See Saavedra and Smith,
"Measuring cache and TLB performance and their effect on benchmark run times", IEEE Transactions on Computers 44(10),
1995.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from asct.statistics.curve import LatencyCurve, Suspicion, latency_curve_of, local_slopes, noise, suspects, thinned
from asct.statistics.level_names import CacheHint, name_levels, unmatched_hints
from asct.statistics.robust import median, median_slope, shorth_median

RISE = 0.35
MIN_SPAN = 0.74
MAX_SLOPE = 0.25
MIN_STEP = math.log(1.4)
TAIL = math.log(2.0)
EDGE = math.log(1.10)
MIN_SIZES = 8
MAX_LEVELS = 5
MAX_NOISE = 0.12


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """One level: sizes in bytes, latency in the unit of the curve.

    `sizes` and `latencies` are the points that `latency` is taken from. `below` and `above` are the measured sizes
    next to the bounds on their outside; None where the data end. `scatter` is the standard deviation from size to size,
    as a share of the latency; a slow drift does not enter it.
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
        """The distance from the lower bound down to the next size, as a share of that size."""
        return None if self.below is None else self.lower / self.below - 1.0

    @property
    def upper_gap(self) -> float | None:
        """The distance from the upper bound up to the next size, as a share of the bound."""
        return None if self.above is None else self.above / self.upper - 1.0


Cause = Literal[
    "", "flat-curve", "steady-rise", "one-plateau", "too-many-plateaus", "few-sizes", "disturbed", "scattered"
]
"""Why there are no levels, as a word; empty when there are."""


@dataclass(frozen=True, slots=True)
class LevelSearch:
    """The levels found, smallest first, or none with the `cause` and the `reason` in words.

    `notes` maps a word (`shoulder`, `open-end`, `ends-in-cache`, `cache-without-plateau`) to what it says here.
    `suspects` are the sizes that were left out.
    """

    levels: tuple[MemoryLevel, ...]
    cause: Cause = ""
    reason: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    suspects: Mapping[int, Suspicion] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Indices of the thinned curve from `first` to `last`, both included."""

    first: int
    last: int


def find_levels(
    latencies: Mapping[int, float],
    *,
    hints: Sequence[CacheHint] = (),
    uncertain: Collection[int] = (),
    granule: int = 64,
) -> LevelSearch:
    """Levels of the curve {size in bytes: latency}.

    `uncertain` are sizes too small to trust (a few lines): they may lie inside a level but never make one. `granule` is
    what optimum sizes are a multiple of. Raises ValueError for sizes or latencies that are not positive.
    """
    curve = latency_curve_of(latencies)
    trusted = curve.without(uncertain)
    bad = suspects(trusted)
    clean = trusted.without(bad)
    unfit = _unfit(clean, len(trusted))
    if unfit is not None:
        return LevelSearch((), *unfit, suspects=bad)
    thin = clean.take(thinned(clean))
    plateaus, shoulders = _plateaus(thin)
    none = _why_none(thin, plateaus)
    if none is not None:
        return LevelSearch((), *none, suspects=bad)
    plateaus, open_end = _with_tail(thin, plateaus)
    bounds = [_bounds(curve.without(bad), thin, plateau) for plateau in plateaus]
    names = name_levels([bound[1] for bound in bounds], curve.sizes[-1], open_end, hints)
    levels = tuple(_level(name, bound, latencies, thin, granule) for name, bound in zip(names, bounds, strict=True))
    notes = _notes(thin, plateaus, shoulders, open_end)
    missing = unmatched_hints([level.upper for level in levels], names, hints)
    if missing:
        notes["cache-without-plateau"] = missing
    if not open_end and names[-1] != "DRAM":
        notes["ends-in-cache"] = f"the largest size, {curve.sizes[-1]} B, still fits into a cache that the host reports"
    return LevelSearch(levels, notes=notes, suspects=bad)


def _unfit(curve: LatencyCurve, trusted: int) -> tuple[Cause, str] | None:
    if len(curve) < MIN_SIZES:
        return "few-sizes", f"{len(curve)} usable sizes are too few to find levels; {MIN_SIZES} are needed"
    if len(curve) < 0.75 * trusted:
        return "disturbed", f"{trusted - len(curve)} of {trusted} sizes were disturbed"
    spread = noise(curve)
    if spread > MAX_NOISE:
        return "scattered", f"latencies vary by {spread:.0%} between sizes"
    return None


def _why_none(thin: LatencyCurve, plateaus: Sequence[_Stretch]) -> tuple[Cause, str] | None:
    """Why the plateaus form no levels; None if they do."""
    if len(plateaus) > MAX_LEVELS:
        return "too-many-plateaus", f"{len(plateaus)} plateaus, more than a memory hierarchy has"
    if len(plateaus) > 1:
        return None
    ratio = math.exp(max(thin.y) - min(thin.y))
    if ratio < math.exp(MIN_STEP):
        return "flat-curve", f"the curve is flat: the largest latency is {ratio:.2f} times the smallest"
    if not plateaus:
        return "steady-rise", "the latency grows steadily: no stretch of sizes has a steady latency"
    low, high = thin.sizes[plateaus[0].first], thin.sizes[plateaus[0].last]
    return "one-plateau", f"only one plateau, from {low} to {high} B; the rest of the curve is a slope"


def _stretches(slopes: Sequence[float]) -> list[_Stretch]:
    found: list[_Stretch] = []
    start: int | None = None
    for index, slope in enumerate([*slopes, math.inf]):
        if slope <= RISE and start is None:
            start = index
        elif slope > RISE and start is not None:
            found.append(_Stretch(start, index - 1))
            start = None
    return found


def _step(thin: LatencyCurve, left: _Stretch, right: _Stretch) -> float:
    """Rise of log latency from the upper end of one stretch to the lower end of the next."""
    before = thin.y[max(left.first, left.last - 2) : left.last + 1]
    after = thin.y[right.first : min(right.last, right.first + 2) + 1]
    return median(after) - median(before)


def _joined(thin: LatencyCurve, stretches: Sequence[_Stretch], below: float) -> list[_Stretch]:
    joined: list[_Stretch] = []
    for stretch in stretches:
        if joined and _step(thin, joined[-1], stretch) < below:
            joined[-1] = _Stretch(joined[-1].first, stretch.last)
        else:
            joined.append(stretch)
    return joined


def _plateaus(thin: LatencyCurve) -> tuple[list[_Stretch], list[_Stretch]]:
    """Plateaus, and the stretches between them that are none."""
    grown = [_grown(thin, stretch) for stretch in _stretches(local_slopes(thin))]
    plateaus = [stretch for stretch in grown if _is_plateau(thin, stretch)]
    shoulders = [stretch for stretch in grown if not _is_plateau(thin, stretch)]
    return _joined(thin, plateaus, MIN_STEP), shoulders


def _is_plateau(thin: LatencyCurve, stretch: _Stretch) -> bool:
    x, y = thin.x[stretch.first : stretch.last + 1], thin.y[stretch.first : stretch.last + 1]
    return len(x) >= 3 and x[-1] - x[0] >= MIN_SPAN and abs(median_slope(x, y)) < MAX_SLOPE


def _tolerance(thin: LatencyCurve, stretch: _Stretch) -> float:
    sigma = noise(thin.take(range(stretch.first, stretch.last + 1)))
    return min(max(4.0 * sigma, EDGE), 1.5 * EDGE)


def _grown(thin: LatencyCurve, stretch: _Stretch) -> _Stretch:
    """The stretch with the neighbours at its level: seen through the window, points beside a step look like a rise."""
    tolerance = _tolerance(thin, stretch)
    first, last = stretch.first, stretch.last
    low = median(thin.y[first : min(last, first + 2) + 1])
    high = median(thin.y[max(first, last - 2) : last + 1])
    while first > 0 and abs(thin.y[first - 1] - low) <= tolerance:
        first -= 1
    while last < len(thin) - 1 and abs(thin.y[last + 1] - high) <= tolerance:
        last += 1
    return _Stretch(first, last)


def _with_tail(thin: LatencyCurve, plateaus: Sequence[_Stretch]) -> tuple[list[_Stretch], bool]:
    """The plateaus with the last one drawn to the end of the data, and whether the curve leaves it instead."""
    final = plateaus[-1]
    end = _Stretch(max(final.last, len(thin) - 3), len(thin) - 1)
    if _step(thin, final, end) < TAIL:
        return [*plateaus[:-1], _Stretch(final.first, len(thin) - 1)], False
    return list(plateaus), True


_Bound = tuple[int, int, int | None, int | None]


def _bounds(usable: LatencyCurve, thin: LatencyCurve, plateau: _Stretch) -> _Bound:
    """Outermost sizes at the level, walking outwards from the ends of the plateau over every usable size."""
    tolerance = _tolerance(thin, plateau)
    low_end = thin.y[plateau.first : min(plateau.last, plateau.first + 2) + 1]
    high_end = thin.y[max(plateau.first, plateau.last - 2) : plateau.last + 1]
    first = usable.sizes.index(thin.sizes[plateau.first])
    last = usable.sizes.index(thin.sizes[plateau.last])
    down = _walk(usable, first, -1, median(low_end), tolerance)
    up = len(usable) - 1 if plateau.last == len(thin) - 1 else _walk(usable, last, 1, median(high_end), tolerance)
    lower, upper = usable.sizes[down], usable.sizes[up]
    below = None if down == 0 else usable.sizes[down - 1]
    above = None if up == len(usable) - 1 else usable.sizes[up + 1]
    return lower, upper, below, above


def _walk(usable: LatencyCurve, start: int, direction: int, level: float, tolerance: float) -> int:
    """The last index in `direction` within the tolerance; one size off it is passed over if the next is back."""
    inside = [abs(y - level) <= tolerance for y in usable.y]
    at = start
    while 0 <= at + direction < len(inside):
        if inside[at + direction]:
            at += direction
        elif 0 <= at + 2 * direction < len(inside) and inside[at + 2 * direction]:
            at += 2 * direction
        else:
            break
    return at


def _level(name: str, bound: _Bound, latencies: Mapping[int, float], thin: LatencyCurve, granule: int) -> MemoryLevel:
    lower, upper, below, above = bound
    chosen = [i for i, size in enumerate(thin.sizes) if lower <= size <= upper]
    middle = (lower + upper) // 2
    optimum = max(middle // granule * granule, granule)
    sizes = tuple(thin.sizes[i] for i in chosen)
    values = tuple(latencies[size] for size in sizes)
    scatter = noise(thin.take(chosen))
    return MemoryLevel(name, lower, upper, optimum, shorth_median(values), sizes, values, scatter, below, above)


def _notes(
    thin: LatencyCurve, plateaus: Sequence[_Stretch], shoulders: Sequence[_Stretch], open_end: bool
) -> dict[str, str]:
    """Notes on shoulders that do not overlap a plateau, and on a curve that still rises at its end."""
    notes = {}
    apart = [s for s in shoulders if not any(p.first <= s.last and s.first <= p.last for p in plateaus)]
    middles = [thin.sizes[(s.first + s.last) // 2] for s in apart if s.last > s.first]
    if middles:
        notes["shoulder"] = (
            f"around {', '.join(map(str, middles))} B the latency rises more slowly without a plateau: not a level"
        )
    if open_end:
        notes["open-end"] = "the latency still rises at the largest size: the sweep ends before the next level"
    return notes
