"""Find quantities that a run measured more than once with different results.

Each benchmark declares the quantities that its values measure (`sdk/quantity.py`). The values are compared whenever a
run is read. Therefore, records.jsonl remains unchanged, and resumed or reused parts of a run are treated like all other
parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, Final

from asct.sdk.benchmark import Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.quantity import Quantity
from asct.sdk.record import DISAGREES, Record, Scalar, is_invalid, matches
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity

_NEAR_SIZE: Final = 1.3
"""Maximum factor by which the size of a point on a curve may differ from the size of a level for the point to count as
a measurement of that level."""

RecordKey = tuple[str, str, str, str, tuple[tuple[str, str], ...]]
"""The key that identifies a value, regardless of the repeat: host, id, metric, point and coordinates."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One side of a disagreement: the value that was measured at `places`, and the other value of the same quantity.

    `ratio` is the other value divided by this one. The same ratio applies to metrics that express this value in a
    different unit.
    """

    host: str
    id: str
    quantity: str
    value: float
    other: str
    """The id of the other entry in the plan; `level` or `curve` if the other value is in the same entry."""
    other_value: float
    unit: str
    places: frozenset[RecordKey]

    @property
    def flag(self) -> str:
        """The flag for these values, such as `disagrees:idle-latency`."""
        return f"{DISAGREES}:{self.other}"

    @property
    def ratio(self) -> float:
        """The ratio of the other value to this one."""
        return self.other_value / self.value

    @property
    def text(self) -> str:
        """Return the other value as text, such as `idle-latency 158 ns`."""
        return f"{self.other} {format_quantity(self.other_value, self.unit)}"

    @property
    def meaning(self) -> str:
        """Return both values as text, such as `load-to-use latency: 187 ns here, idle-latency 158 ns`."""
        return f"{self.quantity}: {format_quantity(self.value, self.unit)} here, {self.text}"


@dataclass(frozen=True, slots=True)
class QuantityPair:
    """Two values of one quantity on one host. `conditions` describes the settings and coordinates that both values
    share. `sides` contains one entry per value, in order; each entry also names the other value. `agrees` states
    whether the values agree."""

    host: str
    quantity: str
    conditions: tuple[tuple[str, str], ...]
    sides: tuple[Disagreement, Disagreement]
    agrees: bool


@dataclass(frozen=True, slots=True)
class _Sighting:
    """One value of a quantity, with its interval and the locations of the records it summarizes."""

    quantity: Quantity
    key: tuple[tuple[str, str], ...]
    first: Record
    value: float
    low: float
    high: float
    places: frozenset[RecordKey]


def record_key(record: Record) -> RecordKey:
    """Return the key of the value that a record measured."""
    coords = tuple(sorted((key, repr(value)) for key, value in record.coords.items()))
    return record.host, record.id, record.metric, record.point_id, coords


def agreed(
    records: Sequence[Record], resolved: Mapping[str, Any], facts: Mapping[str, HostFacts], catalog: Catalog
) -> tuple[list[Record], tuple[Disagreement, ...]]:
    """Return the records, flagged where values disagree, together with both sides of each disagreement between two
    values of a quantity on one host.

    All code that shows or judges the values of a run must get them from this function. The settings come from
    `resolved`, the content of plan.resolved.json. Warm-ups, invalid values, and values measured by a version of a
    benchmark that is not installed are ignored.
    """
    pairs = _pairs(records, resolved, facts, catalog)
    found = [side for one, two in pairs if not _agree(one, two) for side in (_side(one, two), _side(two, one))]
    return _flagged(records, found), tuple(found)


def quantity_pairs(
    records: Iterable[Record], resolved: Mapping[str, Any], facts: Mapping[str, HostFacts], catalog: Catalog
) -> tuple[QuantityPair, ...]:
    """Return the pairs of values that `agreed` compares: all values of the same quantity on one host."""
    return tuple(
        QuantityPair(
            one.first.host, one.quantity.name, tuple((name, text) for name, text in one.key if text),
            (_side(two, one), _side(one, two)), _agree(one, two),
        )
        for one, two in _pairs(records, resolved, facts, catalog)
    )  # fmt: skip


def _pairs(
    records: Iterable[Record], resolved: Mapping[str, Any], facts: Mapping[str, HostFacts], catalog: Catalog
) -> Iterator[tuple[_Sighting, _Sighting]]:
    jobs = planned_jobs(resolved)
    usable = [record for record in records if record.repeat >= 1 and not is_invalid(record.flags)]
    sightings: list[_Sighting] = []
    for (host, job_id, _), mine in grouped(usable, lambda one: (one.host, one.id, one.point_id)).items():
        job = jobs.get((host, job_id))
        if job is not None and host in facts:
            for quantity in _quantities(mine[0], catalog):
                sightings += _sightings(quantity, mine, {**job["settings"], **mine[0].point}, facts[host])
    for same in grouped(sightings, lambda one: (one.first.host, one.quantity.name, one.key)).values():
        yield from (pair for pair in combinations(same, 2) if _comparable(*pair))


def _flagged(records: Iterable[Record], found: Sequence[Disagreement]) -> list[Record]:
    """Return the records, with a flag on each record that disagrees with another value. The flag names the other
    value."""
    flags: dict[RecordKey, list[str]] = {}
    for side in found:
        for place in side.places:
            flags.setdefault(place, []).append(side.flag)
    if not flags:
        return list(records)
    return [
        record.model_copy(update={"flags": [*dict.fromkeys((*record.flags, *mine))]})
        if (mine := flags.get(record_key(record))) and record.repeat >= 1 and not is_invalid(record.flags)
        else record
        for record in records
    ]


def _quantities(record: Record, catalog: Catalog) -> tuple[Quantity, ...]:
    benchmark = catalog.get(record.benchmark)
    return benchmark.quantities if benchmark is not None and benchmark.version == record.version else ()


def planned_jobs(resolved: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the jobs in the content of plan.resolved.json, keyed by host and id. Jobs without settings are omitted."""
    jobs = resolved.get("jobs")
    return {
        (str(job.get("host")), str(job.get("id"))): job
        for job in (jobs if isinstance(jobs, list) else ())
        if isinstance(job, dict) and isinstance(job.get("settings"), dict)
    }


