"""Represent facts field by field: as a flat map, or as the differences between two machines or two states of one
machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.sdk.facts import HostFacts
from asct.values.cpulist import format_cpulist
from asct.values.grouping import grouped, shortened

_LISTS_OF_CPUS: Final = frozenset(
    {"cpus", "online", "offline", "allowed", "isolated", "nohz_full", "shared_cpus", "disabled_cpus",
     "irq_default_affinity"}
)  # fmt: skip
_NAMED_BY: Final = ("name", "target", "slot", "id", "cpu", "page_bytes", "address")
"""Fields that identify an entry in a list, so that matching entries are compared even if others were added or
removed."""
_MOVING: Final = re.compile(
    r"collected_at|dated_by_file|host|notes|load\..*|.*\.celsius|work_free_bytes|system\.uptime_s|(.*\.)?(free_bytes|available_bytes|free)"
    r"|memory\.(swap_free_bytes|dirty_bytes)|.*\.current_hz|cpu\.bogomips"
    r"|.*\.nvme\.(read_bytes|written_bytes|power_on_hours|unsafe_shutdowns)|(unknown|not_applicable)\..*"
)
_MOST_NAMED: Final = 6
_MOST_LISTED: Final = 3
"""Maximum number of items to list individually: entries that differ in the same field, or fields that exist on only one
side."""
_LONGEST: Final = 160
"""Maximum length of a displayed value, in characters."""
_MANY_WORDS: Final = 12
"""Maximum number of words in a value. Longer values, such as CPU flags, are reduced to the words that occur on only one
side."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field with different values. A value is None if that side does not have the field.

    `moves` marks fields that change constantly, such as free memory, or that do not describe the machine, such as the
    time when the facts were read.
    """

    field: str
    base: Any
    other: Any
    moves: bool


def flat(document: Mapping[str, Any], *, by_name: bool = False) -> dict[str, Any]:
    """Return the leaves of a document, keyed by dotted path (`cpu.cpus`). A list of plain values becomes one string.

    List entries are identified by index (`block_devices.0.size_bytes`) or, with `by_name`, by name
    (`block_devices.sda.size_bytes`).
    """
    return dict(_leaves(document, "", by_name))


def _leaves(value: Any, path: str, by_name: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key), by_name)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        names = _names(value) if by_name else [str(number) for number in range(len(value))]
        for name, item in zip(names, value, strict=True):
            yield from _leaves(item, f"{path}.{name}", by_name)
    elif isinstance(value, list):
        ranges = by_name and path.rpartition(".")[2] in _LISTS_OF_CPUS
        yield path, format_cpulist(value) if ranges else " ".join(str(item) for item in value)
    else:
        yield path, value


def collections(document: Mapping[str, Any], above: str = "") -> dict[str, list[str]]:
    """Return the names of the entries in each list (`block_devices`, `cpu.logical`) and in each map of components
    (`tools`), keyed by path.

    Lists inside entries are skipped.
    """
    found: dict[str, list[str]] = {}
    for key, value in document.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            found[path] = _names(value)
        elif isinstance(value, Mapping) and value and all(isinstance(item, Mapping) for item in value.values()):
            found[path] = [str(name) for name in value]
        elif isinstance(value, Mapping):
            found |= collections(value, path)
    return found


def _names(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of entries. An entry without a name is identified by its index, and repeated names get a
    counter."""
    counts: Counter[str] = Counter()
    names = []
    for number, item in enumerate(items):
        name = _name(item) or str(number)
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return names


def _name(item: Mapping[str, Any]) -> str:
    if "level" in item:
        return f"L{item['level']} {item.get('type', '')}".strip()
    return next((str(item[key]) for key in _NAMED_BY if item.get(key) is not None), "")


def differences(base: HostFacts, other: HostFacts) -> list[Difference]:
    """Return the differences between two states, in the order of the fields. A field that exists on only one side is
    treated as a difference."""
    first, second = (flat(facts.model_dump(mode="json", by_alias=True), by_name=True) for facts in (base, other))
    found = []
    for field in dict.fromkeys((*first, *second)):
        before, after = (None if side.get(field) == "" else side.get(field) for side in (first, second))
        if before != after:
            found.append(Difference(field, before, after, _MOVING.fullmatch(field) is not None))
    return found


def whole_line(one: Difference, title: str) -> str:
    """Return a difference as one line with both values in full and without its section title, such as `cpus: 4 ->
    2`."""
    return f"{one.field.removeprefix(f'{title}.')}: {_text(one.base)} -> {_text(one.other)}"


