"""How much values tell that came one after the other: neighbours in time may be alike.

Sources: Bayley and Hammersley, "The effective number of independent observations in an autocorrelated time series",
Supplement to the Journal of the Royal Statistical Society 8, 1946 (for a memory that fades geometrically); Blomqvist,
"On a measure of dependence between two random variables", Annals of Mathematical Statistics 21, 1950 (quadrant
correlation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from asct.statistics.robust import median

CORRELATION_MAX: Final = 0.99


def neighbour_correlation(values: Sequence[float]) -> float:
    """Correlation of each value with the next, from how often both lie on the same side of the median; outliers cannot
    hide it. `values` are in the order of time; 0.0 to `CORRELATION_MAX`, where neighbours that repel each other are 0.
    Raises ValueError on none."""
    middle = median(values)
    sides = [(value > middle) - (value < middle) for value in values]
    together, apart = sum(a * b for a, b in pairwise(sides)), sum(side * side for side in sides)
    return min(CORRELATION_MAX, math.sin(math.pi / 2 * together / apart)) if together > 0 else 0.0


def effective_count(values: Sequence[float]) -> float:
    """How many independent values tell as much about the median as these, n (1 - r) / (1 + r): from 1 to n.

    The kernels do the same in kit/stats.h. Raises ValueError on none.
    """
    r = neighbour_correlation(values)
    return max(1.0, len(values) * (1.0 - r) / (1.0 + r))
