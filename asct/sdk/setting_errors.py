"""Errors that pydantic finds in settings, in the words of a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from asct.values.error import BadValueError, clip
from asct.values.grouping import grouped
from asct.values.suggest import ALIKE, nearest

_QUOTED = re.compile(r"'([^']*)'")


class SettingError(NamedTuple):
    """One error in one setting. `path` is the position of the error in a list or map: (2,) is the third item."""

    setting: str
    path: tuple[int | str, ...]
    message: str
    hint: str = ""

    @property
    def text(self) -> str:
        """The item of a list, the message and the hint in one line."""
        item = f"item {self.path[0] + 1}: " if self.path and isinstance(self.path[0], int) else ""
        return f"{item}{self.message}; {self.hint}" if self.hint else f"{item}{self.message}"


_TYPES = {
    "int": "a whole number", "float": "a number", "string": "text", "bool": "`true` or `false`", "list": "a list",
    "tuple": "a list", "dict": "a map", "set": "a list", "none": "nothing",
}  # fmt: skip
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"), "less_than": ("lt", "less than"),
}  # fmt: skip
_LENGTHS = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def setting_errors(errors: Sequence[Any], fields: Sequence[str]) -> list[SettingError]:
    """Convert pydantic's errors (`ValidationError.errors()`) to errors in settings, at most one per setting and item.

    Errors from the members of a union are combined. For an error that concerns the whole model, `setting` is "".
    """
    by_place = grouped(errors, lambda error: _place(error["loc"], fields))
    with_items = {setting for setting, path in by_place if path}
    return [
        _problem(setting, path, members)
        for (setting, path), members in by_place.items()
        # pydantic counts only the valid items of a list, so with invalid items, the list may only seem too short
        if path or setting not in with_items or any(member["type"] != "too_short" for member in members)
    ]


def _place(loc: Sequence[int | str], fields: Sequence[str]) -> tuple[str, tuple[int | str, ...]]:
    """Return the setting in which an error occurred, and the indices that lead to it.

    Names of union members in `loc` are omitted, because a plan does not contain them.
    """
    if not loc or loc[0] not in fields:
        return "", ()
    return str(loc[0]), tuple(part for part in loc[1:] if isinstance(part, int))


def _problem(setting: str, path: tuple[int | str, ...], members: Sequence[Any]) -> SettingError:
    texts = [_texts_of(member) for member in members]
    if len(texts) == 1:
        return SettingError(setting, path, *texts[0])
    valued = [item for item, member in zip(texts, members, strict=True) if member["type"] == "value_error"]
    choices = [name for member in members for name in _QUOTED.findall(str(_context(member, "expected")))]
    if valued:
        message, hint = valued[0]
        also = " or ".join(f"`{name}`" for name in choices)
        return SettingError(setting, path, message, f"{hint}, or {also}" if also and hint else hint or also)
    return SettingError(setting, path, " and ".join(dict.fromkeys(message for message, _ in texts)), texts[0][1])


def _context(error: Any, key: str) -> Any:
    return error.get("ctx", {}).get(key, "")


def _texts_of(error: Any) -> tuple[str, str]:
    """Return the message and hint for one error."""
    kind, value = str(error["type"]), error.get("input")
    if kind in ("value_error", "assertion_error"):
        return _raised(_context(error, "error"), error["msg"])
    if kind == "missing":
        return "a value is required, because there is no default", "set it under `config`"
    if kind in ("literal_error", "enum"):
        return _choice(value, str(_context(error, "expected")))
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"`{clip(value)}` is out of range", f"write {words} {_context(error, key)}"
    if kind in _LENGTHS:
        key, words = _LENGTHS[kind]
        return f"the list has {_context(error, 'actual_length')} items", f"use {words} {_context(error, key)}"
    return _mistyped(kind, value, str(error["msg"]))


def _raised(cause: Any, message: str) -> tuple[str, str]:
    if isinstance(cause, BadValueError):
        return f"{cause.message}; {cause.label}" if cause.label else cause.message, cause.hint
    return str(cause) if cause else message, ""


def _choice(value: Any, expected: str) -> tuple[str, str]:
    names = _QUOTED.findall(expected)
    listed = ", ".join(f"`{name}`" for name in names) or expected
    meant = nearest(str(value), names, ALIKE)
    return f"`{clip(value)}` is not a valid value", f"did you mean `{meant}`?" if meant else f"write one of {listed}"


def _mistyped(kind: str, value: Any, message: str) -> tuple[str, str]:
    expected_type = _TYPES.get(kind.split("_")[0])
    if kind == "int_from_float":
        expected_type = "a whole number"
    if expected_type is None:
        return message[:1].lower() + message[1:].rstrip("."), ""
    return f"`{_as_yaml(value)}` is not {expected_type}", f"write {expected_type}"


def _as_yaml(value: Any) -> str:
    """Return the value as written in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else clip(value)
