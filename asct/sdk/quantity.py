"""Quantities that a run may measure more than once, in several benchmarks or as several values of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Scalar

Conditions = Callable[[Mapping[str, Any], "HostFacts"], Mapping[str, Any]]
"""Returns the conditions of a measurement by name, from the settings of its point and the facts of its host."""


class Quantity(NamedTuple):
    """The values of a benchmark that measure the quantity `name`.

    They are the values of `metric` whose coordinates are those in `at`, with these values (None: any). Two values of a
    run measure the same if all of these are equal: name, host, conditions, and the coordinates in `keys` (by name: the
    coordinate of the value) and `fixed`. `also` lists metrics that express the same value in another unit.

    `curve` names two metrics that hold, for each level, the smallest and the largest size at which the level was
    measured: the values of all sizes in this range together measure the level.
    """

    name: str
    metric: str
    at: Mapping[str, Scalar | None]
    keys: Mapping[str, str] = {}
    fixed: Mapping[str, Scalar] = {}
    also: tuple[str, ...] = ()
    conditions: Conditions | None = None
    curve: tuple[str, str] | None = None


def settings(*names: str) -> Conditions:
    """Return a function that returns the settings `names` as conditions."""

    def of(values: Mapping[str, Any], facts: HostFacts) -> Mapping[str, Any]:
        return {name: values.get(name) for name in names}

    return of
