"""Compile an expression tree to a function whose argument provides the values that the expression reads.

Numbers are int or float. Text that represents a size is converted to bytes, and text that represents a duration is
converted to Seconds. Integers are limited to 64 bits, and all other results must be finite.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from asct.plan.expressions import Expression, ExpressionError, Seconds, measured
from asct.values.error import BadValueError, shown

Values = Mapping[str, Any]
Run = Callable[[Values], Any]

_LARGEST: Final = 2**63
_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBER_TYPES: Final = frozenset({int, float})


def compiled(tree: Expression, known: Values) -> Run:
    """Compile a tree to a function. Paths in `known` are replaced with their values; the function's argument provides
    the values of all others.

    The function raises ExpressionError (E122) for wrong types, division by zero and results that are out of range.
    """
    if tree.kind == "const":
        return _constant(tree.value)
    if tree.kind == "path":
        return _constant(known[tree.value]) if tree.value in known else operator.itemgetter(tree.value)
    parts = [compiled(part, known) for part in tree.parts]
    if tree.kind in ("and", "or"):
        return _logic(tree, parts)
    if tree.kind == "not":
        return lambda values: not _truth(parts[0](values), tree.parts[0])
    if tree.kind == "negative":
        return lambda values: _negative(parts[0](values), tree)
    if tree.kind == "call":
        return lambda values: _called(tree, [part(values) for part in parts])
    return _binary(tree, *parts)


def _constant(value: Any) -> Run:
    return lambda values: value


def _logic(tree: Expression, parts: list[Run]) -> Run:
    pairs = list(zip(parts, tree.parts, strict=True))
    stop = tree.kind == "or"

    def run(values: Values) -> bool:
        return next((stop for part, where in pairs if _truth(part(values), where) is stop), not stop)

    return run


def _binary(tree: Expression, left: Run, right: Run) -> Run:
    if tree.kind in ("==", "!="):
        same = tree.kind == "=="
        return lambda values: _equal(left(values), right(values)) is same
    if tree.kind in _ORDER:
        return _ordered(tree, left, right)
    apply = _ARITHMETIC[tree.kind]
    return lambda values: _computed(tree, apply, left(values), right(values))


def _ordered(tree: Expression, left: Run, right: Run) -> Run:
    compare = _ORDER[tree.kind]

    def run(values: Values) -> bool:
        one, other = left(values), right(values)
        if type(one) in _NUMBER_TYPES and type(other) in _NUMBER_TYPES:
            return compare(one, other)
        return compare(_number(one, tree.parts[0]), _number(other, tree.parts[1]))

    return run


def _truth(value: Any, tree: Expression) -> bool:
    if isinstance(value, bool):
        return value
    message = f"`{_written(value)}` is neither true nor false"
    raise ExpressionError("E122", message, tree.at, tree.length, "write a comparison, such as `iodepth > 0`")


def _number(value: Any, tree: Expression) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        with suppress(BadValueError):
            return _measured(value)
    raise ExpressionError("E122", f"`{_written(value)}` is not a number", tree.at, tree.length, "use a number")


@lru_cache(maxsize=1024)
def _measured(text: str) -> int | float | Seconds:
    try:
        return measured(text)
    except BadValueError:
        with suppress(ValueError):
            return float(text)
        raise


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal. A number and text such as `4K` are compared as numbers."""
    if isinstance(one, str) is not isinstance(other, str) and not isinstance(one, bool) and not isinstance(other, bool):
        nowhere = Expression("const", 0)
        try:
            return bool(_number(one, nowhere) == _number(other, nowhere))
        except ExpressionError:
            return False
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _computed(tree: Expression, apply: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if type(one) not in _NUMBER_TYPES or type(other) not in _NUMBER_TYPES:
        one, other = _number(one, tree.parts[0]), _number(other, tree.parts[1])
    if other == 0 and tree.kind in ("//", "%"):
        right = tree.parts[1]
        raise ExpressionError("E122", "division by zero", right.at, right.length, "use a divisor other than 0")
    timed = _unit(tree, isinstance(one, Seconds), isinstance(other, Seconds))
    try:
        result = apply(float(one) if timed else one, other)
    except OverflowError:
        raise _out_of_range(tree) from None
    return _bounded(Seconds(result) if timed else result, tree)


def _unit(tree: Expression, one: bool, other: bool) -> bool:
    """Return whether the result is a duration. Raises ExpressionError (E122) for a meaningless operation (`30s +
    5`)."""
    if not one and not other:
        return False
    if tree.kind == "//" and one:
        return not other
    if (tree.kind == "*" and one is not other) or (tree.kind in ("+", "-", "%") and one and other):
        return True
    message = f"`{tree.kind}` cannot combine a duration and " + ("a duration" if one and other else "a plain number")
    hint = (
        "give both sides a unit, such as `30s`" if tree.kind in ("+", "-", "%") else "use a duration on one side only"
    )
    raise ExpressionError("E122", message, tree.at, tree.length, hint)


def _negative(value: Any, tree: Expression) -> Any:
    number = _number(value, tree.parts[0])
    return Seconds(-number) if isinstance(number, Seconds) else -number


def _called(tree: Expression, given: list[Any]) -> Any:
    numbers = [_number(value, part) for value, part in zip(given, tree.parts, strict=True)]
    timed = [isinstance(number, Seconds) for number in numbers]
    if tree.value in ("min", "max"):
        if any(timed) and not all(timed):
            message = f"`{tree.value}` mixes durations and plain numbers"
            raise ExpressionError("E122", message, tree.at, tree.length, "give each of them a unit, such as `30s`")
        return (min if tree.value == "min" else max)(numbers)
    whole = (math.floor if tree.value == "floor" else math.ceil)(numbers[0])
    return Seconds(whole) if timed[0] else _bounded(whole, tree)


def _bounded(value: Any, tree: Expression) -> Any:
    if isinstance(value, int):
        if abs(value) <= _LARGEST:
            return value
    elif math.isfinite(value):
        return value
    raise _out_of_range(tree)


def _out_of_range(tree: Expression) -> ExpressionError:
    return ExpressionError("E122", "the result is out of range", tree.at, tree.length, "keep results below 2^63")


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a map"
    return "null" if value is None else shown(value)
