"""Create the points of an entry on a host: apply the layers, expand the sweep, and validate and identify every
point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from asct.diagnostics.model import Span
from asct.plan.model import Entry, Node, Retry
from asct.plan.sections import filled
from asct.plan.templates import Condition
from asct.planner.context import ANY, NOWHERE, JobDraft, ResolveContext
from asct.planner.identity import PointIds, canonical_json, frozen_key
from asct.planner.layers import SET_RANK, SettingValue, ValueReader, layered
from asct.planner.model import Job, Origin, Point
from asct.planner.needs import needed_benchmarks
from asct.planner.settings import InvalidSettings, Settings, contradictions, copied, plain_settings
from asct.planner.sweep import (
    Axes,
    ExcludeRule,
    SweepRow,
    Where,
    combinations,
    declared_axes,
    expand,
    included,
    names_of,
    read_axes,
    read_excludes,
    report_unmatched,
)
from asct.sdk.benchmark import Benchmark, LineError, Refusal
from asct.sdk.params import Params

CANDIDATES = 1_000_000
"""Maximum number of combinations for which `where` and `exclude` are evaluated. A sweep with more combinations is an
error."""
CHECKED = 20_000
"""Maximum number of points of a sweep that are checked although `limits.points` is lower. Checking so many points takes
about two seconds."""


class _EntrySweep(NamedTuple):
    """The sweep of an entry on a host before it is expanded.

    `names` lists the settings that vary: first the settings in axes and zips, in order, then the settings in `include`.
    """

    context: ResolveContext
    entry: Entry
    settings: Settings
    base: Mapping[str, SettingValue]
    axes: Axes
    where: Condition | None
    excludes: Sequence[ExcludeRule]
    includes: Sequence[Mapping[str, Any] | None]
    names: tuple[str, ...]
    pinned: frozenset[str]
    rejected: frozenset[str]
    """The parts that are unknown because of errors (see `ValueReader`)."""

    def hides(self, *names: str) -> bool:
        """Return whether one of these settings or parts is unknown because of an error."""
        return not self.rejected.isdisjoint((ANY, *names))

    @property
    def span(self) -> Span:
        return self.entry.sweep.span or self.entry.span


def draft_job(context: ResolveContext, entry: Entry, host: str) -> JobDraft | None:
    """Return the job for an entry on a host, with its points but without the jobs that it needs. After an error, the
    job has no points. Return None if the benchmark is unknown."""
    benchmark = context.benchmark(entry.uses, entry.uses_span)
    if benchmark is None:
        return None
    sweep = _declared(context, entry, host, benchmark)
    points = _shared(sweep, host)
    rejected = sweep.rejected if points or sweep.rejected else frozenset({"points"})
    how = filled(entry.execution, context.plan.execution)
    job = Job(
        id=entry.id,
        benchmark=benchmark.name,
        version=benchmark.version,
        host=host,
        points=() if rejected else points,
        repeats=how.repeats or 1,
        warmup=how.warmup or 0,
        timeout_s=how.timeout_s,
        retry=how.retry or Retry(),
        order=how.order or "interleaved",
        strict=bool(how.strict),
        tags=entry.tags,
        origins=_origins(sweep),
        span=entry.span,
        reason=entry.reason,
    )
    aliases = frozenset(alias for value in sweep.base.values() for alias in value.aliases)
    axes = {name: _values(sweep, name) if rejected else () for name in sweep.names}
    return JobDraft(job, entry, benchmark, _explicit(sweep), aliases, axes, rejected)


def _values(sweep: _EntrySweep, name: str) -> list[Any]:
    """Return the values of a varying setting."""
    columns = [(axis, axis.names.index(name)) for axis in sweep.axes.axes if name in axis.names]
    found = [row[column] for axis, column in columns for row in axis.rows]
    return found + [point[name] for point in sweep.includes if point is not None and name in point]


def _declared(context: ResolveContext, entry: Entry, host: str, benchmark: Benchmark[Any]) -> _EntrySweep:
    """Read the sweep and count its points without expanding it."""
    settings = context.settings(benchmark)
    spec = context.plan.hosts.get(host, NOWHERE)
    reader = ValueReader(context, settings, spec, needed_benchmarks(context, entry, benchmark))
    _mark_gaps(reader, entry)
    declared = declared_axes(reader, entry)
    if not _countable(context, entry, math.prod(len(item.columns[0]) for item in declared)):
        reader.rejected.add(ANY)
        declared = []
    base = reader.base(layered(context, entry, host, settings))
    axes = read_axes(reader, declared, base)
    excludes, includes = read_excludes(reader, entry, axes), included(reader, entry, axes)
    if None in includes:
        reader.rejected.add("include")
    swept = names_of(axes.axes)
    where = reader.where(entry.sweep.where, swept) if entry.sweep.where else None
    if declared and not _countable(context, entry, combinations(axes.axes)):
        reader.rejected.add(ANY)
    pinned = frozenset(name for name in swept if name in base and base[name].rank == SET_RANK)
    names = tuple(dict.fromkeys([*swept, *(name for point in includes for name in point or ())]))
    rejected = frozenset(reader.rejected)
    return _EntrySweep(context, entry, settings, base, axes, where, excludes, includes, names, pinned, rejected)


def _mark_gaps(reader: ValueReader, entry: Entry) -> None:
    """Record in the value reader which parts of an entry are unknown because of errors in the plan."""
    findings, plan = reader.context.findings, reader.context.plan
    if findings.hides("benchmarks", entry.id, "sweep"):
        reader.rejected.add(ANY)
    inside = ("where", "exclude", "include", "zip")
    reader.rejected.update(word for word in inside if findings.hides("benchmarks", entry.id, "sweep", word))
    if "zip" in reader.rejected:
        reader.rejected.add(ANY)
    layers = [("benchmarks", entry.id, "config"), ("defaults", "config"), ("hosts", reader.host.name, "config")]
    layers += [("groups", name, "config") for name in plan.groups]
    layers += [("groups", name, "hosts") for name in plan.group_config]
    elsewhere = plan.group_config or plan.host_config
    if any(findings.hides(*layer) for layer in layers) or (elsewhere and not reader.host.name):
        reader.rejected.add("config")
    if findings.hides("benchmarks", entry.id, "needs"):
        reader.scope = reader.scope._replace(hidden=(*reader.scope.hidden, "needs"))


def _countable(context: ResolveContext, entry: Entry, total: int) -> bool:
    """Return whether the sweep is small enough to expand. Combinations are counted without expanding them, so that a
    sweep with 10^12 combinations is rejected immediately."""
    sweep = entry.sweep
    if not (sweep.where or sweep.exclude):
        return _few_enough(context, entry, total + len(sweep.include))
    most = max(CANDIDATES, context.plan.limits.points)
    if total <= most:
        return True
    message = f"the sweep of `{entry.id}` has {total:,} combinations before `where` and `exclude` are applied"
    context.findings.error(
        "E217", message, sweep.span or entry.span, f"reduce the sweep: asct evaluates at most {most:,} combinations"
    )
    return False


def _few_enough(context: ResolveContext, entry: Entry, total: int) -> bool:
    """Report a sweep with more points than `limits.points`, and return whether it can be expanded nevertheless, so that
    its consent, costs and settings are checked as well."""
    limit = context.plan.limits.points
    if total > limit and not context.findings.hides("limits", "points"):
        message = f"`{entry.id}` has {total:,} points, but `limits.points` is {limit:,}"
        hint = f"reduce the sweep, or raise the limit: `limits: {{points: {total}}}`"
        context.findings.error("E217", message, entry.sweep.span or entry.span, hint)
    return total <= max(limit, CHECKED)


def _shared(sweep: _EntrySweep, host: str) -> tuple[Point, ...]:
    """Return the points. Hosts with identical settings share the tuple."""
    reads_host = sweep.where is not None and "host." in str(sweep.where.node.value)
    key = canonical_json(
        [
            sweep.settings.benchmark.name,
            {name: value.final for name, value in sweep.base.items()},
            [[axis.names, axis.rows] for axis in sweep.axes.axes],
            [rule.values for rule in sweep.excludes],
            sweep.includes,
            sorted(sweep.rejected),
            host if reads_host else "",
        ]
    )
    known = sweep.context.points
    if (sweep.entry.id, key) not in known:
        known[sweep.entry.id, key] = _expanded(sweep)
    return known[sweep.entry.id, key]


def _expanded(sweep: _EntrySweep) -> tuple[Point, ...]:
    """Expand the sweep and validate every point. Returns an empty tuple after an error.

    If errors hide parts of the sweep, only values that do not depend on those parts are checked.
    """
    findings = sweep.context.findings
    found = None if sweep.hides() else findings.attempt(expand, sweep.axes.axes, _where(sweep), sweep.excludes)
    if found is None:
        return ()
    total = len(found.rows) + len(sweep.includes)
    checked = not sweep.hides("where", "exclude") and _few_enough(sweep.context, sweep.entry, total)
    before = findings.errors
    values = {name: _values(sweep, name) for name in names_of(sweep.axes.axes)}
    unsure = {ANY} if sweep.pinned else sweep.rejected
    report_unmatched(sweep.context, sweep.entry.id, sweep.excludes, found, unsure, values)
    if all(axis.rows for axis in sweep.axes.axes) and not (found.rows or sweep.includes or sweep.rejected):
        message = f"the sweep of `{sweep.entry.id}` has no points"
        findings.error("E218", message, sweep.span, "`where` and `exclude` remove every combination")
    points = _materialised(sweep, found.rows) if checked and not sweep.hides("config") else ()
    return points if findings.errors == before else ()


def _where(sweep: _EntrySweep) -> Where | None:
    """Return the condition, or None if there is none.

    The condition reads axes by their main names, whichever spellings the plan uses.
    """
    condition = sweep.where
    if condition is None:
        return None
    spellings = sweep.settings.spellings
    others = [(word, spellings[word]) for word in condition.names if spellings[word] != word]
    if not others:
        return condition
    return lambda row: condition({**row, **{word: row[name] for word, name in others}})


def _candidates(sweep: _EntrySweep, rows: Sequence[SweepRow]) -> Iterator[tuple[dict[str, Any], Span]]:
    """Yield each point's varying settings, and the location where errors in the point are reported."""
    names = names_of(sweep.axes.axes)
    for row in rows:
        yield dict(zip(names, row, strict=True)), sweep.span
    pinned = {name: sweep.base[name].value for name in sweep.pinned}
    for point, node in zip(sweep.includes, sweep.entry.sweep.include, strict=True):
        if point is not None:
            yield {**point, **pinned}, node.span


