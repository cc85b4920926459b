"""Pair the values of two runs, and compare each pair.

Values from different tools never have the same version and settings. They are comparable if both runs recorded the same
load, unless the module that reads the other tool's files gives a reason why they are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from asct.analysis.baseline import BaselineKey, ignored_metrics, key_of
from asct.analysis.comparison import LEAST_RUNS, Change, Outcome, adjusted, compare, in_common
from asct.analysis.diff.source import DiffSource
from asct.analysis.grid import as_text, coordinates_text, plain
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.headline import headline_metrics
from asct.analysis.view import sizes_of
from asct.sdk.benchmark import Catalog
from asct.sdk.record import is_invalid

DiffVerdict = Literal[Outcome, "added", "removed"]
"""The verdicts, in the order in which counts list them."""
UNDIRECTED: Final = "neither higher nor lower values of this metric are better"
_LOAD: Final = ("block_size", "data_size", "direct", "iodepth", "numjobs", "rw", "rwmixread")
"""The settings that must be equal if both tools recorded them. Other settings, such as the duration, affect only how
precise a value is."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One value in two runs. `group` is the value in the new run or, if it was removed, the value in the base.

    `base` is None if the value was added, `new` is None if it was removed, and `change` is None in both cases.
    `base_unit` is the unit of `base`, and `place` describes the coordinates as text.
    """

    group: MetricGroup
    key: BaselineKey
    place: str
    base: float | None
    new: float | None
    base_unit: str
    change: Change | None = None

    @property
    def name(self) -> str:
        """Return the full name of the value, such as `latency-sweep.latency at level DRAM`."""
        return f"{self.group.id}.{self.label.replace(', ', ' at ', 1)}"

    @property
    def label(self) -> str:
        """Return the name of the value without its benchmark entry, such as `latency, level DRAM`."""
        return ", ".join(filter(None, (plain(self.group.metric), self.place)))

    @property
    def verdict(self) -> DiffVerdict:
        """The verdict: the outcome of the comparison, or whether the value was added or removed."""
        if self.change is None:
            return "removed" if self.new is None else "added"
        return self.change.outcome

    @property
    def compared(self) -> bool:
        """Whether the values could be compared, even if too few visits or noise leave the verdict open."""
        return self.verdict not in ("not comparable", "added", "removed")

    @property
    def percent(self) -> float | None:
        """The change as a percentage of the base, or None if there is no relative change."""
        unlike = self.base_unit != self.group.record.unit
        return None if not self.base or self.new is None or unlike else 100.0 * (self.new / self.base - 1.0)

    @property
    def undecided(self) -> bool:
        """Whether a regression larger than the limit cannot be ruled out, because the values cannot be compared, have
        too few visits or come from a noisy host."""
        if self.change is None or not self.change.undecided:
            return False
        if self.verdict != "not comparable":
            return True
        better, base, new = self.group.record.better, self.change.base, self.change.new
        worse = new > base if better == "lower" else new < base
        return better != "neither" and (worse or min(base, new) > 0.0)


@dataclass(frozen=True, slots=True)
class RunDiff:
    """The comparison of one run with the base. `hosts` maps each of its hosts to the host of the base with which it is
    compared; `notes` explain the comparison."""

    run: DiffSource
    rows: tuple[DiffRow, ...]
    hosts: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[DiffVerdict, int]:
        """Return the number of values with each verdict, including verdicts that no value has."""
        found: dict[DiffVerdict, int] = dict.fromkeys(get_args(DiffVerdict), 0)
        for row in self.rows:
            found[row.verdict] += 1
        return found

    @property
    def judged(self) -> bool:
        """Whether at least one value could be compared."""
        return any(row.compared for row in self.rows)

    @property
    def undecided(self) -> int:
        """The number of values for which a regression cannot be ruled out, including those of hosts that are missing
        from the new run."""
        paired = self.hosts.values()
        lost = [row for row in self.rows if row.verdict == "removed" and row.group.host not in paired]
        return sum(row.undecided for row in self.rows) + sum(row.group.record.better != "neither" for row in lost)


def paired_hosts(base: DiffSource, new: DiffSource) -> dict[str, str]:
    """Return a mapping from each host in the new run to its counterpart in the base run: the host with the same name
    or, if each run has exactly one host, that host."""
    before, after = base.hosts, new.hosts
    if len(before) == len(after) == 1:
        return {after[0]: before[0]}
    return {host: host for host in after if host in before}


def compare_runs(base: DiffSource, new: DiffSource, limit: float, catalog: Catalog) -> RunDiff:
    """Compare all values of two runs; `limit` is the smallest relative change of interest.

    Values that comparisons ignore, such as the size actually used, are left out.
    """
    hosts = paired_hosts(base, new)
    before = {key_of(group): group for group in _groups(base, catalog)}
    rows = []
    for group in _groups(new, catalog):
        key = key_of(replace(group, host=hosts.get(group.host, "")))
        place, unit, old = _place(group, catalog), group.record.unit, before.pop(key, None)
        if old is None:
            rows.append(DiffRow(group, key, place, None, group.value, unit))
            continue
        same, reason = aligned(base, new, old, group)
        reason = _unjudged(group) or reason
        change = (
            Change(old.value, group.value, group.record.better, limit, reason=reason)
            if reason
            else compare(same, group, limit, new.spread.get(key, ()))
        )
        rows.append(DiffRow(group, key, place, old.value, group.value, old.record.unit, change))
    rows += [DiffRow(old, key, _place(old, catalog), old.value, None, old.record.unit) for key, old in before.items()]
    return RunDiff(new, tuple(_adjusted(rows)), hosts, tuple(_notes(base, new, hosts)))


def _groups(source: DiffSource, catalog: Catalog) -> list[MetricGroup]:
    ignored = ignored_metrics((record.benchmark for record in source.records), catalog)
    return gather(record for record in source.records if (record.benchmark, record.metric) not in ignored)


def _place(group: MetricGroup, catalog: Catalog) -> str:
    return coordinates_text(group.at, sizes_of(catalog.get(group.record.benchmark)))


def aligned(base: DiffSource, new: DiffSource, before: MetricGroup, after: MetricGroup) -> tuple[MetricGroup, str]:
    """Return the base's value `before`, relabeled with the version and the settings of `after`, and the reason, if any,
    why the two cannot be compared. If the same tool measured both, `before` is unchanged, and the reason is empty."""
    if base.tool == new.tool:
        return before, ""
    first = after.record
    same = {"version": first.version, "point_id": first.point_id}
    reason = base.unlike.get(before.key) or new.unlike.get(after.key) or _other_load(base, new, before, after)
    return replace(before, records=tuple(record.model_copy(update=same) for record in before.records)), reason


def _other_load(base: DiffSource, new: DiffSource, before: MetricGroup, after: MetricGroup) -> str:
    first, second = base.settings.get((before.host, before.id), {}), new.settings.get((after.host, after.id), {})
    for name in _LOAD:
        one, other = first.get(name), second.get(name)
        if name not in after.at and None not in (one, other) and one != other:
            return f"the base was measured with {name} {plain(as_text(one))}, this run with {plain(as_text(other))}"
    return ""


def _unjudged(new: MetricGroup) -> str:
    """Return the reason why a new value cannot have a verdict, whatever the base contains, or an empty string if it can
    have one."""
    if new.record.better == "neither":
        return UNDIRECTED
    invalid = [flag for flag in new.doubts if is_invalid([flag])]
    return f"the new value is flagged {' and '.join(invalid)}" if invalid else ""


def _adjusted(rows: Sequence[DiffRow]) -> list[DiffRow]:
    """Return the rows with their changes adjusted for all compared values, and with notes on hosts whose values
    regressed together."""
    pairs = [(row, row.change) for row in rows if row.change is not None]
    changes = iter(in_common(adjusted([change for _, change in pairs]), [row.group.host for row, _ in pairs]))
    return [row if row.change is None else replace(row, change=next(changes)) for row in rows]


def _notes(base: DiffSource, new: DiffSource, hosts: Mapping[str, str]) -> list[str]:
    notes = [
        f"host {plain(after)} is compared with host {plain(before)}, because each run has only one host"
        for after, before in hosts.items()
        if after != before
    ]
    for source, paired in ((new, [*hosts]), (base, [*hosts.values()])):
        alone = [plain(host) for host in source.hosts if host not in paired]
        if alone:
            notes.append(f"only {source.name} measured {'host' if len(alone) == 1 else 'hosts'} {', '.join(alone)}")
    known = max((len(values) for values in new.spread.values()), default=0)
    if known >= LEAST_RUNS:
        notes.append(f"the comparison takes into account the spread of up to {known} unchanged runs of the plan")
    return notes


def by_importance(rows: Iterable[DiffRow], catalog: Catalog) -> list[DiffRow]:
    """Return the rows sorted by verdict: regressions first, and then improvements. Within a verdict, the key results of
    the benchmark come first, and then the largest changes."""
    order = ("regressed", "improved", "too few visits", "noisy", "not comparable", "same", "added", "removed")
    rows = list(rows)
    names = dict.fromkeys(row.group.record.benchmark for row in rows)
    known = {name: headline_metrics(one) for name in names if (one := catalog.get(name)) is not None}

    def rank(row: DiffRow) -> tuple[int, bool, float]:
        minor = row.group.metric not in known.get(row.group.record.benchmark, ())
        return order.index(row.verdict), minor, -abs(row.percent or 0.0)

    return sorted(rows, key=rank)


def by_change_in(run: RunDiff, rows: Iterable[DiffRow]) -> list[DiffRow]:
    """Return the rows sorted by the size of the change in `run`, largest first."""
    sizes = {row.key: abs(row.percent) for row in run.rows if row.percent is not None}
    return sorted(rows, key=lambda row: -sizes.get(row.key, -1.0))
