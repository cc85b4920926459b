"""Quantities that a run may measure more than once, either with several benchmarks or with several values of one
benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Scalar

Conditions = Callable[[Mapping[str, Any], "HostFacts"], Mapping[str, Any]]
"""A function that returns a mapping from the names of a measurement's conditions to their values, given the settings of
its point and the facts of its host."""


class Quantity(NamedTuple):
    """How a benchmark measures the quantity `name`: by the values of `metric` at the coordinates `at` (None matches any
    value of a coordinate). Two values in a run measure the same quantity if they agree in name, host and conditions, in
    the coordinates listed in `keys` (a mapping from common names to the value's own coordinates), and in `fixed`.
    `also` lists metrics that express the same value in another unit, and metrics with fewer coordinates, which are the
    largest of the values that share these coordinates.

    `curve` names two metrics: the smallest and the largest size at which a level was measured. All values at sizes in
    this range together measure the level.

    Two values agree if their intervals overlap, or if they differ by at most `tolerance` (a share of the smaller one).
    A value that is only a `lower_bound` of the quantity is compared only with values below it.
    """

    name: str
    metric: str
    at: Mapping[str, Scalar | None]
    keys: Mapping[str, str] = {}
    fixed: Mapping[str, Scalar] = {}
    also: tuple[str, ...] = ()
    conditions: Conditions | None = None
    curve: tuple[str, str] | None = None
    tolerance: float = 0.05
    lower_bound: bool = False


def settings(*names: str) -> Conditions:
    """Return a function that returns the conditions of a measurement: the settings listed in `names`."""

    def of(values: Mapping[str, Any], facts: HostFacts) -> Mapping[str, Any]:
        return {name: values.get(name) for name in names}

    return of
