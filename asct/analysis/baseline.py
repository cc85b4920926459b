"""The baseline of a plan: the values from an earlier run, to which `versus: baseline` refers.

The baseline is one run, specified by a path, a label or `latest`. `asct results accept` starts a new segment for a
metric: from then on, the accepted run provides its values. A run in which something failed or was not measured is never
a baseline, because a gate would then compare other runs with a faulty one.

Some conditions, such as the placement of virtual CPUs and the activity of other programs, vary from run to run, but are
the same for all visits of a run. The spread of other unchanged runs of the plan shows how much these conditions matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Final

from asct.analysis.agreement import agreed, planned_jobs
from asct.analysis.comparison import LEAST_RUNS, difference
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.hardware import RunHardware, hardware_change
from asct.diagnostics.model import Diagnostic
from asct.errors import NoSuchRun, StoreError
from asct.sdk.benchmark import Catalog
from asct.sdk.record import REUSED, is_invalid
from asct.statistics.changepoint import changes
from asct.store.accepted import Acceptance, read_acceptances
from asct.store.find import age, holds_run, lost_run, open_run, run_folders
from asct.store.layout import PointKey
from asct.store.model import Run, Verdict
from asct.store.reader import StoredRun, read_run
from asct.values.text import counted

LATEST: Final = "latest"
NEWEST: Final = "the newest complete run of this plan"
"""The reason shown for a baseline if the plan specifies none, or specifies `latest`."""
MOST_RUNS: Final = 20
"""Maximum number of runs whose spread is used, including the baseline. With more runs, a slow decline would increase
the spread so much that the decline would go unnoticed."""

BaselineKey = tuple[str, str, str, tuple[tuple[str, str], ...]]
"""The key that identifies a value across runs: host, id, metric, and the swept settings and coordinates as text."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The values of the baseline. If there are none, `problem` is the reason; otherwise, `why` describes how the
    baseline was chosen."""

    run: str = ""
    why: str = ""
    groups: Mapping[BaselineKey, MetricGroup] = field(default_factory=dict)
    hardware: Mapping[str, RunHardware] = field(default_factory=dict)
    """The hosts of the baseline and of each accepted run, keyed by run id."""
    current: RunHardware = field(default_factory=RunHardware)
    """The hosts of the run being judged."""
    planned: frozenset[PointKey] = frozenset()
    """The points of the run being judged. At these points, the run must have all values that the baseline has."""
    ignored: frozenset[tuple[str, str]] = frozenset()
    """The metrics that comparisons ignore, each paired with its benchmark."""
    unchanged: Mapping[str, Mapping[BaselineKey, MetricGroup]] = field(default_factory=dict)
    """The values of the runs in which nothing failed, measured on the same hardware, keyed by run id. The baseline and
    the run being judged are not included."""
    accepted: Mapping[BaselineKey, str] = field(default_factory=dict)
    """For each value that an accepted run provides, the reason for the acceptance."""
    since: Mapping[BaselineKey, str] = field(default_factory=dict)
    """For each value, the most recently accepted run. Older runs are not treated as unchanged."""
    until: Mapping[BaselineKey, str] = field(default_factory=dict)
    """For each value, the first accepted run after the baseline. Neither this run nor any newer run is treated as
    unchanged."""
    problem: str = ""

    def chosen(self, group: MetricGroup) -> str:
        """Return how the run that provides the baseline's values was chosen."""
        because = self.accepted.get(key_of(group))
        return self.why if because is None else f"accepted: {because}"

    @property
    def origin(self) -> str:
        """How the baseline was chosen, and which accepted runs provide some of its values."""
        accepted = Counter((self.groups[key].record.run, because) for key, because in self.accepted.items())
        parts = (
            f"{counted(number, 'value is', 'values are')} from {run} (accepted: {because})"
            for (run, because), number in accepted.most_common()
        )
        return "; ".join([self.why, *parts])

    def compares(self, group: MetricGroup) -> bool:
        """Return whether the values of the metric have a direction and may be compared."""
        record = group.record
        return record.better != "neither" and (record.benchmark, record.metric) not in self.ignored

    def spread(self, group: MetricGroup) -> tuple[float, ...]:
        """Return the values that the baseline and the unchanged runs measured for the metric of `group` with the same
        coordinates, settings and benchmark version, oldest first. Only runs since the last acceptance are included, and
        only if their values are on the same level as the baseline's value."""
        key, base = key_of(group), self.counterpart(group)
        if base is None:
            return ()
        run = base.record.run
        values = {run: base.value}
        for name, groups in self.unchanged.items():
            other = groups.get(key)
            recent = age(name) >= age(self.since.get(key, name))
            early = key not in self.until or age(name) < age(self.until[key])
            if recent and early and other is not None and not difference(base, other):
                values.setdefault(name, other.value)
        ordered = sorted(values, key=age)
        return _level([values[item] for item in ordered], ordered.index(run))

    def hardware_change(self, group: MetricGroup) -> str:
        """Describe how the hardware differs from the hardware on which the baseline measured this value. Return an
        empty string if there is no difference, or if the baseline does not contain the value."""
        base = self.counterpart(group)
        if base is None:
            return ""
        return hardware_change(self.hardware.get(base.record.run, RunHardware()), self.current, group)

    def counterpart(self, group: MetricGroup) -> MetricGroup | None:
        """Return the values in the baseline that correspond to `group`, or None if there are none."""
        return self.groups.get(key_of(group))