def _sightings(
    quantity: Quantity, mine: Sequence[Record], settings: Mapping[str, Any], facts: HostFacts
) -> Iterator[_Sighting]:
    """Yield the values of a quantity in the records of one point."""
    conditions = dict(quantity.conditions(settings, facts)) if quantity.conditions else {}
    swept = {name: value for name, value in mine[0].point.items() if name not in conditions}
    metrics = (quantity.metric, *quantity.also)
    own = [record for record in mine if record.metric in metrics and matches(record.coords, quantity.at)]
    if quantity.curve is not None:
        yield from _of_curve(quantity, own, mine, {**conditions, **swept})
        return
    summaries = [record for record in mine if record.metric in quantity.also and record not in own]
    groups = list(grouped(own, lambda one: record_key(one)[-1]).values())
    for group in groups:
        keys = {name: group[0].coords[at] for name, at in quantity.keys.items()}
        about = [record for record in summaries if _largest(groups, record) is group]
        yield from _sighting(quantity, [*group, *about], {**conditions, **swept, **quantity.fixed, **keys})


def _largest(groups: Sequence[Sequence[Record]], summary: Record) -> Sequence[Record] | None:
    """Return the group with the largest value among those that have the coordinates of the summary, or None if there
    are none."""
    inside = [group for group in groups if summary.coords.items() <= group[0].coords.items()]
    return max(inside, key=lambda group: max(record.value for record in group), default=None)


