"""Names in a plan: valid characters, ranges (`node[01:16]`), patterns and cycles."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from asct.values.error import BadValueError, clip

MAX_HOSTS: Final = 10_000

_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", re.ASCII)
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_RANGE: Final = re.compile(r"\[([0-9]{1,9}):([0-9]{1,9})(?::([0-9]{1,9}))?\]", re.ASCII)
_LONGEST: Final = 100


def folder_name(name: str, what: str) -> str:
    """Return `name` if it is a valid folder name in the results tree (plan, host, benchmark id); otherwise raise
    BadValueError."""
    if _FOLDER.fullmatch(name) and ".." not in name and len(name) <= _LONGEST:
        return name
    hint = f"use at most {_LONGEST} letters, digits and . _ @ + -, starting with a letter or digit"
    raise BadValueError(f"`{clip(name)}` cannot be the name of {what}", hint)


def case_conflict(name: str, other: str, what: str) -> tuple[str, str]:
    """Return the message and hint for two names that would share a folder on a case-insensitive file system."""
    message = f"{what} `{clip(name)}` and `{clip(other)}` differ only in case"
    return message, "rename one of them: their results would share a folder on a case-insensitive file system"


def identifier(name: str, what: str) -> str:
    """Return `name` if templates can refer to it (`vars.max_qd`); otherwise raise BadValueError."""
    if IDENTIFIER.fullmatch(name) and len(name) <= _LONGEST:
        return name
    fixed = re.sub(r"[^A-Za-z0-9_]+", "_", name[:_LONGEST])
    hint = (
        f"write `{fixed}`" if IDENTIFIER.fullmatch(fixed) else "use letters, digits and `_`; start with a letter or `_`"
    )
    raise BadValueError(f"`{clip(name)}` cannot be the name of {what}", hint)


def cycle(chain: Sequence[str], name: str) -> str:
    """Return the cycle that a reference from the end of `chain` to `name`, one of its names, closes: `a -> b -> a`."""
    return " -> ".join([*chain[chain.index(name) :], name])


def expand_range(name: str) -> list[str]:
    """Expand ranges: `node[01:03]` becomes node01, node02, node03; `[0:8:2]` has a step of 2; several ranges in one
    name are combined.

    Raises BadValueError if a range is invalid.
    """
    parts: list[list[str]] = []
    position, total = 0, 1
    for found in _RANGE.finditer(name):
        numbers = _numbers(name, *found.groups())
        total *= len(numbers)
        if total > MAX_HOSTS:
            raise BadValueError(f"`{clip(name)}` expands to more than {MAX_HOSTS} hosts", "use a shorter range")
        width = len(found[1]) if found[1].startswith("0") else 0  # leading zeros of the first number are preserved
        parts += [[name[position : found.start()]], [str(number).zfill(width) for number in numbers]]
        position = found.end()
    rest = name[position:]
    if "[" in rest or "]" in rest or any("[" in part[0] or "]" in part[0] for part in parts):
        raise BadValueError(f"`{clip(name)}` is not a host range", "write `node[01:16]` or `node[0:16:2]`")
    return ["".join(chosen) for chosen in itertools.product(*parts, [rest])]


def is_pattern(word: str) -> bool:
    """Return whether a word contains a range or a shell pattern."""
    return any(mark in word for mark in "*?[")


def matching(word: str, names: Iterable[str]) -> list[str]:
    """Return the names that match a range (`node[01:16]`) or a shell pattern (`node*`, `node[12]`), in their original
    order."""
    try:
        expanded = set(expand_range(word)) if "[" in word else set()
    except BadValueError:
        expanded = set()
    return [name for name in names if name in expanded or (not expanded and fnmatchcase(name, word))]


def _numbers(name: str, first: str, last: str, step: str | None) -> range:
    start, end, stride = int(first), int(last), int(step or 1)
    if end < start:
        raise BadValueError(f"the range in `{clip(name)}` is reversed", f"write `[{last}:{first}]`")
    if stride == 0:
        raise BadValueError(f"the range in `{clip(name)}` has a step of 0", "use a step of 1 or more")
    return range(start, end + 1, stride)
