"""The interval of a ratio between nested samples, such as repeats that consist of visits.

Visits of one repeat share its moment, so treating all of them as independent makes an interval too narrow. The
hierarchical bootstrap draws repeats first, and then visits within each of them. Sources: Davison and Hinkley, Bootstrap
Methods and their Application, 1997, section 3.8; Kalibera and Jones, "Rigorous benchmarking in reasonable time",
ISMM 2013.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median

Nested = Sequence[Sequence[float]]
"""Repeats, each with one value per visit."""
REPLICATES = 2000


def ratio_interval(base: Nested, new: Nested, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the percentile interval of the ratio of medians, `new / base`; None if either has fewer than two repeats.

    The same samples always give the same interval. Raises ValueError if a repeat is empty or a value is not positive.
    """
    if min((value for side in (base, new) for visits in side for value in visits), default=0.0) <= 0.0:
        raise ValueError("a ratio requires positive values")
    if not all(visits for side in (base, new) for visits in side):
        raise ValueError("a repeat requires at least one visit")
    if min(len(base), len(new)) < 2:
        return None
    rng = random.Random(0)  # noqa: S311 - not cryptographic; reports must be reproducible
    ratios = sorted(_resampled(new, rng) / _resampled(base, rng) for _ in range(REPLICATES))
    outside = round(REPLICATES * (1.0 - confidence) / 2.0)
    return ratios[outside], ratios[-1 - outside]


def _resampled(nested: Nested, rng: random.Random) -> float:
    """Return the median over repeats drawn with replacement of the medians of visits drawn with replacement."""
    return median(median(rng.choices(visits, k=len(visits))) for visits in rng.choices(nested, k=len(nested)))
