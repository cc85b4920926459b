"""A metric: the name, unit and direction of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from asct.sdk.record import Scalar

Unit = Literal["s", "B/s", "ops/s", "cycles", "B/cycle", "B", "Hz", "1", "%", "degC"]
Better = Literal["lower", "higher", "neither"]


class Metric(NamedTuple):
    """One quantity that a benchmark reports.

    `coords` are the coordinates of its values (level, size, traffic ...): each key maps to the possible values, or None
    if they are known only after the measurement. `comparable` is False for values that expectations and `diff` must not
    judge, such as a size that was used.
    """

    name: str
    unit: Unit
    better: Better
    help: str
    coords: Mapping[str, tuple[str, ...] | None] = {}
    comparable: bool = True


class Highlight(NamedTuple):
    """A number for the top of a report, named `label`: the best of the values of `metric` with the coordinates `at`.

    `at` has every coordinate of such a value; None matches any value of that coordinate.
    """

    metric: str
    label: str
    at: Mapping[str, Scalar | None] = {}