def key_of(group: MetricGroup) -> BaselineKey:
    """Return the key that identifies these values in every run of the plan."""
    return _key(group.host, group.id, group.metric, group.at)


def _key(host: str, job_id: str, metric: str, at: Mapping[str, Any]) -> BaselineKey:
    return host, job_id, metric, tuple(sorted((key, repr(value)) for key, value in at.items()))


def _level(values: Sequence[float], index: int) -> tuple[float, ...]:
    """Return the values around `values[index]`, up to the nearest change of level on either side. Runs before an
    improvement are excluded, because they would hide a later loss of this improvement. Values that return to an earlier
    level alternate between states; such a change counts as spread and does not end the level. If the level has too few
    values to determine their spread, return all values."""
    found = (change.index for change in changes(values))
    pairs = ((cut, values[:cut], values[cut:]) for cut in found)
    cuts = [0, *(cut for cut, one, two in pairs if max(one) < min(two) or max(two) < min(one)), len(values)]
    level = next(values[start:end] for start, end in pairwise(cuts) if start <= index < end)
    return tuple(level if len(level) >= LEAST_RUNS else values)


def find_baseline(name: str, current: Path, catalog: Catalog) -> Baseline:
    """Return the baseline `name` for the run in the folder `current`. Never raises StoreError: if the baseline is
    missing or damaged, verdicts are unknown."""
    try:
        now, before = read_run(current), _before(current)
        if name == LATEST:
            stored, why = newest_fit(before), NEWEST
        else:
            stored, why = _run_by_name(name, current.parent, now.run.plan, current), f"named `{name}` in the plan"
        if stored is None:
            return Baseline(problem=f"{current.parent} contains no earlier run that can serve as the baseline")
        if stored.layout.root.resolve() == current.resolve():
            return Baseline(problem=f"the baseline `{name}` is this run itself")
        return _read(stored, why, now, before, catalog)
    except StoreError as error:
        return Baseline(problem=_problem(name, error))


