"""Dependencies: the jobs that others need, the order among them, and what their results look like at plan time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Entry
from asct.planner.context import NAMED, Draft, Ground
from asct.sdk.benchmark import Benchmark, Dependency

Key = tuple[str, str]
"""(host, job id)."""
Build = Callable[[Entry, str, str], Draft | None]
"""Entry, host and reason to a draft; None after an error."""


@dataclass(slots=True)
class Assembly:
    """The jobs of a plan: `drafts` in the order asked for, `needs` from each to the ids behind its aliases."""

    drafts: dict[Key, Draft] = field(default_factory=dict)
    needs: dict[Key, dict[str, str]] = field(default_factory=dict)


def needed_benchmarks(ground: Ground, entry: Entry, benchmark: Benchmark[Any]) -> dict[str, Benchmark[Any]]:
    """Every alias that templates of an entry may read, and the benchmark behind it."""
    found: dict[str, Benchmark[Any]] = {}
    for dependency in benchmark.dependencies:
        needed = ground.catalog.get(dependency.benchmark)
        if needed is not None:
            found[dependency.alias] = needed
    entries = {other.id: other for other in ground.plan.benchmarks}
    for alias, node in entry.needs.items():
        target = entries.get(str(node.value))
        needed = ground.catalog.get(target.uses) if target else None
        if needed is not None:
            found[alias] = needed
    return found


class Assembler:
    """Follows needs and dependencies from the selected jobs until nothing is missing."""

    def __init__(self, ground: Ground, where: Mapping[str, list[str]], build: Build) -> None:
        self._ground = ground
        self._where = where
        self._build = build
        self._entries = {entry.id: entry for entry in ground.plan.benchmarks}
        self._tried: dict[Key, Draft | None] = {}
        self._result = Assembly()

    def assemble(self, pairs: Iterable[Key]) -> Assembly:
        """All jobs for (entry id, host) pairs, with those they need."""
        waiting = [(self._entries[name], host, NAMED) for name, host in pairs]
        while waiting:
            entry, host, reason = waiting.pop(0)
            if (host, entry.id) in self._result.drafts:
                continue
            draft = self._draft(entry, host, reason)
            if draft is not None:
                self._result.drafts[host, entry.id] = draft
                waiting += [(other, host, f"needed by {entry.id}") for other in self._follow(draft)]
        self._check_single_point()
        return self._result

    def _draft(self, entry: Entry, host: str, reason: str) -> Draft | None:
        key = (host, entry.id)
        if key not in self._tried:
            self._tried[key] = self._build(entry, host, reason)
        found = self._tried[key]
        return replace(found, reason=reason) if found is not None else None

    def _follow(self, draft: Draft) -> list[Entry]:
        """The entries that a draft needs on its host; notes their ids under the aliases."""
        names: dict[str, str] = {}
        found: list[Entry] = []
        for alias in draft.entry.needs:
            target = self._named(draft, alias)
            if target is not None:
                names[alias] = target.id
                found.append(target)
        for dependency in draft.benchmark.dependencies:
            if dependency.alias not in draft.entry.needs and _required(dependency, draft):
                target = self._of_benchmark(dependency, draft)
                if target is not None:
                    names[dependency.alias] = target.id
                    found.append(target)
        self._result.needs[draft.host, draft.id] = names
        return found

    def _named(self, draft: Draft, alias: str) -> Entry | None:
        """The entry behind an alias of `needs:`."""
        node = draft.entry.needs[alias]
        target = self._entries.get(str(node.value))
        findings = self._ground.findings
        if target is None:
            hint = did_you_mean(str(node.value), self._entries)
            if self._ground.catalog.get(str(node.value)) is not None:
                hint = f"add `- {node.value}` to `benchmarks`"
            findings.error("E220", f"`{draft.id}` needs `{node.value}`, which is no id of this plan", node.span, hint)
            return None
        if draft.host not in self._where[target.id]:
            runs = ", ".join(self._where[target.id]) or "no host"
            message = f"`{draft.id}` on {draft.host} needs `{target.id}`, which does not run there"
            findings.error("E221", message, node.span, f"let `{target.id}` run on {draft.host}; it runs on {runs}")
            return None
        return target if self._fits(draft, alias, target) else None

    def _fits(self, draft: Draft, alias: str, target: Entry) -> bool:
        """An alias that the benchmark itself reads must lead to the benchmark it expects."""
        wanted = next((item.benchmark for item in draft.benchmark.dependencies if item.alias == alias), None)
        found = self._ground.catalog.get(target.uses)
        if wanted is None or found is None or found is self._ground.catalog.get(wanted):
            return True
        self._ground.findings.error(
            "E222",
            f"`{alias}` of `{draft.benchmark.name}` reads results of `{wanted}`, and `{target.id}` is `{found.name}`",
            draft.entry.needs[alias].span,
            f"name an entry that uses `{wanted}`, or leave `{alias}` out: it is then added by itself",
        )
        return False

    def _of_benchmark(self, dependency: Dependency, draft: Draft) -> Entry | None:
        """The entry that measures a dependency with default settings: one of the plan, or a new one."""
        needed = self._ground.benchmark(dependency.benchmark, draft.entry.uses_span)
        if needed is None:
            return None
        fresh = Entry(
            id=self._free_id(needed.name), uses=needed.name, span=draft.entry.span, uses_span=draft.entry.uses_span
        )
        default = self._draft(fresh, draft.host, f"needed by {draft.id}")
        if default is None:
            return None
        for entry in self._entries.values():
            if draft.host in self._where[entry.id] and self._ground.catalog.get(entry.uses) is needed:
                made = self._draft(entry, draft.host, NAMED)
                if made is not None and [p.id for p in made.made.points] == [p.id for p in default.made.points]:
                    return entry
        return fresh

    def _free_id(self, name: str) -> str:
        """The benchmark's name, unless an entry with other settings has taken it."""
        candidate, suffix = name, "-default"
        while candidate in self._entries:
            candidate += suffix
        return candidate

    def _check_single_point(self) -> None:
        """Results are read from one point; of several nobody could say which."""
        for (host, name), aliases in self._result.needs.items():
            draft = self._result.drafts[host, name]
            own = {dependency.alias for dependency in draft.benchmark.dependencies}
            for alias, target in aliases.items():
                needed = self._result.drafts.get((host, target))
                if needed is not None and len(needed.made.points) > 1 and alias in own | draft.made.aliases:
                    node = draft.entry.needs.get(alias)
                    self._ground.findings.error(
                        "E225",
                        f"`{name}` reads results of `{target}`, which has {len(needed.made.points)} points",
                        node.span if node else draft.entry.span,
                        f"name an entry with one point, or add one that uses `{needed.benchmark.name}` without a sweep",
                    )


