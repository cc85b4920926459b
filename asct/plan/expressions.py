"""Parse and evaluate the expressions in `${...}` and `where`. This is the complete grammar:

condition  = conjunction {"or" conjunction}
conjunction = negation {"and" negation}
negation   = "not" negation | comparison
comparison = sum {("==" | "!=" | "<" | "<=" | ">" | ">=") sum}
sum        = product {("+" | "-") product}
product    = sign {("*" | "//" | "%") sign}
sign       = "-" sign | atom
atom       = number | size | duration | text | true | false | path | function "(" ... ")" | "(" condition ")"

Numbers are int or float. A size in text form is converted to bytes, and a duration in text form to Seconds. Integers
are limited to 64 bits, and all other results must be finite.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple

from asct.plan.scalars import resolve
from asct.values.duration import parse_duration
from asct.values.error import BadValueError, clip
from asct.values.size import parse_size

Values = Mapping[str, Any]
Run = Callable[[Values], Any]

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 60
FUNCTIONS: Final = ("min", "max", "floor", "ceil")
COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">")

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+(?![A-Za-z]))?(?P<suffix>[A-Za-zµ]*))
    | (?P<path>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<mark>//|==|!=|<=|>=|[-+*%<>(),])
    )""",
    re.VERBOSE | re.ASCII,
)
_LARGEST: Final = 2**63
_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBER_TYPES: Final = frozenset({int, float})


class Seconds(float):
    """A duration in an expression. Sums and multiples of durations are durations."""

    __slots__ = ()


class ExpressionError(Exception):
    """An error in an expression. `at` and `length` are the position and length of the invalid part, in characters."""

    def __init__(self, code: str, message: str, at: int, length: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.length = max(1, length)
        self.hint = hint

    def shifted(self, offset: int) -> ExpressionError:
        """Return the same error with its location shifted to match a text in which the expression starts at
        `offset`."""
        return ExpressionError(self.code, self.message, self.at + offset, self.length, self.hint)


class Expression(NamedTuple):
    """A node of an expression tree. `kind` is const, path, call or an operator; `value` is a constant, path or
    function; `at` is the node's position."""

    kind: str
    at: int
    length: int = 1
    value: Any = None
    parts: tuple[Expression, ...] = ()


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Parse an expression. Raises ExpressionError (E120) at the first syntax error."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            "E120", f"the expression has more than {MAX_LENGTH} characters", 0, 1, "move parts of it to `vars`"
        )
    return _Parser(_tokens(text), len(text)).whole()


def paths(tree: Expression) -> list[tuple[str, int, int]]:
    """Return the path, position and length of each path that the tree reads, in order."""
    found = [(tree.value, tree.at, tree.length)] if tree.kind == "path" else []
    for part in tree.parts:
        found += paths(part)
    return found


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unknown_mark(text, position + len(text[position:]) - len(text[position:].lstrip()))
        kind = "number" if found["number"] else str(found.lastgroup)
        tokens.append(_Token(kind, found[kind], found.start(kind)))
        position = found.end()
    return tokens


def _unknown_mark(text: str, at: int) -> ExpressionError:
    mark = text[at]
    hints = {
        "/": "write `//`, which rounds down",
        "=": "write `==` to compare",
        "'": "close the quote",
        '"': "close the quote",
        "&": "write `and`",
        "|": "write `or`",
        "!": "write `not`",
        "$": "write the path without `${`",
        "[": "lists are not supported: join comparisons with `or`",
        ".": "a path needs a name on both sides of its dot",
    }
    hint = hints.get(mark, "supported: paths, numbers, + - * // %, comparisons, min, max, floor, ceil, and, or, not")
    return ExpressionError("E120", f"`{clip(mark)}` is not part of the expression language", at, 1, hint)


