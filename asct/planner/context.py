"""The state shared by all steps of resolving a plan: the plan, the catalog, the findings, and the jobs under
construction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import Entry, HostSpec, Node, Plan
from asct.planner.keywords import selects, with_selected
from asct.planner.model import Job, Point
from asct.planner.settings import Settings
from asct.sdk.benchmark import Benchmark, Catalog
from asct.values.suggest import ALIKE, did_you_mean, nearest


class Override(NamedTuple):
    """A `--set` option that changes a setting in the entry `entry_id` or in all entries that use `benchmark`."""

    entry_id: str | None
    benchmark: str | None
    spelling: str
    node: Node

    def meets(self, entry: Entry, benchmark: str) -> bool:
        """Return whether the override applies to an entry."""
        return self.entry_id == entry.id or (self.benchmark is not None and self.benchmark == benchmark)


@dataclass(slots=True)
class ResolveContext:
    """The state shared by all steps of resolving one plan."""

    plan: Plan
    catalog: Catalog
    findings: Findings = field(init=False)
    _readers: dict[str, Settings] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    wider: Callable[[], Sequence[tuple[ResolveContext, Sequence[JobDraft]]]] = tuple
    """Returns additional contexts, each with its jobs: one for the plan without the profile, `--set` and the selection,
    and one for each profile in the plan."""
    points: dict[tuple[str, str], tuple[Point, ...]] = field(default_factory=dict)
    """The points of each entry. Each key contains the entry and everything else that the points depend on, so that
    hosts with the same settings share the points."""

    def __post_init__(self) -> None:
        self.findings = Findings(self.plan.gaps)
        self.plan = with_selected(self._with_corrected_ids(), self.catalog, self.findings)
        self.overrides = tuple(self._read_overrides())

    def benchmark(self, name: str, span: Span | None) -> Benchmark[Any] | None:
        """Return the benchmark with this name or alias. If none exists, report an error at `span` (unless the name is
        empty because of an earlier error) and return the benchmark that was probably meant."""
        found = self.catalog.get(name)
        if found is None and name:
            hint = did_you_mean(name, self.catalog.names(), "`asct list` lists them")
            if len(words := re.split(r"[\s,]+", name)) > 1 and all(map(self.catalog.get, words)):
                hint = f"separate the names: `[{', '.join(words)}]`"
            elif selects(name, self.catalog):
                hint = f"`{name}` stands for several benchmarks: write `select: [{name}]` next to `benchmarks`"
            self.findings.error("E201", f"unknown benchmark `{name}`", span, hint)
            found = self.catalog.get(nearest(name, self.catalog.names(), ALIKE) or "")
        return found

    def _with_corrected_ids(self) -> Plan:
        """Return the plan with corrected ids: if an entry has no `id` and misspells its benchmark's name, the correct
        name becomes its id."""
        ids = {entry.id for entry in self.plan.benchmarks}
        unknown = {name for name in ids if self.catalog.get(name) is None}
        renamed = {
            entry.id: correct
            for entry in self.plan.benchmarks
            if entry.id == entry.uses and entry.id in unknown
            if (correct := nearest(entry.id, self.catalog.names(), ALIKE)) and correct not in ids
        }
        entries = tuple(entry._replace(id=renamed.get(entry.id, entry.id)) for entry in self.plan.benchmarks)
        return self.plan._replace(benchmarks=entries) if renamed else self.plan

    def settings(self, benchmark: Benchmark[Any]) -> Settings:
        """Return the `Settings` that validate a benchmark's settings. They are created once per benchmark."""
        if benchmark.name not in self._readers:
            self._readers[benchmark.name] = Settings(benchmark)
        return self._readers[benchmark.name]

    def used(self) -> list[Benchmark[Any]]:
        """Return all benchmarks in the plan, including dependencies."""
        found: dict[str, Benchmark[Any]] = {}
        waiting = [entry.uses for entry in self.plan.benchmarks]
        while waiting:
            benchmark = self.catalog.get(waiting.pop(0))
            if benchmark is not None and benchmark.name not in found:
                found[benchmark.name] = benchmark
                waiting += [dependency.benchmark for dependency in benchmark.dependencies]
        return list(found.values())

    def _read_overrides(self) -> Iterable[Override]:
        ids = {entry.id for entry in self.plan.benchmarks}
        used = self.used() if self.plan.overrides else []
        names = {name: benchmark.name for benchmark in used for name in (benchmark.name, *benchmark.aliases)}
        for path, node in self.plan.overrides:
            known = ids | set(names)
            fitting = [name for name in known if path.startswith(f"{name}.") and len(path) > len(name) + 1]
            head = max(fitting, key=len, default=None)  # use the longest, because ids may contain dots
            if head is None and self.findings.hides("benchmarks"):
                continue
            if head is None:
                first = path.partition(".")[0]
                hint = did_you_mean(first, known, "write `<id>.<setting>=<value>` or `vars.<name>=<value>`")
                self.findings.error("E203", f"`--set {path}` matches no benchmark in the plan", node.span, hint)
                continue
            spelling = path[len(head) + 1 :].removeprefix("config.")
            benchmark = None if head in ids else names[head]
            yield Override(head if head in ids else None, benchmark, spelling, node)


class JobDraft(NamedTuple):
    """A job under construction, with the information about its settings that other jobs and expectations need.

    `explicit` contains the settings whose values differ from the defaults, and `aliases` contains the aliases in
    `needs` that the job's templates read. `axes` contains the values of the settings that vary within the job.
    `rejected` contains the settings whose values are unknown because of an error (ANY if any setting may be affected).
    If `rejected` is not empty, the job has no points.
    """

    job: Job
    entry: Entry
    benchmark: Benchmark[Any]
    explicit: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    axes: Mapping[str, Sequence[Any]] = {}
    rejected: frozenset[str] = frozenset()

    @property
    def swept(self) -> tuple[str, ...]:
        """The settings that vary within the job, in order."""
        return tuple(self.axes)


ANY = "*"
"""An item in `JobDraft.rejected` that stands for all settings."""
NOWHERE: Final = HostSpec("")
"""Placeholder for the hosts in an entry that lists only unknown hosts, so that the entry's settings are still
checked."""
