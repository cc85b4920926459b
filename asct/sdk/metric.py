"""A metric: the name, unit and direction of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from asct.sdk.record import Scalar

Unit = Literal["s", "B/s", "ops/s", "cycles", "B/cycle", "B", "Hz", "1", "%", "degC"]
Better = Literal["lower", "higher", "neither"]
Coords = dict[str, tuple[str, ...] | None]
"""The coordinates of a metric's values, as described for `Metric.coords`."""


class Metric(NamedTuple):
    """One quantity that a benchmark reports.

    `coords` maps each coordinate of the metric's values (level, size, traffic, ...) to the values that the coordinate
    can have, or to None if they are known only after the measurement. `comparable` is False for values that
    expectations and `diff` must ignore, such as the size that was used.
    """

    name: str
    unit: Unit
    better: Better
    help: str
    coords: Mapping[str, tuple[str, ...] | None] = {}
    comparable: bool = True

    @classmethod
    def info(cls, name: str, unit: Unit, help: str, coords: Mapping[str, tuple[str, ...] | None] = {}) -> Metric:
        """Return a metric for information only: no value is better than another, and values are not compared."""
        return cls(name, unit, "neither", help, coords, comparable=False)


class Highlight(NamedTuple):
    """A number at the top of a report, labeled `label`: the best value of `metric` at the coordinates `at`.

    `at` contains every coordinate of the metric's values; None matches any value of a coordinate. Reports group the
    numbers by `subject`. An empty `subject` is derived from the benchmark's family and the metric's unit (`memory
    latency`).
    """

    metric: str
    label: str
    at: Mapping[str, Scalar | None] = {}
    subject: str = ""