class _Parser:
    """A recursive-descent parser with a depth limit."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens = tokens
        self._end = _Token("end", "", length)
        self._next = 0
        self._depth = 0

    def whole(self) -> Expression:
        tree = self._condition()
        extra = self._peek()
        if extra.kind != "end":
            hint = "write `//`, which rounds down" if extra.text == "/" else "add an operator before it"
            raise ExpressionError("E120", f"unexpected `{clip(extra.text)}`", extra.at, len(extra.text), hint)
        return tree

    def _peek(self) -> _Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else self._end

    def _take(self, *texts: str) -> _Token | None:
        token = self._peek()
        if token.kind not in ("mark", "path") or token.text not in texts:
            return None
        self._next += 1
        return token

    def _condition(self) -> Expression:
        return self._logic("or", lambda: self._logic("and", self._negation))

    def _logic(self, word: str, operand: Any) -> Expression:
        parts = [operand()]
        while self._take(word):
            parts.append(operand())
        return parts[0] if len(parts) == 1 else _joined(word, parts)

    def _negation(self) -> Expression:
        self._enter()
        token = self._take("not")
        tree = Expression("not", token.at, 3, None, (self._negation(),)) if token else self._comparison()
        self._depth -= 1
        return tree

    def _comparison(self) -> Expression:
        left = self._sum()
        links: list[Expression] = []
        while token := self._take(*COMPARISONS):
            right = self._sum()
            links.append(Expression(token.text, token.at, len(token.text), None, (left, right)))
            left = right
        if not links:
            return left
        return links[0] if len(links) == 1 else _joined("and", links)

    def _sum(self) -> Expression:
        left = self._product()
        while token := self._take("+", "-"):
            left = Expression(token.text, token.at, 1, None, (left, self._product()))
        return left

    def _product(self) -> Expression:
        left = self._sign()
        while token := self._take("*", "//", "%"):
            left = Expression(token.text, token.at, len(token.text), None, (left, self._sign()))
        return left

    def _sign(self) -> Expression:
        self._enter()
        token = self._take("-")
        tree = Expression("negative", token.at, 1, None, (self._sign(),)) if token else self._atom()
        self._depth -= 1
        return tree

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(
                "E120", "the expression is nested too deeply", self._peek().at, 1, "move parts of it to `vars`"
            )

    def _atom(self) -> Expression:
        token = self._peek()
        self._next += 1
        length = len(token.text)
        if token.kind == "number":
            return Expression("const", token.at, length, _literal(token))
        if token.kind == "text":
            return Expression("const", token.at, length, token.text[1:-1])
        if token.kind == "path" and token.text not in ("and", "or", "not"):
            return self._name(token)
        if token.text == "(":
            tree = self._condition()
            self._close(token)
            return tree
        what = f"`{token.text}` is not a value" if token.text else "the expression ends without a value"
        raise ExpressionError("E120", what, token.at, length, "write a number, a path such as `vars.name`, or `(`")

    def _name(self, token: _Token) -> Expression:
        opening = self._take("(")
        if opening is None:
            if token.text in ("true", "false"):
                return Expression("const", token.at, len(token.text), token.text == "true")
            return Expression("path", token.at, len(token.text), token.text)
        if token.text not in FUNCTIONS:
            hint = f"supported functions: {', '.join(FUNCTIONS)}"
            raise ExpressionError("E120", f"unknown function `{clip(token.text)}`", token.at, len(token.text), hint)
        arguments = [self._condition()]
        while self._take(","):
            arguments.append(self._condition())
        self._close(opening)
        if token.text in ("floor", "ceil") and len(arguments) > 1:
            raise ExpressionError(
                "E120", f"`{token.text}` takes one value", token.at, len(token.text), "pass one value"
            )
        return Expression("call", token.at, len(token.text), token.text, tuple(arguments))

    def _close(self, opening: _Token) -> None:
        if self._take(")") is None:
            raise ExpressionError("E120", "`(` is not closed", opening.at, 1, "add `)`")


def _joined(word: str, parts: list[Expression]) -> Expression:
    return Expression(word, parts[0].at, 1, None, tuple(parts))


def _literal(token: _Token) -> int | float | Seconds:
    """Return the value of a number, a size (in bytes) or a duration."""
    text = token.text
    try:
        value = resolve(text) if text[-1].isdecimal() else measured(text)
    except BadValueError as problem:
        raise ExpressionError("E120", problem.message, token.at, len(text), problem.hint) from None
    return value if isinstance(value, int | float) else 0


def measured(text: str) -> int | Seconds:
    """Parse a size (in bytes) or a duration. For any other text, the size parser raises BadValueError."""
    try:
        return parse_size(text)
    except BadValueError as problem:
        try:
            return Seconds(parse_duration(text))
        except BadValueError:
            raise problem from None


def compiled(tree: Expression, known: Values) -> Run:
    """Compile a tree to a function. Paths in `known` are replaced with their values; the function's argument provides
    the values of all other paths.

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
    message = f"`{_as_text(value)}` is neither true nor false"
    raise ExpressionError("E122", message, tree.at, tree.length, "write a comparison, such as `iodepth > 0`")


def _number(value: Any, tree: Expression) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        with suppress(BadValueError):
            return _measured(value)
    raise ExpressionError("E122", f"`{_as_text(value)}` is not a number", tree.at, tree.length, "use a number")


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
    """Return whether the result of an operation is a duration. Raises ExpressionError (E122) if the operation is
    meaningless (`30s + 5`)."""
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


def _called(tree: Expression, arguments: list[Any]) -> Any:
    numbers = [_number(value, part) for value, part in zip(arguments, tree.parts, strict=True)]
    timed = [isinstance(number, Seconds) for number in numbers]
    if tree.value in ("min", "max"):
        if any(timed) and not all(timed):
            message = f"`{tree.value}` mixes durations and plain numbers"
            raise ExpressionError("E122", message, tree.at, tree.length, "give every value a unit, such as `30s`")
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


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a map"
    return "null" if value is None else clip(value)
