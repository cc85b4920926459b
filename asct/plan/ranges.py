"""The values of a sweep axis: a list, `{from, to, step}` or `{from, to, times}`. `to` is included if the steps reach
it.

    {from: 1, to: 128, times: 2}      1 2 4 ... 128
    {from: 4K, to: 128K, times: 2}    4K 8K ... 128K
    {from: 10s, to: 30s, step: 10s}   10s 20s 30s
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

from asct.diagnostics.model import Diagnostic
from asct.errors import PlanError
from asct.plan.model import Node
from asct.values.duration import format_duration, parse_duration
from asct.values.error import BadValueError, clip
from asct.values.quantity import parse_count
from asct.values.size import format_size, parse_size
from asct.values.suggest import did_you_mean

MAX_VALUES: Final = 100_000
MAX_BITS: Final = 20_000
"""Maximum size of exact fractions. Without this limit, factors such as 1.0000001 would cause endless computations."""

Kind = Literal["number", "size", "duration", "count"]

_KEYS: Final = ("from", "to", "step", "times")
_HINT: Final = "write a list, `{from: 1, to: 128, times: 2}` or `{from: 0, to: 100, step: 10}`"


class _Range(NamedTuple):
    first: Fraction
    last: Fraction
    amount: Fraction
    times: bool
    kind: Kind


def axis_values(node: Node, kind: Kind | None = None) -> list[Node]:
    """Return the raw values of an axis with their locations. Templates must already have been evaluated.

    The values of a range are numbers or, for sizes and durations, text (`8K`, `20s`), as they would be in a list.
    `kind` is the type of the setting; if it is omitted, the ends of the range determine it. Raises PlanError (E124).
    """
    if isinstance(node.value, list):
        if not node.value:
            raise _problem(node, "the axis has no values", "add a value, or remove the axis")
        return node.value
    if not isinstance(node.value, dict):
        raise _problem(node, f"`{clip(node.value)}` is not an axis", f"{_HINT}; move a single value under `config`")
    _check_keys(node)
    found = _read(node, kind)
    _check_end(node, found)
    return [node._replace(value=_plan_value(value, found.kind)) for value in _values(found, node)]


def _problem(node: Node, message: str, hint: str) -> PlanError:
    return PlanError(Diagnostic("E124", message, node.span, hint=hint))


def _check_keys(node: Node) -> None:
    members: dict[str, Node] = node.value
    found = [
        Diagnostic("E124", f"unknown key `{clip(key)}` in a range", item.key_span, hint=did_you_mean(key, _KEYS))
        for key, item in members.items()
        if key not in _KEYS
    ]
    if found:
        raise PlanError(*found)
    found += [
        Diagnostic("E124", f"the range has no `{key}`", node.span, hint=_HINT)
        for key in ("from", "to")
        if key not in members
    ]
    if ("step" in members) is ("times" in members):
        message = (
            "the range has both `step` and `times`" if "step" in members else "the range has neither `step` nor `times`"
        )
        found.append(Diagnostic("E124", message, node.span, hint="`step` adds, `times` multiplies: use one of them"))
    if found:
        raise PlanError(*found)


def _read(node: Node, kind: Kind | None) -> _Range:
    members: dict[str, Node] = node.value
    times = "times" in members
    ends = [members["from"], members["to"]] + ([] if times else [members["step"]])
    chosen = kind or _kind_of(ends)
    numbers = [_number(item, chosen) for item in ends]
    amount = _number(members["times"], "number") if times else numbers[2]
    return _Range(numbers[0], numbers[1], amount, times, chosen)


def _kind_of(ends: list[Node]) -> Kind:
    """Return the kind of a range: numbers, sizes, durations or counts. A range from `4k` to `8K` is a range of sizes;
    the size parser then rejects `4k`."""
    texts = [item.value for item in ends if isinstance(item.value, str)]
    units = [text for text in texts if not text.strip().isdecimal()]
    if not texts:
        return "number"
    if all(_reads(parse_duration, text) for text in units):
        return "duration" if units else "size"
    if all(_reads(parse_count, text) and not _reads(parse_size, text) for text in units):
        return "count"
    return "size"


def _reads(read: Callable[[object], object], text: str) -> bool:
    try:
        read(text)
    except BadValueError:
        return False
    return True


def _number(node: Node, kind: Kind) -> Fraction:
    """Return the exact value of an end, step or factor of a range. Decimal fractions are exact too (0.1 is 1/10)."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _problem(node, f"`{clip(value)}` is not a number", "write a number, a size or a duration")
    if kind == "duration" and isinstance(value, int | float) and value != 0:
        raise _problem(node, f"`{value}` needs a unit", f"write `{value}s`")
    if not isinstance(value, str):
        return Fraction(repr(value))
    if kind == "number":
        raise _problem(node, f"`{clip(value)}` is not a number", "write a plain number")
    try:
        if kind == "duration":
            return Fraction(repr(parse_duration(value)))
        return Fraction(parse_size(value)) if kind == "size" else Fraction(repr(parse_count(value)))
    except BadValueError as problem:
        diagnostic = Diagnostic("E124", problem.message, node.span, label=problem.label, hint=problem.hint)
        raise PlanError(diagnostic) from None


def _check_end(node: Node, found: _Range) -> None:
    """Reject a range that never reaches its end."""
    members: dict[str, Node] = node.value
    rising = found.last >= found.first
    if found.times:
        factor = members["times"]
        if found.first == 0 or found.last == 0 or (found.first < 0) is not (found.last < 0):
            where = members["from"] if found.first == 0 else members["to"]
            raise _problem(
                where, "a range with `times` cannot start at, end at or cross 0", "start at 1, or use `step`"
            )
        growing = rising is (found.first > 0)
        if found.amount <= 0 or found.amount == 1 or (found.amount > 1) is not growing:
            hint = "`times` must be above 1" if growing else "swap `from` and `to`, or use `times` between 0 and 1"
            raise _problem(factor, "the range never reaches its end", hint)
    elif found.amount == 0 or (found.amount > 0) is not rising:
        hint = "`step` must be above 0" if rising else "swap `from` and `to`, or use a `step` below 0"
        raise _problem(members["step"], "the range never reaches its end", hint)


def _values(found: _Range, node: Node) -> Iterator[Fraction]:
    value, count = found.first, 0
    rising = found.last >= found.first
    while (value <= found.last) if rising else (value >= found.last):
        count += 1
        if count > MAX_VALUES:
            raise _problem(node, f"the range has more than {MAX_VALUES} values", "use a larger step, or `times`")
        if value.denominator.bit_length() > MAX_BITS:
            raise _problem(node, "the values of the range have too many digits", "use a factor with fewer digits")
        yield value
        value = value * found.amount if found.times else value + found.amount


def _plan_value(value: Fraction, kind: Kind) -> Any:
    whole = value.denominator == 1
    if kind == "duration":
        return format_duration(float(value))
    if kind == "size" and whole and value >= 0:
        return format_size(value.numerator)
    return value.numerator if whole else float(value)