def _required(dependency: Dependency, draft: Draft) -> bool:
    """Unless every setting that it would fill is given; a template that reads it asks for it in any case."""
    if dependency.alias in draft.made.aliases or not dependency.satisfied_by:
        return True
    return not all(name in draft.made.explicit for name in dependency.satisfied_by)


def ordered(assembly: Assembly, ground: Ground) -> list[Draft]:
    """Host by host in the order asked for, each job behind those it needs. A cycle is an error and named once."""
    hosts = {host: None for host, _ in assembly.drafts}
    found: list[Draft] = []
    for host in [name for name in ground.plan.hosts if name in hosts]:
        graph = {
            name: [
                target for target in assembly.needs.get((host, name), {}).values() if (host, target) in assembly.drafts
            ]
            for place, name in assembly.drafts
            if place == host
        }
        if _acyclic(graph, assembly, host, ground):
            found += [assembly.drafts[host, name] for name in _behind_needs(graph)]
    return found


def _acyclic(graph: Mapping[str, list[str]], assembly: Assembly, host: str, ground: Ground) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        start = cycle.index(min(cycle[1:], key=list(graph).index))
        ring = cycle[start:-1] + cycle[:start]
        text = " needs ".join(f"`{name}`" for name in [*ring, ring[0]])
        span = assembly.drafts[host, ring[0]].entry.span
        ground.findings.error("E223", f"needs go round in a circle: {text}", span, "take one of them out")
        return False
    return True


def _behind_needs(graph: Mapping[str, list[str]]) -> list[str]:
    """Depth first, so that a needed job stands right before the first that needs it or where the plan has it."""
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