def spread_of(
    base: Path, current: Path, catalog: Catalog, others: Collection[Path]
) -> dict[BaselineKey, tuple[float, ...]]:
    """Return, for each value of the run in the folder `base`, the values that this run and the unchanged runs near it
    measured. These values are needed to judge the run in the folder `current`. The result is empty if the two runs do
    not belong to one plan in one results tree.

    Acceptances divide the runs into segments, and only runs in the base's segment are used. The runs in the folders
    `others` are excluded, because they are compared with the base as well. Raises StoreError.
    """
    if base.parent.resolve() != current.parent.resolve():
        return {}
    stored, now = read_run(base), read_run(current)
    if stored.run.plan != now.run.plan:
        return {}
    groups = dict(_groups(stored, catalog))
    start, accepted = age(stored.run.run), sorted(read_acceptances(base.parent), key=lambda item: age(item.run))
    since = {key: item.run for item in accepted if age(item.run) <= start for key in groups if item.covers(*key[1:3])}
    later = [item for item in reversed(accepted) if age(item.run) > start]
    until = {key: item.run for item in later for key in groups if item.covers(*key[1:3])}
    compared = {folder.resolve() for folder in others}
    before = [folder for folder in _before(current) if folder.resolve() not in compared]
    found = Baseline(groups=groups, unchanged=_unchanged(stored, now, before), since=since, until=until)
    return {key: found.spread(group) for key, group in groups.items()}


def absent(name: str, results: Path, plan: str) -> str:
    """Return the reason why the baseline `name` of a plan cannot be used, or an empty string if it can. `latest` can
    always be used, because the first run of a plan has nothing to be compared with."""
    try:
        if name != LATEST:
            _run_by_name(name, results / plan, plan)
    except StoreError as error:
        return _problem(name, error)
    return ""


def _problem(name: str, error: StoreError) -> str:
    found = error.diagnostics[0]
    return (
        found.message if found.code == "E522" else f"the baseline `{name}` cannot be read: {found.code} {found.message}"
    )


def _run_by_name(name: str, runs: Path, plan: str, current: Path | None = None) -> StoredRun:
    """Return the run with this label, id or path, for a plan whose runs are in the folder `runs`. Raises StoreError,
    with the code E522 if the run cannot be a baseline of the plan. The run in the folder `current` is exempt from this
    check."""
    labeled = runs / name
    if lost := lost_run(labeled):
        raise StoreError(Diagnostic("E522", f"the run {lost}, which has the label `{name}`, no longer exists"))
    stored = read_run(labeled.resolve()) if holds_run(labeled) else _open(name, runs)
    fault = ""
    if "/" not in name and stored.run.plan != plan:
        add = f"`asct results label {plan}/latest NAME` adds a label"
        fault = f"no run of this plan has the label or id `{name}` ({_title(stored)} has it); {add}"
    elif (current is None or stored.layout.root.resolve() != current.resolve()) and (why := unfit(stored)):
        fault = f"the baseline {_title(stored)} {why}"
    if fault:
        raise StoreError(Diagnostic("E522", fault))
    return stored


def _open(name: str, runs: Path) -> StoredRun:
    """Like `open_run`, but prefer a run in the folder `runs` to those of other plans that have the same label."""
    if "/" not in name:
        try:
            return open_run(runs.parent, f"{runs.name}/{name}")
        except NoSuchRun as error:
            if error.diagnostics[0].code == "E506":
                raise
    return open_run(runs.parent, name)


def newest_before(current: Path) -> StoredRun | None:
    """Return the newest run of the plan that precedes the run in the folder `current` and can be a baseline. Return
    None if there is no such run."""
    return newest_fit(_before(current))


def newest_fit(folders: Sequence[Path]) -> StoredRun | None:
    """Return the newest run that can be a baseline, or None if there is none. `folders` contains the runs, oldest
    first."""
    fit = (item for item in _without(unfit, reversed(folders)) if not _unconfirmed(item.run.verdicts))
    return next(fit, None)


def unfit(stored: StoredRun) -> str:
    """Return the reason why a run cannot be a baseline, phrased as the end of a sentence about the run, or an empty
    string if it can. Raises StoreError."""
    if fault := _fault(stored.run):
        return fault
    if worse := _undecided(stored):
        seeming = counted(worse, "value that seems", "values that seem")
        return f"has {seeming} to have regressed but whose verdict is unknown"
    lost = [item for item in stored.run.verdicts if item.baseline is not None and item.value is None]
    missing = sum(item.if_missing == "fail" for item in lost)
    return f"lacks {counted(missing, 'value')} that its baseline contains" if missing else ""


