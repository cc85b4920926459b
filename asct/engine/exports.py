"""Results that jobs hand to the jobs that need them: the median over the repeats, typed as the benchmark declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median, median_low, mode

from asct.sdk.record import Scalar

Exported = Mapping[str, Scalar]


class ExportLedger:
    """What the repeats of one job exported, per point."""

    def __init__(self) -> None:
        self._by_point: dict[str, list[Exported]] = {}

    def add(self, point_id: str, exported: Exported) -> None:
        """Note one repeat."""
        self._by_point.setdefault(point_id, []).append(exported)

    def values(self) -> dict[str, Scalar]:
        """One value per path. A path on which the points of the job differ is left out: none of them is the one."""
        per_point = [combined(repeats) for repeats in self._by_point.values()]
        paths = dict.fromkeys(path for values in per_point for path in values)
        found: dict[str, Scalar] = {}
        for path in paths:
            distinct = {values[path] for values in per_point if path in values}
            if len(distinct) == 1:
                found[path] = distinct.pop()
        return found


def combined(repeats: Sequence[Exported]) -> dict[str, Scalar]:
    """Repeats of one point, path by path; a path that only some repeats found counts with those."""
    paths = dict.fromkeys(path for values in repeats for path in values)
    return {path: middle([values[path] for values in repeats if path in values]) for path in paths}


def middle(values: Sequence[Scalar]) -> Scalar:
    """Median of numbers (of whole numbers the lower of the middle two, which was measured); else the most frequent."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return median_low(_numbers(values))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return median(_numbers(values))
    return mode(values)


def _numbers(values: Iterable[Scalar]) -> list[float]:
    return [value for value in values if isinstance(value, int | float)]
