"""The interval for a ratio between nested samples, such as repeats that consist of visits.

The visits of one repeat are close together in time, so an interval that treats all visits as independent is too narrow.
The hierarchical bootstrap first draws repeats, and then visits within each of them. Sources: Davison and Hinkley,
Bootstrap Methods and their Application, 1997, section 3.8; Kalibera and Jones, "Rigorous benchmarking in reasonable
time", ISMM 2013.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from statistics import median

Nested = Sequence[Sequence[float]]
"""Repeats, each with one value per visit."""
REPLICATES = 2000
_CONFIDENCE = 0.95


def ratio_interval(base: Nested, new: Nested) -> tuple[float, float] | None:
    """Return the 95 % percentile interval for the ratio of the medians, `new / base`, or None if `base` or `new` has
    fewer than two repeats.

    The same samples always give the same interval. Raises ValueError if a repeat is empty or a value is not positive.
    """
    if min((value for side in (base, new) for visits in side for value in visits), default=0.0) <= 0.0:
        raise ValueError("a ratio requires positive values")
    if not all(visits for side in (base, new) for visits in side):
        raise ValueError("a repeat requires at least one visit")
    if min(len(base), len(new)) < 2:
        return None
    if all(len(visits) == 1 for side in (base, new) for visits in side):
        ratios = _of_single_visits(base, new)
    else:
        ratios = sorted(after / before for before, after in zip(_medians(base, 0), _medians(new, 1), strict=True))
    outside = round(REPLICATES * (1.0 - _CONFIDENCE) / 2.0)
    return ratios[outside], ratios[-1 - outside]


def _of_single_visits(base: Nested, new: Nested) -> list[float]:
    """Return the sorted ratios of all replicates for repeats that consist of one visit each.

    All visits are treated as if they belonged to one repeat. Many replicates are equal, so the ratio of each distinct
    replicate is computed only once.
    """
    before, after = (sorted(visits[0] for visits in side) for side in (base, new))
    counts = _common(len(before), len(after))
    ratios = sorted(((after[c] + after[d]) / (before[a] + before[b]), count) for (a, b, c, d), count in counts.items())
    return [ratio for ratio, count in ratios for _ in range(count)]


@lru_cache(maxsize=32)
def _common(base: int, new: int) -> Counter[tuple[int, int, int, int]]:
    """Count the replicates by the ranks of their middle visits in the two samples."""
    pairs = zip(_drawn((base,), 0), _drawn((new,), 1), strict=True)
    return Counter((*first[1:], *second[1:]) for (first,), (second,) in pairs)


def _medians(nested: Nested, seed: int) -> list[float]:
    """Return the median of each replicate. A replicate draws repeats, and visits within each of them, with replacement.
    Its median is computed from the medians of the drawn repeats."""
    rows = [sorted(visits) for visits in nested]
    return [
        median([(rows[at][low] + rows[at][high]) / 2.0 for at, low, high in drawn])
        for drawn in _drawn(tuple(map(len, rows)), seed)
    ]


@lru_cache(maxsize=32)
def _drawn(sizes: tuple[int, ...], seed: int) -> tuple[tuple[tuple[int, int, int], ...], ...]:
    """Return, for each replicate, the repeats that were drawn. Each repeat comes with the ranks of the middle visits
    (one or two) among the visits drawn from it. The draws are cached for all data of the same shape, because drawing
    takes longer than looking up values."""
    rng = random.Random(seed)  # noqa: S311 - not cryptographic; reports must be reproducible
    return tuple(tuple(_one_repeat(rng, sizes) for _ in sizes) for _ in range(REPLICATES))


def _one_repeat(rng: random.Random, sizes: Sequence[int]) -> tuple[int, int, int]:
    at = rng.randrange(len(sizes))
    ranks = sorted(rng.choices(range(sizes[at]), k=sizes[at]))
    return at, ranks[(len(ranks) - 1) // 2], ranks[len(ranks) // 2]
