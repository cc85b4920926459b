"""The baseline of a plan: the values of an earlier run with which `versus: baseline` compares.

The baseline is one run, named by a path, a label or `latest`. `asct results accept` starts a new segment for a metric:
from then on, the accepted run provides its values. A run of which anything was not measured or has failed is never a
baseline, because a gate would then compare with a fault.

Visits of one run share what changes from run to run, such as the placement of virtual CPUs and other programs. The
spread of other unchanged runs of the plan tells how much that matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from asct.analysis.agreement import agreed
from asct.analysis.comparison import difference
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.hardware import RunHardware, hardware_change
from asct.errors import StoreError
from asct.sdk.benchmark import Catalog
from asct.sdk.record import is_invalid
from asct.store.accepted import Acceptance, read_acceptances
from asct.store.find import holds_run, list_runs, open_run
from asct.store.model import Run
from asct.store.reader import StoredRun, read_run

LATEST: Final = "latest"
MOST_RUNS: Final = 20
"""Runs whose spread is used, the baseline included. More would hide a slow decline behind the spread that it causes."""

BaselineKey = tuple[str, str, str, tuple[tuple[str, str], ...]]
"""What identifies a value in different runs: host, id, metric, and its place as text."""


@dataclass(frozen=True, slots=True)
class UnchangedRun:
    """A run that is neither the baseline nor judged, and of which nothing failed: its values from the same hardware."""

    run: str
    groups: Mapping[BaselineKey, MetricGroup]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The values of the baseline. `problem` is the reason why there are none; otherwise, `why` describes how the run
    was chosen."""

    run: str = ""
    why: str = ""
    groups: Mapping[BaselineKey, MetricGroup] = field(default_factory=dict)
    hardware: Mapping[str, RunHardware] = field(default_factory=dict)
    """The hosts of the baseline and of each accepted run, by run id."""
    current: RunHardware = field(default_factory=RunHardware)
    """The hosts of the run that is judged."""
    ignored: frozenset[tuple[str, str]] = frozenset()
    """The metrics that comparisons ignore, with their benchmarks."""
    unchanged: Sequence[UnchangedRun] = ()
    problem: str = ""

    def compares(self, group: MetricGroup) -> bool:
        """Return whether the values of the metric have a direction and may be compared."""
        record = group.records[0]
        return record.better != "neither" and (record.benchmark, record.metric) not in self.ignored

    def spread(self, group: MetricGroup) -> tuple[float, ...]:
        """Return what the baseline and the unchanged runs measured at the same place with the same settings and
        version; after an acceptance, only runs since then."""
        base = self.counterpart(group)
        if base is None:
            return ()
        run = base.records[0].run
        runs = [item for item in self.unchanged if run == self.run.rpartition("/")[2] or item.run > run]
        found = (item.groups.get(key_of(group)) for item in runs)
        return base.value, *(other.value for other in found if other is not None and not difference(base, other))

    def hardware_change(self, group: MetricGroup) -> str:
        """Return how the hardware differs from the one that measured the baseline's values; empty if it does not, or
        if there are no such values."""
        base = self.counterpart(group)
        if base is None:
            return ""
        return hardware_change(self.hardware.get(base.records[0].run, RunHardware()), self.current, group)

    def counterpart(self, group: MetricGroup) -> MetricGroup | None:
        """Return the values of the baseline at the same place; None if there are none."""
        return self.groups.get(key_of(group))


def key_of(group: MetricGroup) -> BaselineKey:
    """Return what identifies the values in every run of a plan."""
    return group.host, group.id, group.metric, tuple(sorted((key, repr(value)) for key, value in group.at.items()))


def find_baseline(name: str, current: Path, catalog: Catalog) -> Baseline:
    """Return the baseline `name` for the run in the folder `current`. It never raises StoreError: a baseline that is
    gone or damaged makes verdicts unknown."""
    results = current.parent.parent
    try:
        if name == LATEST:
            stored = _latest(results, current)
            why = "the newest run of this plan that was measured completely"
        else:
            labeled = current.parent / name
            stored = read_run(labeled.resolve()) if holds_run(labeled) else open_run(results, name)
            why = f"`{name}`"
        if stored is None:
            return Baseline(problem=f"{current.parent} contains no earlier run that can be a baseline")
        fault = unfit(stored.run)
        if fault:
            return Baseline(problem=f"the baseline {_title(stored)} {fault}")
        if stored.layout.root.resolve() == current.resolve():
            return Baseline(problem=f"the baseline `{name}` is this run itself")
        return _read(stored, why, read_run(current), catalog)
    except StoreError as error:
        found = error.diagnostics[0]
        return Baseline(problem=f"the baseline `{name}` cannot be read: {found.code} {found.message}")


