"""The numbers at the top of a report: at most eight key results, chosen by fixed rules and grouped by subject, for one
or many hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from asct.analysis.grid import plain
from asct.analysis.headline import HeadlineMetric, common
from asct.analysis.machine.rows import listed
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity
from asct.values.text import counted

MOST_RESULTS: Final = 8
"""Maximum number of key results that a report shows first."""
_MOST_HOSTS: Final = 3
"""Maximum number of hosts whose values a key result lists. For more hosts, only the lowest and the highest value are
listed."""

ResultKey = tuple[str, str]
"""The key that identifies a key result across hosts: the benchmark entry and the label."""


@dataclass(frozen=True, slots=True)
class KeyResult:
    """A key result on all of its hosts. `value` and `unit` describe the value of the only host, or the range over all
    hosts; `lines` state the coordinates, the spread and the count for each host listed."""

    id: str
    label: str
    value: str
    unit: str
    lines: tuple[str, ...]
    doubts: tuple[str, ...]
    """The doubts about this key result, most serious first, excluding doubts that apply to all key results shown."""


@dataclass(frozen=True, slots=True)
class KeyResults:
    """The key results that a report shows first, grouped by subject and in the order of the plan. `doubts` apply to all
    of them, and `left` is the number of other key results."""

    groups: tuple[tuple[str, tuple[KeyResult, ...]], ...]
    doubts: tuple[str, ...]
    left: int


def key_results(found: Sequence[HeadlineMetric]) -> KeyResults:
    """Return the most important headlines across all jobs.

    Every subject gets its first key result before any subject gets its second. The same applies to the benchmark
    entries within a subject. Among the values of different levels, those of the outermost level come first. Results
    that repeat the values of another result of the same entry come last.
    """
    places = grouped(found, lambda item: (item.id, item.label))
    chosen = _chosen(places)
    results = {place: places[place] for place in places if place in chosen}
    sets = [set(item.doubts) for items in results.values() for item in items]
    shared = set.intersection(*sets) if len(sets) > 1 else set()
    subjects = grouped(results.values(), lambda items: items[0].subject)
    several = len({item.host for item in found}) > 1
    return KeyResults(
        tuple(
            (plain(subject[:1].upper() + subject[1:]), tuple(_result(items, shared, several) for items in own))
            for subject, own in subjects.items()
        ),
        tuple(doubt for doubt in dict.fromkeys(one for item in found for one in item.doubts) if doubt in shared),
        len(places) - len(results),
    )


def _chosen(places: Mapping[ResultKey, Sequence[HeadlineMetric]]) -> set[ResultKey]:
    order: list[tuple[bool, int, int, ResultKey]] = []
    subjects = grouped(places, lambda place: places[place][0].subject)
    for number, own in enumerate(subjects.values()):
        seen = set()
        for turn, place in enumerate(_in_turn(places, own)):
            values = (place[0], tuple((item.host, item.text) for item in places[place]))
            order.append((values in seen, turn, number, place))
            seen.add(values)
    return {place for _, _, _, place in sorted(order, key=lambda item: item[:3])[:MOST_RESULTS]}


def _in_turn(places: Mapping[ResultKey, Sequence[HeadlineMetric]], own: Sequence[ResultKey]) -> list[ResultKey]:
    """Return the key results of a subject: the first of each benchmark entry, then the second of each, and so on."""
    entries = grouped(own, lambda place: place[0]).values()
    turns = [
        (turn, place)
        for entry in entries
        for turn, place in enumerate(reversed(entry) if _by_level(places[entry[0]][0]) else entry)
    ]
    return [place for _, place in sorted(turns, key=lambda item: item[0])]


def _by_level(item: HeadlineMetric) -> bool:
    return item.group is not None and item.label.startswith(f"{item.group.at.get('level')} ")


def _result(items: Sequence[HeadlineMetric], shared: set[str], several: bool) -> KeyResult:
    """Return a key result. If the run has `several` hosts but only one of them has this key result, that host is
    named."""
    first = items[0]
    hosts = grouped(
        ((doubt, item.host) for item in items for doubt in item.doubts if doubt not in shared), lambda pair: pair[0]
    )
    doubts = (
        doubt if len(own) == len(items) else f"{doubt} on {len(own)} of {len(items)}" for doubt, own in hosts.items()
    )
    value, unit = _range(items)
    host = f"on {first.host}" if several else ""
    lines = (listed(host, first.place, first.spread, first.count),) if len(items) == 1 else _of_hosts(items, unit)
    return KeyResult(
        plain(first.id),
        plain(first.label),
        value,
        unit,
        tuple(plain(line) for line in lines if line),
        tuple(sorted(doubts, key=lambda doubt: "invalid" not in doubt)),
    )


def _range(items: Sequence[HeadlineMetric]) -> tuple[str, str]:
    """Return the value (or the lowest and the highest, if hosts differ) and the unit."""
    known = sorted((item for item in items if item.number is not None), key=_number)
    if not known:
        return "none", ""
    low, high = known[0], known[-1]
    if low.text == high.text:
        return low.value, low.unit
    (least, own), (most, unit) = (_middle(item) for item in (low, high))
    return f"{least if own == unit else f'{least} {own}'.rstrip()} to {most}", unit


def _middle(item: HeadlineMetric) -> tuple[str, str]:
    """Return the value and its unit. Even a value with two states is returned as a single number."""
    if " or " not in item.value:
        return item.value, item.unit
    value, _, unit = format_quantity(_number(item), _unit(item)).partition(" ")
    return value, unit


def _of_hosts(items: Sequence[HeadlineMetric], unit: str) -> Iterator[str]:
    """Yield the text that all hosts share, and then the value of each host or, if there are many, only the extremes.
    `unit` is not repeated."""
    place, count = common(item.place for item in items), common(item.count for item in items)
    yield listed(place, f"{count} per host" if count else "")
    items = [replace(item, place="" if place else item.place, count="" if count else item.count) for item in items]
    if len(items) <= _MOST_HOSTS:
        yield from (_line(item, unit) for item in items)
        return
    known = sorted((item for item in items if item.number is not None), key=_number)
    if not known:
        yield f"on {len(items)} hosts"
        return
    middle = format_quantity(median(map(_number, known)), _unit(known[0]))
    yield f"median of {counted(len(known), 'host')}: {middle}"
    for word, item in (("min", known[0]), ("max", known[-1])):
        yield listed(f"{word} on {item.host} {item.spread}".rstrip(), item.count, item.place.removeprefix("at "))


def _line(item: HeadlineMetric, unit: str) -> str:
    value = item.value if item.unit == unit else item.text
    return listed(f"{item.host}: {value} {item.spread}".rstrip(), item.count, item.place.removeprefix("at "))


def _number(item: HeadlineMetric) -> float:
    assert item.number is not None  # guaranteed by the callers
    return item.number


def _unit(item: HeadlineMetric) -> str:
    return item.group.record.unit if item.group is not None else "1"
