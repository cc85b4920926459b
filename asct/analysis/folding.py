"""Summarize the differences of two machines: entries on one side only are counted, equal differences are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.analysis.fields import Difference, collections
from asct.values.cpulist import format_cpulist

_MOST_NAMED: Final = 6
_MOST_ALIKE: Final = 3
"""Up to this number, entries that differ in the same field, and fields on one side only, are listed individually."""
_LONGEST: Final = 160
"""Characters of a value."""
_MANY_WORDS: Final = 12
"""Of longer texts, such as CPU flags, only the words on one side are shown."""


@dataclass(frozen=True, slots=True)
class FactsPair:
    """The names of the two machines and their documents (asct.facts/1)."""

    names: tuple[str, str]
    base: Mapping[str, Any]
    other: Mapping[str, Any]


def whole_line(one: Difference, title: str) -> str:
    """`cpus: 4 -> 2`, without the title of its subject, both values as they are."""
    return f"{one.field.removeprefix(f'{title}.')}: {_text(one.base)} -> {_text(one.other)}"


def folded(found: Sequence[Difference], sides: FactsPair) -> Iterator[tuple[str, list[str]]]:
    """(subject, lines) in the order of the fields."""
    known: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
    known = {path: (dict.fromkeys(names), {}) for path, names in collections(sides.base).items()}
    for path, names in collections(sides.other).items():
        known[path] = (known.get(path, ({}, {}))[0], dict.fromkeys(names))
    for title, group in gathered(found, lambda one: one.field.partition(".")[0]):
        lines: list[str] = []
        for path, of in gathered(group, lambda one: _part(one.field, known)):
            label = path.removeprefix(title).removeprefix(".")
            if path in known:
                lines += _of_entries(of, path, label, known[path], sides.names)
            else:
                lines += _of_fields(of, title, label, sides.names)
        yield title, lines


def gathered(found: Iterable[Difference], key: Callable[[Difference], str]) -> Iterable[tuple[str, list[Difference]]]:
    """The differences grouped by key, in order of first appearance."""
    groups: dict[str, list[Difference]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups.items()


def _part(field: str, known: Mapping[str, Any]) -> str:
    """The collection that a field is in, else the first two of its names."""
    names = field.split(".")
    paths = (".".join(names[:count]) for count in range(1, len(names)))
    return next((path for path in paths if path in known), ".".join(names[:2]))


def _of_entries(
    found: Sequence[Difference], path: str, label: str, known: tuple[Mapping[str, Any], Mapping[str, Any]],
    sides: tuple[str, str],
) -> Iterator[str]:  # fmt: skip
    start = f"{label}: " if label else ""
    for mine, others, side in ((known[0], known[1], sides[0]), (known[1], known[0], sides[1])):
        alone = [name for name in mine if name not in others]
        if alone:
            yield f"{start}{len(alone)} only in {side}: {_named(alone)}"
    leaves: dict[str, list[tuple[str, Difference]]] = {}
    for one in found:
        name, leaf = _entry(one.field[len(path) + 1 :], known)
        if name in known[0] and name in known[1]:
            leaves.setdefault(leaf, []).append((name, one))
    for leaf, alike in leaves.items():
        name, first = alike[0]
        if len(alike) <= _MOST_ALIKE:
            yield from (f"{label}{'.' if label else ''}{name}.{leaf}: {_values(one)}" for name, one in alike)
        else:
            yield f"{start}{leaf} differs in {len(alike)}, first {name}: {_values(first)}"


def _entry(rest: str, known: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[str, str]:
    """Name of the entry and field in it. A name may have points itself: the longest that is known counts."""
    dots = [at for at, char in enumerate(rest) if char == "."]
    at = next((at for at in reversed(dots) if rest[:at] in known[0] or rest[:at] in known[1]), len(rest))
    return rest[:at], rest[at + 1 :]


def _of_fields(found: Sequence[Difference], title: str, label: str, sides: tuple[str, str]) -> Iterator[str]:
    """What one side alone knows of a part, such as the kernel's options, is counted where it is much."""
    only = ([one for one in found if one.other is None], [one for one in found if one.base is None])
    many = [len(some) > _MOST_ALIKE for some in only]
    for some, folds, side in zip(only, many, sides, strict=True):
        if folds:
            names = [one.field.removeprefix(f"{title}.").removeprefix(f"{label}.") for one in some]
            yield f"{label}: {len(some)} known only for {side}: {_named(names)}"
    for one in found:
        if not (many[0] and one.other is None) and not (many[1] and one.base is None):
            yield f"{one.field.removeprefix(f'{title}.')}: {_values(one)}"


def _named(names: Sequence[str]) -> str:
    if all(name.isdecimal() and len(name) < 6 for name in names):
        return format_cpulist(int(name) for name in names)
    left = len(names) - _MOST_NAMED
    return ", ".join(names) if left < 2 else f"{', '.join(names[:_MOST_NAMED])} and {left} more"


def _values(one: Difference) -> str:
    before, after = _words(one.base), _words(one.other)
    gone, new = (_without(before, after), _without(after, before))
    if min(len(before), len(after)) > _MANY_WORDS and (gone or new):
        told = [f"{word} {_named(words)}" for word, words in (("without", gone), ("with", new)) if words]
        return ", ".join(told)
    return f"{_value(one.base)} -> {_value(one.other)}"


def _words(value: Any) -> list[str]:
    return value.split() if isinstance(value, str) else []


def _without(words: Iterable[str], others: Iterable[str]) -> list[str]:
    there = set(others)
    return [word for word in dict.fromkeys(words) if word not in there]


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
