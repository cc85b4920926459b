"""What pydantic found wrong with a setting, in the words of the plan language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asct.diagnostics.suggest import did_you_mean
from asct.values.problem import BadValueError, shown

_QUOTED = re.compile(r"'([^']*)'")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one setting. `path` leads into a list or map value: (2,) is its third item."""

    setting: str
    path: tuple[int | str, ...]
    message: str
    hint: str = ""


_WANTED = {
    "int": "a whole number", "float": "a number", "string": "a text", "bool": "`true` or `false`", "list": "a list",
    "tuple": "a list", "dict": "a map", "set": "a list", "none": "nothing",
}  # fmt: skip
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"), "less_than": ("lt", "less than"),
}  # fmt: skip
_LENGTHS = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def problems(errors: Sequence[Any], fields: Sequence[str]) -> list[Problem]:
    """pydantic's errors (`ValidationError.errors()`) as problems, one per setting and item.

    A union reports once per member; those become one sentence. Errors of the model as a whole get setting "".
    """
    grouped: dict[tuple[str, tuple[int | str, ...]], list[Any]] = {}
    for error in errors:
        setting, path = _place(error["loc"], fields)
        grouped.setdefault((setting, path), []).append(error)
    return [_problem(setting, path, members) for (setting, path), members in grouped.items()]


def _place(loc: Sequence[int | str], fields: Sequence[str]) -> tuple[str, tuple[int | str, ...]]:
    """Names of union members in `loc` are no place in the plan; only indices are."""
    if not loc or loc[0] not in fields:
        return "", ()
    return str(loc[0]), tuple(part for part in loc[1:] if isinstance(part, int))


def _problem(setting: str, path: tuple[int | str, ...], members: Sequence[Any]) -> Problem:
    told = [_words(member) for member in members]
    if len(told) == 1:
        return Problem(setting, path, *told[0])
    valued = [item for item, member in zip(told, members, strict=True) if member["type"] == "value_error"]
    choices = [name for member in members for name in _QUOTED.findall(str(_context(member, "expected")))]
    if valued:
        message, hint = valued[0]
        also = " or ".join(f"`{name}`" for name in choices)
        return Problem(setting, path, message, f"{hint}, or {also}" if also and hint else hint or also)
    return Problem(setting, path, " and ".join(dict.fromkeys(message for message, _ in told)), told[0][1])


def _context(error: Any, key: str) -> Any:
    return error.get("ctx", {}).get(key, "")


def _words(error: Any) -> tuple[str, str]:
    """(message, hint) for one error."""
    kind, value = str(error["type"]), error.get("input")
    if kind in ("value_error", "assertion_error"):
        return _raised(_context(error, "error"), error["msg"])
    if kind == "missing":
        return "is not given and has no default", "give it under `config`"
    if kind in ("literal_error", "enum"):
        return _choice(value, str(_context(error, "expected")))
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"`{shown(value)}` is out of range", f"write {words} {_context(error, key)}"
    if kind in _LENGTHS:
        key, words = _LENGTHS[kind]
        return f"has {_context(error, 'actual_length')} items", f"give {words} {_context(error, key)}"
    return _mistyped(kind, value, str(error["msg"]))


def _raised(cause: Any, message: str) -> tuple[str, str]:
    if isinstance(cause, BadValueError):
        return f"{cause.message}; {cause.label}" if cause.label else cause.message, cause.hint
    return str(cause) if cause else message, ""


def _choice(value: Any, expected: str) -> tuple[str, str]:
    names = _QUOTED.findall(expected)
    listed = ", ".join(f"`{name}`" for name in names) or expected
    hint = did_you_mean(str(value), names, f"one of {listed}") if names else f"one of {listed}"
    return f"`{shown(value)}` is not one of its values", hint


def _mistyped(kind: str, value: Any, message: str) -> tuple[str, str]:
    wanted = _WANTED.get(kind.split("_")[0])
    if kind == "int_from_float":
        wanted = "a whole number"
    if wanted is None:
        return message[:1].lower() + message[1:].rstrip("."), ""
    return f"`{_written(value)}` is not {wanted}", f"write {wanted}"


def _written(value: Any) -> str:
    """As YAML shows it, not as Python does."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else shown(value)
