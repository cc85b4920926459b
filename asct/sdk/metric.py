"""A metric: the name, unit and direction of a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["s", "B/s", "ops/s", "cycles", "B/cycle", "B", "Hz", "1", "%"]
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