def _materialised(sweep: _EntrySweep, rows: Sequence[SweepRow]) -> tuple[Point, ...]:
    """Return all points, validated by the benchmark's model and `check`, and identified by their content."""
    benchmark, settings = sweep.settings.benchmark, sweep.settings
    shared = {name: value.value for name, value in sweep.base.items() if name not in settings.steps}
    waiting = {name: value.final for name, value in sweep.base.items() if value.waits}
    maker = PointMaker(settings, shared, waiting)
    found: dict[str, Point] = {}
    for varying, span in _candidates(sweep, rows):
        try:
            params, values, identity = maker.make(varying)
        except InvalidSettings as error:
            for problem in error.problems:
                if problem.setting not in sweep.rejected:
                    _report(sweep, problem.setting, problem.message, problem.hint, varying)
            continue
        for name, message in contradictions(benchmark, params, sweep.rejected):
            if name not in waiting:
                _report(sweep, settings.spellings.get(name, name), message, "", varying)
        if sweep.rejected:
            continue
        if identity in found:
            if not sweep.pinned:  # otherwise, --set made the points equal, and one of them is enough
                text = ", ".join(f"{name} {value}" for name, value in varying.items())
                message = f"`{sweep.entry.id}` contains the point {text} twice"
                sweep.context.findings.error("E214", message, span, "remove one of them")
            continue
        found[identity] = Point(identity, {name: values[name] for name in sweep.names}, values)
    return tuple(found.values())