def by_title(found: Iterable[Difference]) -> dict[str, list[Difference]]:
    """Return the differences, grouped by section (`cpu`, `memory`)."""
    return grouped(found, lambda one: one.field.partition(".")[0])


def folded(found: Sequence[Difference], base: HostFacts, other: HostFacts) -> Iterator[tuple[str, list[str]]]:
    """Summarize differences: yield the title of each section with the section's lines, in the order of the fields.

    Entries that exist on only one side are counted, and equal differences in several entries are merged.
    """
    mine, others = (collections(facts.model_dump(mode="json", by_alias=True)) for facts in (base, other))
    known = {path: (mine.get(path, []), others.get(path, [])) for path in {**mine, **others}}
    names = (base.host, other.host) if base.host != other.host else ("the first", "the second")
    for title, group in by_title(found).items():
        lines: list[str] = []
        for path, of in grouped(group, lambda one: _part(one.field, known)).items():
            label = path.removeprefix(title).removeprefix(".")
            if path in known:
                lines += _of_entries(of, path, label, known[path], names)
            else:
                lines += _of_fields(of, title, label, names)
        yield title, lines


def _part(field: str, known: Mapping[str, Any]) -> str:
    """Return the path of the list to which a field belongs. For a field outside lists, return the first two parts of
    its path."""
    names = field.split(".")
    paths = (".".join(names[:count]) for count in range(1, len(names)))
    return next((path for path in paths if path in known), ".".join(names[:2]))


def _of_entries(
    found: Sequence[Difference], path: str, label: str, known: tuple[list[str], list[str]], sides: tuple[str, str]
) -> Iterator[str]:
    start = f"{label}: " if label else ""
    both = set(known[0]) & set(known[1])
    for names, side in zip(known, sides, strict=True):
        alone = [name for name in names if name not in both]
        if alone:
            yield f"{start}{len(alone)} only in {side}: {_name_list(alone)}"
    either = {*known[0], *known[1]}
    placed = ((*_entry(one.field[len(path) + 1 :], either), one) for one in found)
    for leaf, group in grouped((item for item in placed if item[0] in both), lambda item: item[1]).items():
        if len(group) <= _MOST_LISTED:
            yield from (f"{label}{'.' if label else ''}{name}.{leaf}: {_values(one)}" for name, _, one in group)
        else:
            name, _, first = group[0]
            yield f"{start}{leaf} differs in {len(group)} entries; the first is {name}: {_values(first)}"


def _entry(rest: str, known: Collection[str]) -> tuple[str, str]:
    """Split `rest` into the name of an entry and the field within the entry. Names may contain dots, so the longest
    known name is used."""
    dots = [at for at, char in enumerate(rest) if char == "."]
    at = next((at for at in reversed(dots) if rest[:at] in known), len(rest))
    return rest[:at], rest[at + 1 :]


def _of_fields(found: Sequence[Difference], title: str, label: str, sides: tuple[str, str]) -> Iterator[str]:
    """Yield one line per difference. If many fields exist on only one side (such as options of the Linux kernel), yield
    only their number."""
    only = ([one for one in found if one.other is None], [one for one in found if one.base is None])
    many = [len(some) > _MOST_LISTED for some in only]
    for some, folds, side in zip(only, many, sides, strict=True):
        if folds:
            names = [one.field.removeprefix(f"{title}.").removeprefix(f"{label}.") for one in some]
            yield f"{label}: {len(some)} known only for {side}: {_name_list(names)}"
    for one in found:
        if not (many[0] and one.other is None) and not (many[1] and one.base is None):
            yield f"{one.field.removeprefix(f'{title}.')}: {_values(one)}"


def _name_list(names: Sequence[str]) -> str:
    if all(name.isdecimal() and len(name) < 6 for name in names):
        return format_cpulist(int(name) for name in names)
    return shortened(names, _MOST_NAMED)


def _values(one: Difference) -> str:
    before, after = _words(one.base), _words(one.other)
    old, late = dict.fromkeys(before), dict.fromkeys(after)
    gone, new = [word for word in old if word not in late], [word for word in late if word not in old]
    if min(len(before), len(after)) > _MANY_WORDS and (gone or new):
        return ", ".join(f"{word} {_name_list(words)}" for word, words in (("without", gone), ("with", new)) if words)
    return f"{_value(one.base)} -> {_value(one.other)}"


def _words(value: Any) -> list[str]:
    return value.split() if isinstance(value, str) else []


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
