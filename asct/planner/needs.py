"""Dependencies: add the jobs that other jobs need, and order all jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from asct.plan.model import Entry
from asct.planner.context import NOWHERE, JobDraft, ResolveContext
from asct.sdk.benchmark import Benchmark, Dependency
from asct.values.suggest import did_you_mean

HostJob = tuple[str, str]
"""A host and a job id."""
Build = Callable[[Entry, str], JobDraft | None]
"""A function that creates the job for an entry on a host; it returns None after an error."""


def needed_benchmarks(
    context: ResolveContext, entry: Entry, benchmark: Benchmark[Any]
) -> dict[str, Benchmark[Any] | None]:
    """Return the aliases that an entry's templates may read, each with its benchmark (None if unknown)."""
    uses = {other.id: other.uses for other in context.plan.benchmarks}
    names = {dependency.alias: dependency.benchmark for dependency in benchmark.dependencies}
    names |= {alias: uses.get(str(node.value), "") for alias, node in entry.needs.items()}
    return {alias: context.catalog.get(name) for alias, name in names.items()}


class DependencyResolver:
    """Adds the jobs that the selected jobs need, whether directly or indirectly."""

    def __init__(self, context: ResolveContext, where: Mapping[str, list[str]], build: Build) -> None:
        self._context = context
        self._where = where
        self._build = build
        self._entries = {entry.id: entry for entry in context.plan.benchmarks}
        self._drafts: dict[HostJob, JobDraft | None] = {}

    def resolve(self, pairs: Iterable[HostJob]) -> dict[HostJob, JobDraft]:
        """Return the jobs for the given (entry id, host) pairs, and all jobs that they need, in plan order."""
        drafts: dict[HostJob, JobDraft] = {}
        pending = [(self._entries[name], host, "") for name, host in pairs]
        while pending:
            entry, host, dependent = pending.pop(0)
            draft = self._draft(entry, host) if (host, entry.id) not in drafts else None
            if draft is None:
                continue
            needed = self._needed(draft)
            reason = f"needed by {dependent}" if dependent else draft.job.reason
            job = draft.job._replace(reason=reason, needs={alias: target.id for alias, target in needed.items()})
            drafts[host, entry.id] = draft._replace(job=job)
            pending += [(target, host, entry.id) for target in needed.values()]
        self._check_single_point(drafts)
        return drafts

    def _draft(self, entry: Entry, host: str) -> JobDraft | None:
        key = (host, entry.id)
        if key not in self._drafts:
            self._drafts[key] = self._build(entry, host)
        return self._drafts[key]

    def _needed(self, draft: JobDraft) -> dict[str, Entry]:
        """Return the entries that a job needs on its host, keyed by alias."""
        found = {alias: self._entry_of(draft, alias) for alias in draft.entry.needs}
        for dependency in draft.benchmark.dependencies:
            if dependency.alias not in draft.entry.needs and _required(dependency, draft):
                found[dependency.alias] = self._of_benchmark(dependency, draft)
        return {alias: entry for alias, entry in found.items() if entry is not None}

    def _entry_of(self, draft: JobDraft, alias: str) -> Entry | None:
        """Return the entry that an alias in `needs:` refers to, or None after an error."""
        node = draft.entry.needs[alias]
        target = self._entries.get(str(node.value))
        findings = self._context.findings
        if target is None and findings.hides("benchmarks"):
            return None
        if target is None:
            hint = did_you_mean(str(node.value), self._entries)
            if self._context.catalog.get(str(node.value)) is not None:
                hint = f"add `- {node.value}` to `benchmarks`"
            message = f"`{draft.job.id}` needs `{node.value}`, but the plan has no such id"
            findings.error("E220", message, node.span, hint)
            return None
        hosts = self._where[target.id]
        unknown = NOWHERE.name in (draft.job.host, *hosts) or findings.hides("benchmarks", target.id, "hosts")
        if draft.job.host not in hosts and unknown:
            return None
        if draft.job.host not in hosts:
            runs = ", ".join(hosts)
            message = f"`{draft.job.id}` on {draft.job.host} needs `{target.id}`, which does not run there"
            findings.error(
                "E221", message, node.span, f"add {draft.job.host} to the hosts of `{target.id}` (currently {runs})"
            )
            return None
        return target if self._fits(draft, alias, target) else None

    def _fits(self, draft: JobDraft, alias: str, target: Entry) -> bool:
        """Return whether the alias refers to the benchmark whose results are expected under it. If it does not, report
        an error."""
        expected = next((item.benchmark for item in draft.benchmark.dependencies if item.alias == alias), None)
        found = self._context.catalog.get(target.uses)
        if expected is None or found is None or found is self._context.catalog.get(expected):
            return True
        self._context.findings.error(
            "E222",
            f"`{alias}` of `{draft.benchmark.name}` reads results from `{expected}`, "
            f"but `{target.id}` uses `{found.name}`",
            draft.entry.needs[alias].span,
            f"use an entry with `uses: {expected}`, or remove `{alias}`: asct then adds the job itself",
        )
        return False

    def _of_benchmark(self, dependency: Dependency, draft: JobDraft) -> Entry | None:
        """Return an entry that measures a dependency with default settings, creating it if necessary."""
        needed = self._context.benchmark(dependency.benchmark, draft.entry.uses_span)
        if needed is None:
            return None
        fresh = Entry(
            id=self._free_id(needed.name), uses=needed.name, span=draft.entry.span, uses_span=draft.entry.uses_span
        )
        default = self._draft(fresh, draft.job.host)
        if default is None:
            return None
        for entry in self._entries.values():
            if draft.job.host in self._where[entry.id] and self._context.catalog.get(entry.uses) is needed:
                candidate = self._draft(entry, draft.job.host)
                if candidate is not None and [p.id for p in candidate.job.points] == [p.id for p in default.job.points]:
                    return entry
        return fresh

    def _free_id(self, name: str) -> str:
        """Return the benchmark's name as an id. If an entry with different settings already has this id, add a
        suffix."""
        candidate, suffix = name, "-default"
        while candidate in self._entries:
            candidate += suffix
        return candidate

    def _check_single_point(self, drafts: Mapping[HostJob, JobDraft]) -> None:
        """Report jobs that read results from a job with more than one point."""
        for (host, name), draft in drafts.items():
            own = {dependency.alias for dependency in draft.benchmark.dependencies}
            for alias, target in draft.job.needs.items():
                needed = drafts.get((host, target))
                if needed is not None and len(needed.job.points) > 1 and alias in own | draft.aliases:
                    node = draft.entry.needs.get(alias)
                    self._context.findings.error(
                        "E225",
                        f"`{name}` reads results from `{target}`, which has {len(needed.job.points)} points",
                        node.span if node else draft.entry.span,
                        f"use an entry with one point, or add one that uses `{needed.benchmark.name}` without a sweep",
                    )