def _fault(run: Run) -> str:
    """Return what is wrong with the run (something failed or was not measured), phrased as the end of a sentence about
    the run, or an empty string if nothing is wrong. Runs with undecided values are not rejected: without them, the
    spread of a noisy host would seem smaller than it is."""
    if run.status != "complete":
        return f"is {run.status}"
    lacking = sum(sum(job.lacking().values()) for job in run.jobs)
    if lacking:
        return f"lacks {counted(lacking, 'measurement')}"
    bad = [verdict for verdict in run.verdicts if verdict.outcome == "fail" and verdict.severity == "fail"]
    return f"has {counted(len(bad), 'failed expectation')}" if bad else ""


def _undecided(stored: StoredRun) -> int:
    """Return the number of values that are worse than the baseline by more than the limit, but whose verdict (of
    severity `fail`) is unknown. If such values became the baseline, a regression would go unnoticed from then on."""
    found = []
    for verdict in stored.run.verdicts:
        base = verdict.baseline
        if (verdict.outcome, verdict.severity) == ("unknown", "fail") and base is not None and base.change is not None:
            found.append((verdict, base.change, base.limit or 0.0))
    if not any(abs(change) > limit for _, change, limit in found):
        return 0  # the case for most runs, whose records need not be read
    signs = {(item.host, item.id, item.metric): 1.0 if item.better == "lower" else -1.0 for item in stored.records()}
    return sum(
        change * signs.get((item.host or "", item.id, item.metric), 1.0) > limit for item, change, limit in found
    )


def _unconfirmed(verdicts: Iterable[Verdict]) -> set[BaselineKey]:
    """Return the values that seemed to have regressed until they were measured again."""
    return {
        _key(verdict.host or "", verdict.id, verdict.metric, verdict.at)
        for verdict in verdicts
        if verdict.baseline is not None and verdict.baseline.again is not None and not verdict.baseline.again.confirmed
    }


def acceptable(stored: StoredRun, item: Acceptance) -> str:
    """Return the reason why the values of a run cannot be accepted, or an empty string if they can. Failed expectations
    do not matter, because they may be the reason for the acceptance."""
    if stored.run.status != "complete":
        return f"it is {stored.run.status}"
    records = [record for record in stored.records() if record.repeat >= 1 and item.covers(record.id, record.metric)]
    if not records:
        return f"it contains no values of `{item.metric}`"
    bad = sorted({record.id for record in records if is_invalid(record.flags)})
    return f"values of `{bad[0]}` are invalid" if bad else ""


def _title(stored: StoredRun) -> str:
    return f"{stored.run.plan}/{stored.layout.root.name}"


def _before(current: Path) -> list[Path]:
    """Return the folders of the plan's runs that precede a run, oldest first. Later runs are excluded, so that the
    verdicts on this run never change."""
    folders = run_folders(current.parent)
    names = [folder.name for folder in folders]
    return folders[: names.index(current.name)] if current.name in names else folders


def _without(fault: Callable[[StoredRun], str], folders: Iterable[Path]) -> Iterator[StoredRun]:
    """Yield the runs in which `fault` finds nothing wrong."""
    for folder in folders:
        with suppress(StoreError):  # a damaged run is skipped
            stored = read_run(folder)
            if not fault(stored):
                yield stored


