"""The limits of an expectation: read in the unit of the metric, and told in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from asct.plan.model import Bound, Expectation, Node
from asct.planner.ground import Ground
from asct.values.problem import BadValueError, shown
from asct.values.quantity import parse_quantity

Spoken = tuple[str, Node]
"""("at least", the node as written)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds as numbers: in the metric's base unit, or fractions of what `of` names. `no_worse_than` is a fraction."""

    min: float | None = None
    max: float | None = None
    no_worse_than: float | None = None
    nodes: tuple[Spoken, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is bounded."""
        return not self.nodes


def read_limits(ground: Ground, expectation: Expectation, bound: Bound, unit: str) -> Limits:
    """The limits of one bound; what cannot be read is an error at its place."""
    lowest = _read(ground, bound.min, unit, relative=expectation.of is not None)
    highest = _read(ground, bound.max, unit, relative=expectation.of is not None)
    worse = _share(ground, bound.no_worse_than) if bound.no_worse_than else None
    if lowest is not None and highest is not None and bound.max is not None and lowest > highest:
        ground.findings.error("E234", "`min` is above `max`", bound.max.span, "nothing can be within these bounds")
    spoken = (("at least", bound.min), ("at most", bound.max), ("no worse than baseline by", bound.no_worse_than))
    nodes = tuple((words, node) for words, node in spoken if node is not None)
    if not nodes and not expectation.by:
        hint = "give `min`, `max`, or `versus: baseline` with `no_worse_than`"
        ground.findings.error("E234", "the expectation sets no bound", expectation.span, hint)
    return Limits(lowest, highest, worse, nodes)


def _read(ground: Ground, node: Node | None, unit: str, *, relative: bool) -> float | None:
    if node is None:
        return None
    if relative:
        return _share(ground, node)
    if isinstance(node.value, str) and node.value.strip().endswith("%") and unit not in ("%", "1"):
        message = f"`{shown(node.value)}` of what? this metric is in {unit}"
        ground.findings.error(
            "E234", message, node.span, "add `of: theoretical_bandwidth`, or write a bound with a unit"
        )
        return None
    try:
        return parse_quantity(node.value, unit)
    except BadValueError as error:
        ground.findings.error("E234", error.message, node.span, error.hint)
        return None


def _share(ground: Ground, node: Node) -> float | None:
    """A percentage as a fraction; divided exactly, so that 5% is the double nearest to 0.05."""
    text = node.value.strip() if isinstance(node.value, str) else ""
    try:
        if not text.endswith("%") or text.startswith("-"):
            raise ValueError
        return float(Fraction(text[:-1].strip()) / 100)
    except (ValueError, ZeroDivisionError):
        message = f"`{shown(node.value)}` is not a percentage"
        ground.findings.error("E234", message, node.span, "write a percentage: `5%`")
        return None


def describe(expectation: Expectation, nodes: Sequence[Spoken]) -> str:
    """`latency-sweep.latency at level DRAM: at most 130 ns`."""
    place = ", ".join(f"{key} {node.plain()}" for key, node in expectation.at.items())
    bounds = ", ".join(f"{words} {node.plain()}" for words, node in nodes)
    share = f" of {expectation.of.value}" if expectation.of else ""
    return f"{expectation.metric.value}{f' at {place}' if place else ''}: {bounds}{share}"
