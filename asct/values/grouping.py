"""Group items by a key or into runs, and shorten or break lists of names and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

_ITEM = re.compile(r"[^,]*,|[^,]+")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Group the items by key. Keys and items remain in order of first appearance."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def split(items: Iterable[_Item], joins: Callable[[list[_Item], _Item], bool]) -> list[list[_Item]]:
    """Split the items into runs. An item that `joins` the run before it belongs to that run; any other starts a new
    one."""
    runs: list[list[_Item]] = []
    for item in items:
        if runs and joins(runs[-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def shortened(names: Sequence[str], most: int) -> str:
    """Join names with commas. If there are more than `most + 1` names, join the first `most`, followed by the number of
    remaining names."""
    left = len(names) - most
    return ", ".join(names) if left < 2 else f"{', '.join(names[:most])} and {left} more"


def breakable(text: str, most: int) -> str:
    """Insert spaces after some commas in a list without spaces, such as a CPU list, so that no part is longer than
    `most` characters. Without the spaces, a line break could split a number."""
    return " ".join(word if len(word) <= most else " ".join(_chunks(word, most)) for word in text.split(" "))


def _chunks(word: str, most: int) -> Iterator[str]:
    chunk = ""
    for part in _ITEM.findall(word):
        if chunk and len(chunk) + len(part) > most:
            yield chunk
            chunk = ""
        chunk += part
    yield chunk