def _required(dependency: Dependency, draft: JobDraft) -> bool:
    """Return whether a dependency is required.

    It is not required if the plan sets all settings that the dependency would supply and no template reads its results.
    """
    if dependency.alias in draft.aliases or not dependency.satisfied_by:
        return True
    return not all(name in draft.explicit for name in dependency.satisfied_by)


def ordered(drafts: Mapping[HostJob, JobDraft], context: ResolveContext) -> list[JobDraft]:
    """Order the jobs by host and, within a host, as in the plan, except that each job comes after the jobs that it
    needs.

    Report cycles as errors.
    """
    found: list[JobDraft] = []
    for host in (*context.plan.hosts, NOWHERE.name):
        own = {name: draft for (place, name), draft in drafts.items() if place == host}
        graph = {name: [need for need in draft.job.needs.values() if need in own] for name, draft in own.items()}
        if _acyclic(graph, own, context):
            found += [own[name] for name in _behind_needs(graph)]
    return found


def _acyclic(graph: Mapping[str, list[str]], drafts: Mapping[str, JobDraft], context: ResolveContext) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        start = cycle.index(min(cycle[1:], key=list(graph).index))
        ring = cycle[start:-1] + cycle[:start]
        text = " needs ".join(f"`{name}`" for name in [*ring, ring[0]])
        span = drafts[ring[0]].entry.span
        context.findings.error("E223", f"dependencies form a cycle: {text}", span, "remove one of them")
        return False
    return True


def _behind_needs(graph: Mapping[str, list[str]]) -> list[str]:
    """Order the jobs depth-first.

    A needed job comes immediately before the first job that needs it, unless its own position in the plan is earlier.
    """
    done: dict[str, None] = {}
    for first in graph:
        stack = [(first, False)]
        while stack:
            name, expanded = stack.pop()
            if expanded:
                done.setdefault(name)
            elif name not in done:
                stack.append((name, True))
                stack += [(target, False) for target in reversed(graph[name]) if target not in done]
    return list(done)