def _read(stored: StoredRun, why: str, current: StoredRun, before: Sequence[Path], catalog: Catalog) -> Baseline:
    results = current.layout.root.parent.parent
    groups = dict(_groups(stored, catalog))
    hardware = {stored.run.run: _hardware(stored)}
    reasons: dict[BaselineKey, str] = {}
    acceptances = _valid(
        read_acceptances(results / stored.run.plan), until=max(stored.run.run, current.run.run, key=age)
    )
    for item in acceptances:
        if age(item.run) > age(stored.run.run):
            accepted = read_run(results / stored.run.plan / item.run)
            chosen = {key: group for key, group in _groups(accepted, catalog) if item.covers(group.id, group.metric)}
            groups.update(chosen)
            reasons.update(dict.fromkeys(chosen, item.because))
            hardware[accepted.run.run] = _hardware(accepted)
    ignored = ignored_metrics((group.record.benchmark for group in groups.values()), catalog)
    unchanged = _unchanged(stored, current, before)
    since = {key: item.run for item in acceptances for key in groups if item.covers(*key[1:3])}
    now = _hardware(current)
    planned = frozenset(_planned(current))
    return Baseline(_title(stored), why, groups, hardware, now, planned, ignored, unchanged, reasons, since)


def _planned(stored: StoredRun) -> Iterator[PointKey]:
    for (host, job_id), job in planned_jobs(stored.resolved()).items():
        points = job.get("points")
        for point in points if isinstance(points, list) else ():
            if isinstance(point, dict):
                yield host, job_id, str(point.get("id"))


def _valid(acceptances: Iterable[Acceptance], until: str) -> list[Acceptance]:
    """Return the acceptances of runs up to `until`, except those superseded by a later one with the same pattern."""
    valid: dict[str, Acceptance] = {}
    for item in acceptances:
        if age(item.run) <= age(until):
            valid.pop(item.metric, None)
            valid[item.metric] = item
    return list(valid.values())


def ignored_metrics(benchmarks: Iterable[str], catalog: Catalog) -> frozenset[tuple[str, str]]:
    """For these benchmarks, return the metrics that comparisons ignore, each paired with its benchmark."""
    known = ((name, catalog.get(name)) for name in set(benchmarks))
    return frozenset(
        (name, metric.name)
        for name, benchmark in known
        if benchmark is not None
        for metric in benchmark.metrics
        if not metric.comparable
    )


def _unchanged(
    baseline: StoredRun, current: StoredRun, before: Sequence[Path]
) -> dict[str, Mapping[BaselineKey, MetricGroup]]:
    """Return the values of the unchanged runs of the plan that are nearest to the baseline: those before it, newest
    first, and then those after it, oldest first."""
    start = age(baseline.run.run)
    older = [folder for folder in before if age(folder.name) < start]
    newer = [folder for folder in before if age(folder.name) > start]
    nearest = _without(lambda stored: _fault(stored.run), chain(reversed(older), newer))
    found: dict[str, Mapping[BaselineKey, MetricGroup]] = {}
    for stored in islice(nearest, MOST_RUNS - 1):
        with suppress(StoreError):  # a damaged run does not contribute to the spread
            found.setdefault(stored.run.run, _values_of(stored, _hardware(current)))
    return found


def _values_of(stored: StoredRun, current: RunHardware) -> dict[BaselineKey, MetricGroup]:
    """Return those values of a run that are treated as unchanged. This excludes values of entries whose hardware
    differs from that of `current`, values reused from another run, and values that seemed to have regressed at
    first."""
    own, same = _hardware(stored), dict[tuple[str, str, str], bool]()
    unconfirmed = _unconfirmed(stored.run.verdicts)
    groups = {}
    for group in gather(stored.looks()[0]):
        entry = group.host, group.id, repr(group.at.get("file_names"))
        if entry not in same:
            same[entry] = not hardware_change(own, current, group)
        reused = any(REUSED in record.flags for record in group.records)
        if same[entry] and not reused and key_of(group) not in unconfirmed:
            groups[key_of(group)] = group
    return groups


def _hardware(stored: StoredRun) -> RunHardware:
    return RunHardware(stored.facts(), stored.resolved())


def _groups(stored: StoredRun, catalog: Catalog) -> Iterable[tuple[BaselineKey, MetricGroup]]:
    records, found = agreed(stored.looks()[0], stored.resolved(), stored.facts(), catalog)
    return [(key_of(group), group) for group in gather(records, found)]