def unfit(run: Run) -> str:
    """Return why a run cannot be a baseline, as the end of a sentence about it; empty if it can."""
    if run.status != "complete":
        return f"is {run.status}"
    lacking = sum(sum(job.lacking().values()) for job in run.jobs)
    if lacking:
        return f"lacks {lacking} {'measurement' if lacking == 1 else 'measurements'}"
    bad = [verdict for verdict in run.verdicts if verdict.outcome == "fail" and verdict.severity == "fail"]
    return f"has {len(bad)} failed {'expectation' if len(bad) == 1 else 'expectations'}" if bad else ""


def acceptable(stored: StoredRun, item: Acceptance) -> str:
    """Return why a run cannot provide the values of an acceptance; empty if it can. Failed expectations do not matter:
    they may be the reason for accepting the values."""
    if stored.run.status != "complete":
        return f"it is {stored.run.status}"
    records = [record for record in stored.records() if record.repeat >= 1 and item.covers(record.id, record.metric)]
    if not records:
        return f"it contains no values of `{item.metric}`"
    bad = sorted({record.id for record in records if is_invalid(record.flags)})
    return f"values of `{bad[0]}` are invalid" if bad else ""


def _title(stored: StoredRun) -> str:
    return f"{stored.run.plan}/{stored.layout.root.name}"


def _latest(results: Path, current: Path) -> StoredRun | None:
    earlier = _fit_before(results, current)
    return read_run(earlier[-1]) if earlier else None


def _fit_before(results: Path, current: Path) -> list[Path]:
    """Return the folders of the runs of the plan that can be a baseline, oldest first. Later runs do not matter, so
    that the verdicts of a run do not change."""
    runs = [item for item in list_runs(results) if item.layout.root.parent.name == current.parent.name]
    names = [item.layout.root.name for item in runs]
    before = runs[: names.index(current.name)] if current.name in names else runs
    return [item.layout.root for item in before if item.run and not unfit(item.run)]


def _read(stored: StoredRun, why: str, current: StoredRun, catalog: Catalog) -> Baseline:
    results = current.layout.root.parent.parent
    groups = dict(_groups(stored, catalog))
    hardware = {stored.run.run: _hardware(stored)}
    for item in read_acceptances(results / stored.run.plan):
        accepted = _accepted(item, stored, results)
        if accepted is not None:
            chosen = {key: group for key, group in _groups(accepted, catalog) if item.covers(group.id, group.metric)}
            groups.update(chosen)
            hardware[accepted.run.run] = _hardware(accepted)
    ignored = ignored_metrics((group.records[0].benchmark for group in groups.values()), catalog)
    unchanged = tuple(_unchanged(stored, current))
    return Baseline(_title(stored), why, groups, hardware, _hardware(current), ignored, unchanged)


def ignored_metrics(benchmarks: Iterable[str], catalog: Catalog) -> frozenset[tuple[str, str]]:
    """Return the metrics of these benchmarks that comparisons ignore, each with its benchmark."""
    known = ((name, catalog.get(name)) for name in set(benchmarks))
    return frozenset(
        (name, metric.name)
        for name, benchmark in known
        if benchmark is not None
        for metric in benchmark.metrics
        if not metric.comparable
    )


def _unchanged(baseline: StoredRun, current: StoredRun) -> Iterator[UnchangedRun]:
    """Yield the unchanged runs of the plan that are nearest to the baseline: those before it, newest first, and then
    those after it, oldest first."""
    root = baseline.layout.root.resolve()
    fit = _fit_before(current.layout.root.parent.parent, current.layout.root)
    before = [folder for folder in fit if folder.name < root.name]
    after = [folder for folder in fit if folder.name > root.name]
    for folder in [*reversed(before), *after][: MOST_RUNS - 1]:
        with suppress(StoreError):  # a damaged run says nothing about the spread
            yield _values_of(read_run(folder), _hardware(current))


def _values_of(stored: StoredRun, current: RunHardware) -> UnchangedRun:
    """Return the values of a run, without those of entries that measured other hardware than `current`."""
    own, same = _hardware(stored), dict[tuple[str, str, str], bool]()
    groups = {}
    for group in gather(stored.looks()[0]):
        entry = group.host, group.id, repr(group.at.get("file_names"))
        if entry not in same:
            same[entry] = not hardware_change(own, current, group)
        if same[entry]:
            groups[key_of(group)] = group
    return UnchangedRun(stored.run.run, groups)


def _hardware(stored: StoredRun) -> RunHardware:
    return RunHardware(stored.facts(), stored.resolved())


def _accepted(item: Acceptance, baseline: StoredRun, results: Path) -> StoredRun | None:
    """Return the accepted run, unless the baseline is newer."""
    accepted = read_run(results / baseline.run.plan / item.run)
    return accepted if accepted.run.started_at > baseline.run.started_at else None


def _groups(stored: StoredRun, catalog: Catalog) -> Iterable[tuple[BaselineKey, MetricGroup]]:
    records, found = agreed(stored.looks()[0], stored.resolved(), stored.facts(), catalog)
    return [(key_of(group), group) for group in gather(records, found)]
