"""Limit the length of strings in facts, because strings from firmware, drivers and snapshots may have any length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from asct.sdk.facts import HostFacts
from asct.values.text import truncated

LONGEST: Final = 8192
"""Limit on the length of a string, in characters. The longest legitimate strings are the command line of the Linux
kernel (COMMAND_LINE_SIZE, 4096 on most architectures) and the mount options of a file system (one page)."""
_NAMED_BY: Final = ("name", "target", "slot", "address")


def bounded(facts: HostFacts) -> HostFacts:
    """Truncate long strings in the facts and list their fields in `unknown`."""
    if not _any_long(facts):
        return facts
    long = {path: length for path, length in _long(facts, "") if not path.startswith("unknown.")}
    if not long:
        return facts
    body = _cut(facts.model_dump(by_alias=True))
    for path, length in long.items():
        body["unknown"][path] = f"{length - LONGEST} more characters omitted"
    return HostFacts.model_validate(body)


def _any_long(facts: HostFacts) -> bool:
    """Return whether any string is too long. Long strings are rare, so the slower search for their fields can usually
    be skipped."""
    pending: list[Any] = [facts]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if len(value) > LONGEST:
                return True
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, BaseModel):
            pending += vars(value).values()
    return False


def _long(value: Any, path: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, str):
        if len(value) > LONGEST:
            yield path, len(value)
    elif isinstance(value, BaseModel | dict):
        items = value.items() if isinstance(value, dict) else vars(value).items()
        for key, item in items:
            yield from _long(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _long(item, f"{path}.{_name(item) or number}" if isinstance(item, BaseModel) else path)


def _name(item: BaseModel) -> str:
    """Return the name of a list item, or an empty string if the name is missing or too long."""
    name = next((text for key in _NAMED_BY if isinstance(text := getattr(item, key, None), str)), "")
    return name if len(name) <= LONGEST else ""


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return truncated(value, LONGEST)
    if isinstance(value, dict):
        return {_cut(key): _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list) else value