def _of_curve(
    quantity: Quantity, own: Sequence[Record], mine: Sequence[Record], conditions: Mapping[str, Any]
) -> Iterator[_Sighting]:
    """For each level with known bounds, yield the curve's values at the sizes that belong to this level."""
    lowest, highest = (_by_level(mine, metric) for metric in quantity.curve or ())
    for level in (level for level in lowest if level in highest):  # keeps the order of the records, unlike a set
        low, high = lowest[level], highest[level]
        low, high = (low / _NEAR_SIZE, high * _NEAR_SIZE) if low == high else (low, high)
        inside = [record for record in own if low <= float(record.coords["size"]) <= high]
        for group in grouped(inside, lambda one: tuple(one.coords[at] for at in quantity.keys.values())).values():
            keys = {name: group[0].coords[at] for name, at in quantity.keys.items()}
            yield from _sighting(quantity, group, {**conditions, **quantity.fixed, **keys, "level": level})


def _by_level(mine: Sequence[Record], metric: str) -> dict[Scalar, float]:
    """Return the values of a metric, keyed by level. Each value is the median of its repeats."""
    own = [record for record in mine if record.metric == metric and "level" in record.coords]
    return {
        level: float(median(one.value for one in group))
        for level, group in grouped(own, lambda one: one.coords["level"]).items()
    }


def _sighting(quantity: Quantity, group: Sequence[Record], key: Mapping[str, Any]) -> Iterator[_Sighting]:
    """Yield one value for these records: their median, with an interval that covers the values and intervals of the
    certain records. Yield nothing if the records lack the quantity's main metric."""
    main = [record for record in group if record.metric == quantity.metric]
    if not main:
        return
    values = [record.value for record in main]
    spans = [median(values)]
    for record in _mostly_certain(main, quantity.tolerance):
        spans += [record.value, *(_interval(record) or ())]
    text = tuple(sorted((name, _plain(value)) for name, value in key.items()))
    places = frozenset(record_key(record) for record in group)
    yield _Sighting(quantity, text, main[0], float(median(values)), min(spans), max(spans), places)


def _mostly_certain(records: Sequence[Record], tolerance: float) -> Sequence[Record]:
    """Return the records whose intervals extend to at most `tolerance` on either side, if most records have such an
    interval, otherwise all records. The wide intervals of a few sizes would hide that the other sizes on a curve
    disagree with the level."""
    certain = [
        record
        for record in records
        if (interval := _interval(record)) and interval[1] - interval[0] <= 2 * tolerance * abs(record.value)
    ]
    return certain if 2 * len(certain) > len(records) else records


def _interval(record: Record) -> tuple[float, float] | None:
    return None if record.stats is None else record.stats.ci95


def _plain(value: Any) -> str:
    """Return the value of a condition as text, or an empty string if asct chooses the value."""
    return "" if value is None or value == "auto" else str(value)


def _comparable(one: _Sighting, two: _Sighting) -> bool:
    """Return whether two values can be compared. A lower bound is compared only with a value below it, and a curve only
    with the levels of its own point."""
    if one.quantity.curve is None and two.quantity.curve is None:
        return not min(one, two, key=lambda side: side.value).quantity.lower_bound
    here, there = ((side.first.id, side.first.point_id) for side in (one, two))
    return here == there and (one.quantity.curve is None) != (two.quantity.curve is None)


def _agree(one: _Sighting, two: _Sighting) -> bool:
    tolerance = max(one.quantity.tolerance, two.quantity.tolerance)
    near = abs(one.value - two.value) <= tolerance * min(abs(one.value), abs(two.value))
    return near or (one.low <= two.high and two.low <= one.high)


def _side(one: _Sighting, two: _Sighting) -> Disagreement:
    same_job = one.first.id == two.first.id
    other = (
        ("curve" if two.quantity.curve else "level") if same_job and one.quantity.curve != two.quantity.curve else ""
    )
    return Disagreement(
        one.first.host, one.first.id, one.quantity.name, one.value, other or two.first.id, two.value,
        one.first.unit, one.places,
    )  # fmt: skip
