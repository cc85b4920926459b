"""A metric: the name, unit and direction of a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from asct.sdk.record import Scalar

Unit = Literal["s", "B/s", "ops/s", "cycles", "B/cycle", "B", "Hz", "1", "%", "degC"]
Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One quantity that a benchmark reports.

    `coords` names where in the result a value stands (level, size, traffic ...): each key maps to the values it may
    take, or None when they are only known after measuring. `comparable` is False for values that expectations and
    `diff` must not judge (a size that was used, for instance).
    """

    name: str
    unit: Unit
    better: Better
    help: str
    coords: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class Highlight:
    """A number for the top of a report, named `label`: the best of the values of `metric` that stand at `at`.

    `at` has every coordinate of such a value; None takes any place along that one.
    """

    metric: str
    label: str
    at: Mapping[str, Scalar | None] = field(default_factory=dict)