def _report(sweep: _EntrySweep, name: str, message: str, hint: str, varying: Mapping[str, Any]) -> None:
    """Report an error in a point at the location of the invalid value: in the sweep, or where the plan gives the
    setting."""
    node: Node | None = sweep.axes.nodes.get((name, frozen_key(varying[name]))) if name in varying else None
    if node is None and name in sweep.base:
        node = sweep.base[name].node
    text = f"`{name}`: {message}" if name and f"`{name}`" not in message else message
    code = "E252" if isinstance(message, Refusal) else "E209"
    span = sweep.entry.span if node is None else _line_span(sweep, node, message) or node.span
    sweep.context.findings.error(code, text, span, hint)


def _line_span(sweep: _EntrySweep, node: Node, message: str) -> Span | None:
    """Return the location of the line that a message is about, or None if the plan does not contain this line as it is,
    for example because the value is quoted or the line contains a template."""
    if not isinstance(message, LineError):
        return None
    file, number = node.span.file, node.span.line + message.line  # a literal block begins below its indicator (`|`)
    written = _lines(sweep.context.plan.files.get(file, ""))[number - 1 : number]
    lines = [line.strip() for line in _lines(node.value)[message.line - 1 : message.line]]
    if not lines or [line.strip() for line in written] != lines:
        return None
    return Span(file, number, written[0].index(lines[0]) + 1, len(lines[0]))


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return text.splitlines()


