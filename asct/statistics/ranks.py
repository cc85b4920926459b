"""The Mann-Whitney test for two independent samples, and the correction for many tests at once.

Sources: Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the other",
Annals of Mathematical Statistics 18, 1947; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed.
2014, chapter 4 (ties, normal approximation); Holm, "A simple sequentially rejective multiple test procedure",
Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate

EXACT_MOST = 60
"""Maximum number of values, in both samples together, for which probabilities are computed exactly. For more values, a
normal approximation is used."""


def greater_p(base: Sequence[float], new: Sequence[float]) -> float:
    """Return the one-sided p-value of the Mann-Whitney test: the probability that `new` ranks at least as high as it
    does if both samples come from the same distribution.

    Tied values get the mean of their ranks, and the probability is conditional on the ties. Raises ValueError if a
    sample is empty.
    """
    if not base or not new:
        raise ValueError("a test of two samples requires at least one value in each")
    ranks = doubled_ranks([*base, *new])
    total = sum(ranks[len(base) :])
    if len(ranks) <= EXACT_MOST:
        return _exact_p(tuple(sorted(ranks)), len(new), total)
    return _normal_p(ranks, len(new), total)


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, starting at 2. Doubling makes the mean rank of tied values an integer."""
    counts = Counter(values)
    ordered = sorted(counts)
    below = accumulate((counts[value] for value in ordered), initial=0)
    ranks = {value: 2 * before + counts[value] + 1 for value, before in zip(ordered, below, strict=False)}
    return [ranks[value] for value in values]


@lru_cache(maxsize=1024)
def _exact_p(ranks: tuple[int, ...], count: int, total: int) -> float:
    """Choose `count` of the ranks in every possible way and return the share of choices with a sum of at least
    `total`."""
    sums = rank_sums(ranks, count)
    return sum(number for value, number in sums.items() if value >= total) / math.comb(len(ranks), count)


@lru_cache(maxsize=128)
def rank_sums(ranks: tuple[int, ...], count: int) -> Counter[int]:
    """For each sum, return the number of ways to choose `count` of the ranks so that they have this sum.

    Each polynomial of the generating function is stored as one integer whose digits in base 2^width are the
    coefficients, so multiplying by x^rank is a shift.
    """
    width = math.comb(len(ranks), count).bit_length() + 1
    chosen = [1] + [0] * count
    for rank in ranks:
        for number in range(count, 0, -1):
            chosen[number] += chosen[number - 1] << width * rank
    mask = (1 << width) - 1
    top = sum(ranks[-count:])
    found = ((value, chosen[count] >> width * value & mask) for value in range(top + 1))
    return Counter({value: number for value, number in found if number})


def _normal_p(ranks: Sequence[int], count: int, total: int) -> float:
    """Return the normal approximation, with a continuity correction and with a variance that is reduced by ties."""
    every, rest = len(ranks), len(ranks) - count
    ties = sum(number**3 - number for number in Counter(ranks).values())
    spread = count * rest / 12.0 * (every + 1 - ties / (every * (every - 1)))
    if spread <= 0.0:
        return 1.0
    excess = total / 2.0 - count * (every + 1) / 2.0
    return 0.5 * math.erfc((excess - 0.5) / math.sqrt(2.0 * spread))


def least_each(level: float, tests: int = 1) -> int:
    """Return how many values each of two equally large samples needs so that one of `tests` simultaneous tests can be
    significant at `level`. At this size, the most extreme arrangement is only just improbable enough for one test."""
    count = 1
    while 1.0 / math.comb(2 * count, count) > level / tests:
        count += 1
    return count


def can_reach(base: int, new: int, level: float, tests: int = 1) -> bool:
    """Return whether a difference between samples of these sizes can be significant at `level` in one of `tests`
    simultaneous tests."""
    return base > 0 and new > 0 and 1.0 / math.comb(base + new, new) <= level / tests


def holm(p_values: Iterable[float]) -> list[float]:
    """Return the p-values adjusted by Holm's method. If every hypothesis with an adjusted p-value of at most some level
    is rejected, then the probability of rejecting a true one is at most that level, however the tests depend on one
    another."""
    values = list(p_values)
    order = sorted(range(len(values)), key=values.__getitem__)
    raised = accumulate((min(1.0, (len(values) - place) * values[index]) for place, index in enumerate(order)), max)
    adjusted = dict(zip(order, raised, strict=True))
    return [adjusted[index] for index in range(len(values))]