def _origins(sweep: _EntrySweep) -> dict[str, Origin]:
    found: dict[str, Origin] = {}
    for name in sweep.settings.names:
        if name in sweep.settings.steps:
            continue
        if name in sweep.pinned or (name in sweep.base and name not in sweep.names):
            found[name] = sweep.base[name].origin
        elif name in sweep.names:
            found[name] = sweep.axes.origins.get(name, Origin("include", sweep.span))
        else:
            found[name] = Origin("default")
    return found


def _explicit(sweep: _EntrySweep) -> frozenset[str]:
    """Return the settings whose values differ from the defaults. Settings that are explicitly set to their defaults are
    not returned, because a dependency that supplies them is still needed."""
    defaults = sweep.settings.defaults
    changed = {
        name
        for name, value in sweep.base.items()
        if value.waits or name not in defaults or frozen_key(value.value) != frozen_key(defaults[name])
    }
    swept = {name for name in sweep.names if sweep.axes.origins.get(name, Origin("include")).layer != "default"}
    return frozenset(changed | swept | sweep.rejected)


class PointMaker:
    """Creates the points of a job from shared and varying values.

    If the model validates each setting separately, only the first point is validated as a whole. The other points are
    copies of the first one with different values, because creating a copy takes only a third of the time.
    """

    def __init__(self, settings: Settings, shared: Mapping[str, Any], waiting: Mapping[str, Any]) -> None:
        self._settings = settings
        self._shared = shared
        self._waiting = waiting
        self._first: dict[frozenset[str], tuple[Params, dict[str, Any], PointIds]] = {}

    def make(self, varying: Mapping[str, Any]) -> tuple[Params, dict[str, Any], str]:
        """Return the benchmark's settings object for a point, all of its settings as plain JSON, and its id. Raises
        InvalidSettings if the model rejects a value."""
        names = frozenset(varying)
        first = self._first.get(names)
        if first is not None:
            params = copied(first[0], varying) or self._settings.whole({**self._shared, **varying})
            return params, {**first[1], **varying}, first[2].of(varying)
        params = self._settings.whole({**self._shared, **varying})
        values = plain_settings(params)
        for name in self._settings.steps:
            del values[name]
        values.update({name: value for name, value in self._waiting.items() if name not in names})
        benchmark = self._settings.benchmark
        ids = PointIds(benchmark.name, benchmark.version, values)
        if not self._settings.separate:
            return params, values, ids.of({})
        self._first[names] = params, values, ids
        return params, {**values, **varying}, ids.of(varying)
