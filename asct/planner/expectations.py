"""Resolve expectations: find their metrics, convert bounds to base units and check coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any, Final, NamedTuple

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.plan.findings import Note
from asct.plan.model import Bound, Expectation, Node
from asct.planner.context import ANY, JobDraft, ResolveContext
from asct.planner.identity import frozen_key
from asct.planner.model import Check
from asct.planner.selection import hosts_named, unknown_host
from asct.planner.settings import InvalidSettings, Settings
from asct.sdk.metric import Metric
from asct.values.error import BadValueError, clip
from asct.values.quantity import is_quantity, parse_quantity
from asct.values.size import parse_size
from asct.values.suggest import ALIKE, did_you_mean, nearest
from asct.values.text import counted

_NOTHING: Final = "`at` matches nothing: "
_MOST_NOTED: Final = 4
RELATIVE = ("theoretical_bandwidth",)
"""Host facts that `of:` may select as the reference for percentages."""


class ExpectedMetric(NamedTuple):
    """A job's metric that an expectation applies to."""

    draft: JobDraft
    metric: Metric


def checks(context: ResolveContext, drafts: Sequence[JobDraft]) -> list[Check]:
    """Return all expectations. An expectation for which no value is planned is marked as `unplanned`."""
    found: list[Check] = []
    _check_baseline(context)
    for expectation in context.plan.expect:
        before = context.findings.errors
        _check_reference(context, expectation)
        expected = _matched(context, expectation, drafts) if expectation.metric.sound else []
        limits = _limits(context, expectation, expected)
        place, absent = _place(context, expectation, expected)
        if context.findings.errors == before:
            judged = [] if absent else _checks(expectation, expected, place, limits)
            left_out = absent or _left_out(expectation, expected)
            found += judged or [_unplanned(expectation, place, limits[None], left_out)]
    return found


def _left_out(expectation: Expectation, expected: Sequence[ExpectedMetric]) -> str:
    job, _ = split_metric(str(expectation.metric.value)) or ("*", "*")
    return f"`{job}` is not selected" + (" on its hosts" if expected else "")


def _unplanned(expectation: Expectation, place: Mapping[str, Any], limits: NumericBounds, reason: str) -> Check:
    at = place or {key: node.plain() for key, node in expectation.at.items()}
    return _check(expectation, at, None, limits)._replace(unplanned=reason)


def split_metric(text: str) -> tuple[str, str] | None:
    """Split `matrix.iops` into the id and the metric; return None if there is no id. `*` matches everything."""
    if text == "*":
        return "*", "*"
    job, dot, metric = text.rpartition(".")
    return (job, metric) if dot and job and metric else None


def _matched(context: ResolveContext, expectation: Expectation, drafts: Sequence[JobDraft]) -> list[ExpectedMetric]:
    """Return the metrics that an expectation refers to. If an id or metric is unknown, report an error and use the most
    similar one."""
    text, span = str(expectation.metric.value), expectation.metric.span
    parts = split_metric(text)
    if parts is None:
        owners = [draft.job.id for draft in drafts if text in {item.name for item in draft.benchmark.metrics}]
        hint = f"write `{owners[0]}.{text}`" if owners else "write `<id>.<metric>`, or `*` for everything"
        context.findings.error("E230", f"`{text}` does not name a benchmark", span, hint)
        return []
    job, name = parts
    known = {entry.id for entry in context.plan.benchmarks} | {draft.job.id for draft in drafts}
    if not any(fnmatchcase(item, job) for item in known):
        if context.findings.hides("benchmarks") or _elsewhere(context, job):
            return []
        context.findings.error("E230", f"no benchmark in the plan has the id `{job}`", span, did_you_mean(job, known))
        job = nearest(job, known, ALIKE) or ""
    matching = _jobs_matching(drafts, job)
    found = _metrics(matching, name)
    if matching and not found:
        names = {item.name for draft in matching for item in draft.benchmark.metrics if item.comparable}
        hint = f"`asct list metrics {matching[0].benchmark.name}` lists them"
        context.findings.error("E231", f"`{job}` has no metric `{name}`", span, did_you_mean(name, names, hint))
        found = _metrics(matching, nearest(name, names, ALIKE) or "")
    return _comparable(context, found, name, span)


def _elsewhere(context: ResolveContext, job: str) -> list[ExpectedMetric]:
    """Return the metrics that a job would have without the profile, `--set` and the selection."""
    return [item for _, drafts in context.wider() for item in _metrics(_jobs_matching(drafts, job), "*")]


def _jobs_matching(drafts: Sequence[JobDraft], job: str) -> list[JobDraft]:
    return [draft for draft in drafts if fnmatchcase(draft.job.id, job)]


def _metrics(drafts: Sequence[JobDraft], name: str) -> list[ExpectedMetric]:
    """Return the metrics of jobs that match a name or pattern."""
    return [
        ExpectedMetric(draft, item)
        for draft in drafts
        for item in draft.benchmark.metrics
        if fnmatchcase(item.name, name)
    ]


def _comparable(context: ResolveContext, found: list[ExpectedMetric], name: str, span: Span) -> list[ExpectedMetric]:
    """Return the given metrics, excluding informational ones. Report an error if none remain."""
    comparable = [item for item in found if item.metric.comparable]
    if found and not comparable:
        message = f"metric `{name}` is informational and cannot have an expectation"
        names = [item.name for item in found[0].draft.benchmark.metrics if item.comparable]
        context.findings.error("E232", message, span, did_you_mean("", names))
    return comparable


def _place(
    context: ResolveContext, expectation: Expectation, expected: Sequence[ExpectedMetric]
) -> tuple[dict[str, Any], str]:
    """Check that the jobs support `versus` and `at`. Returns the result of `read_coordinates`."""
    if expected and expectation.versus and all(item.metric.better == "neither" for item in expected):
        message = f"`{expectation.metric.value}` cannot be compared: neither a higher nor a lower value is better"
        context.findings.error("E239", message, expectation.metric.span, "use `min` or `max` instead")
    return read_coordinates(context, expectation, expected)


def _checks(
    expectation: Expectation,
    expected: Sequence[ExpectedMetric],
    place: Mapping[str, Any],
    limits: Mapping[str | None, NumericBounds],
) -> list[Check]:
    running = dict.fromkeys(item.draft.job.host for item in expected)
    special = {host: limits[host] for host in limits if host is not None and host in running}
    general = limits[None]
    rest = tuple(host for host in running if host not in special)
    found = [_check(expectation, place, (host,), bounds) for host, bounds in special.items()]
    if rest and general.nodes:
        found.insert(0, _check(expectation, place, rest if special else None, general))
    return found


def _check(
    expectation: Expectation, place: Mapping[str, Any], hosts: tuple[str, ...] | None, limits: NumericBounds
) -> Check:
    job, metric = split_metric(str(expectation.metric.value)) or ("*", "*")
    relative = str(expectation.of.value) if expectation.of else None
    return Check(
        job_id=job,
        metric=metric,
        at=place,
        hosts=hosts,
        min=limits.min,
        max=limits.max,
        relative_to=relative,
        versus=expectation.versus,
        no_worse_than=limits.no_worse_than,
        reference=limits.reference,
        severity=expectation.severity,
        if_missing=expectation.if_missing,
        text=describe(expectation, limits.nodes),
        span=expectation.span,
    )


def _unit(context: ResolveContext, expectation: Expectation, expected: Sequence[ExpectedMetric]) -> str | None:
    """Return the unit of all matched metrics. The metrics may have different units only if there are no absolute
    bounds."""
    units = sorted({item.metric.unit for item in expected})
    absolute = any(
        bound.reference or (not expectation.of and (bound.min or bound.max)) for bound in _bounds(expectation)
    )
    if len(units) > 1 and absolute:
        metrics = f"`{expectation.metric.value}` matches metrics in {' and '.join(units)}"
        message = f"{metrics}; one bound cannot apply to all of them"
        context.findings.error("E233", message, expectation.metric.span, "write an expectation for each metric")
        return None
    return units[0] if units else None


def _bounds(expectation: Expectation) -> list[Bound]:
    """Return the general bound and the bounds for individual hosts."""
    return [expectation.bound, *(bound for _, bound in expectation.by.values())]


def _check_baseline(context: ResolveContext) -> None:
    """Report an error if expectations need a baseline and the plan has none. The error is reported only once, even if
    several expectations need a baseline."""
    places = [expectation.span for expectation in context.plan.expect if expectation.versus is not None]
    if places and context.plan.baseline is None:
        first, *others = places
        notes: list[Note] = [("also needed here", place) for place in others[:_MOST_NOTED]]
        if more := len(others) - len(notes):
            notes.append((f"and by {counted(more, 'more expectation')}", None))
        hint = "add `baseline: {run: PATH}`; PATH may also be `latest` or a label"
        context.findings.error("E239", "the plan has no `baseline`", first, hint, *notes)


def _check_reference(context: ResolveContext, expectation: Expectation) -> None:
    """Check the fact that `of` selects as the reference, and check that `versus` and `no_worse_than` are used
    together."""
    findings, of = context.findings, expectation.of
    if of is not None and of.sound and (name := str(of.value)) not in RELATIVE:
        findings.error("E238", f"a bound cannot be a percentage of `{name}`", of.span, did_you_mean(name, RELATIVE))
    limits = (bound.no_worse_than for bound in _bounds(expectation) if bound.no_worse_than is not None)
    limit = next(limits, None)
    if limit is not None and expectation.versus is None:
        findings.error("E239", "`no_worse_than` needs a baseline", limit.span, "add `versus: baseline`")
    if expectation.versus is not None and limit is None:
        message = "`versus: baseline` has no limit"
        findings.error("E239", message, expectation.span, "add `no_worse_than: 5%`")


def _limits(
    context: ResolveContext, expectation: Expectation, expected: Sequence[ExpectedMetric]
) -> dict[str | None, NumericBounds]:
    """Return the general bounds (key None) and the bounds for individual hosts, which inherit missing keys from the
    general ones."""
    unit = _unit(context, expectation, expected)
    found: dict[str | None, NumericBounds] = {None: read_limits(context, expectation, expectation.bound, unit)}
    for word, (node, bound) in expectation.by.items():
        hosts = hosts_named(word, context.plan)
        hidden = context.findings.hides("hosts") or context.findings.hides("groups", word)
        if not hosts and not hidden:
            message, hint = unknown_host(word, context.plan)
            context.findings.error("E237", message, node.location, hint)
        elif expected and not hidden and not _measured_on(context, expectation, hosts):
            running = dict.fromkeys(item.draft.job.host for item in expected)
            message = f"`{expectation.metric.value}` is not measured on `{word}`"
            context.findings.error("E237", message, node.location, "it runs on " + ", ".join(filter(None, running)))
        whole = Bound._make(own or general for own, general in zip(bound, expectation.bound, strict=True))
        found |= dict.fromkeys(hosts, read_limits(context, expectation, whole, unit))
    return found


def _measured_on(context: ResolveContext, expectation: Expectation, hosts: Sequence[str]) -> bool:
    """Return whether the plan, as resolved or without the profile, `--set` and the selection, measures this metric on
    at least one of the hosts."""
    if any(_anywhere(expectation, host, context) for host in hosts):
        return True
    return any(_anywhere(expectation, host, other) for other, _ in context.wider() for host in hosts)


def _anywhere(expectation: Expectation, host: str, context: ResolveContext) -> bool:
    """Return whether the plan measures this metric on a host, regardless of the selection."""
    parts = split_metric(str(expectation.metric.value))
    entries = [entry for entry in context.plan.benchmarks if parts and fnmatchcase(entry.id, parts[0])]
    words = [str(node.value) for entry in entries for node in entry.hosts or ()]
    hidden = any(context.findings.hides("benchmarks", entry.id, "hosts") for entry in entries)
    if not entries or hidden or any(entry.hosts is None for entry in entries):
        return True
    return any(host in hosts_named(word, context.plan) for word in words)


DescribedBound = tuple[str, Node]
"""A phrase and the bound that it contains, as written in the plan: ("at least {}", 130 ns)."""


class NumericBounds(NamedTuple):
    """Bounds as numbers in the metric's base unit, or as fractions of the reference value that `of` selects.
    `no_worse_than` is always a fraction."""

    min: float | None = None
    max: float | None = None
    no_worse_than: float | None = None
    reference: float | None = None
    nodes: tuple[DescribedBound, ...] = ()


def read_limits(context: ResolveContext, expectation: Expectation, bound: Bound, unit: str | None) -> NumericBounds:
    """Return the numeric bounds of one `Bound`, and report invalid values. `unit` is None if it is unknown."""
    lowest = _read_bound(context, bound.min, unit, relative=expectation.of is not None)
    highest = _read_bound(context, bound.max, unit, relative=expectation.of is not None)
    worse = _share(context, bound.no_worse_than) if bound.no_worse_than and bound.no_worse_than.sound else None
    if lowest is not None and highest is not None and bound.max is not None and lowest > highest:
        context.findings.error(
            "E234", "`min` is above `max`", bound.max.span, "swap or correct them: no value can meet both"
        )
    rated = _read_reference(context, bound.reference, unit)
    worst = "at most {} worse than the baseline"
    described = (("at least {}", bound.min), ("at most {}", bound.max), (worst, bound.no_worse_than))
    nodes = [(words, node) for words, node in described if node is not None]
    if not nodes and bound.reference is not None:
        nodes = [("reference {}", bound.reference)]
    return NumericBounds(lowest, highest, worse, rated, tuple(nodes))


def _read_reference(context: ResolveContext, node: Node | None, unit: str | None) -> float | None:
    value = _read_bound(context, node, unit, relative=False)
    if value is not None and value <= 0.0 and node is not None:
        context.findings.error("E234", "`reference` must be positive", node.span, "write the rated value")
    return value


def _read_bound(context: ResolveContext, node: Node | None, unit: str | None, *, relative: bool) -> float | None:
    if node is None or not node.sound:
        return None
    if relative:
        return _share(context, node)
    if unit is None:
        if not is_quantity(node.value):
            hint = "write a number and a unit: `130 ns`"
            context.findings.error("E234", f"`{clip(node.value)}` is not a quantity", node.span, hint)
        return None
    if isinstance(node.value, str) and node.value.strip().endswith("%") and unit not in ("%", "1"):
        message = f"`{clip(node.value)}` needs a reference value: this metric is in {unit}"
        hint = "add `of: theoretical_bandwidth`, or write the value with a unit"
        context.findings.error("E234", message, node.span, hint)
        return None
    try:
        return parse_quantity(node.value, unit)
    except BadValueError as error:
        context.findings.error("E234", error.message, node.span, error.hint)
        return None


def _share(context: ResolveContext, node: Node) -> float | None:
    """Return a percentage as a fraction. The division is exact, so that 5% becomes the floating-point number nearest to
    0.05."""
    text = node.value.strip() if isinstance(node.value, str) else ""
    try:
        if not text.endswith("%") or text.startswith("-"):
            raise ValueError
        return float(Fraction(text[:-1].strip()) / 100)
    except (ValueError, ZeroDivisionError):
        message = f"`{clip(node.value)}` is not a percentage"
        context.findings.error("E234", message, node.span, "write a percentage: `5%`")
        return None


def describe(expectation: Expectation, nodes: Sequence[DescribedBound]) -> str:
    """Describe an expectation: `latency-sweep.latency at level DRAM: at most 130 ns`."""
    place = ", ".join(f"{key} {node.plain()}" for key, node in expectation.at.items())
    bounds = ", ".join(words.format(node.plain()) for words, node in nodes)
    share = f" of {expectation.of.value}" if expectation.of else ""
    return f"{expectation.metric.value}{f' at {place}' if place else ''}: {bounds}{share}"


def _mismatch(code: str, message: str, hint: str, node: Node) -> PlanError:
    """Return an error about an item in `at`. The error points to the key if there is no such coordinate (E235),
    otherwise to the value."""
    return PlanError(Diagnostic(code, message, node.location if code == "E235" else node.span, hint=hint))


def read_coordinates(
    context: ResolveContext, expectation: Expectation, expected: Sequence[ExpectedMetric]
) -> tuple[dict[str, Any], str]:
    """Return the canonical `at` (settings with their main names and typed values, and coordinates as they appear in
    records), and the reason why no such value is planned, or an empty string if one is planned.

    A pattern may match jobs without these coordinates; this is an error only if no job has them, even if the profile,
    `--set` and the selection are ignored.
    """
    found, worst = _read_at(context, expectation, expected)
    if worst is None:
        return found, ""
    job, name = split_metric(str(expectation.metric.value)) or ("*", "*")
    for other, drafts in context.wider():
        wide, mismatch = _read_at(other, expectation, _metrics(_jobs_matching(drafts, job), name))
        if mismatch is None and wide:
            return wide, worst.message.removeprefix(_NOTHING)
    context.findings.add(worst)
    return {}, ""


def _read_at(
    context: ResolveContext, expectation: Expectation, expected: Sequence[ExpectedMetric]
) -> tuple[dict[str, Any], Diagnostic | None]:
    """Return the canonical `at` for the first job that it applies to, or the mismatch if it does not apply to any
    job."""
    mismatches: list[Diagnostic] = []
    for item in expected if expectation.at else ():
        try:
            return _in_job(context.settings(item.draft.benchmark), item, expectation.at), None
        except PlanError as error:
            mismatches += error.diagnostics
    return {}, max(mismatches, key=lambda item: item.code, default=None)


def _in_job(settings: Settings, expected: ExpectedMetric, at: Mapping[str, Node]) -> dict[str, Any]:
    """Return the canonical `at` for one job. Raises PlanError if it does not apply to the job."""
    draft, metric = expected.draft, expected.metric
    swept: dict[str, tuple[Any, Node]] = {}
    coordinates: dict[str, Any] = {}
    for key, node in at.items():
        name = settings.spellings.get(key, "")
        if not node.sound:
            continue
        if key in metric.coords and key not in draft.swept:
            coordinates[key] = _coordinate(key, node, metric)
        elif name in draft.swept:
            try:
                swept[name] = settings.read(name, node.plain(), from_plan=True), node
            except InvalidSettings as error:
                problem = error.problems[0]
                raise _mismatch("E236", f"`{key}`: {problem.message}", problem.hint, node) from None
        elif not name or draft.rejected.isdisjoint((ANY, name)):
            raise _unknown(draft, metric, key, name, node)
    _check_point_exists(draft, swept)
    return {name: value for name, (value, _) in swept.items()} | coordinates


def _unknown(draft: JobDraft, metric: Metric, key: str, name: str, node: Node) -> PlanError:
    if name:
        message = f"`{key}` is not swept in `{draft.job.id}`: it is the same at every point"
        return _mismatch("E235", message, f"remove `{key}`, or sweep it", node)
    known = [*draft.swept, *metric.coords]
    message = f"`{key}` is neither swept in `{draft.job.id}` nor a coordinate of `{metric.name}`"
    return _mismatch("E235", message, did_you_mean(key, known, "remove `at`" if not known else ""), node)


def _check_point_exists(draft: JobDraft, swept: Mapping[str, tuple[Any, Node]]) -> None:
    """Raise PlanError unless a point has this combination of swept values."""
    combination = {name: frozen_key(value) for name, (value, _) in swept.items()}
    points = draft.job.points
    if draft.rejected:
        _check_values_exist(draft, swept)
        return
    if any(all(frozen_key(point.swept.get(name)) == value for name, value in combination.items()) for point in points):
        return
    for name, (value, node) in swept.items():
        _check_value_exists(draft, name, value, node, [point.swept.get(name) for point in points])
    message = f"{_NOTHING}no point of `{draft.job.id}` has this combination of values"
    raise _mismatch("E236", message, "`asct plan` lists the points", next(iter(swept.values()))[1])


def _check_values_exist(draft: JobDraft, swept: Mapping[str, tuple[Any, Node]]) -> None:
    """Raise PlanError if one of the values does not occur on its axis. This check is used if the job's points cannot be
    determined because of errors."""
    for name, (value, node) in swept.items():
        if draft.rejected.isdisjoint((ANY, name, "include")):
            _check_value_exists(draft, name, value, node, draft.axes[name])


def _check_value_exists(draft: JobDraft, name: str, value: Any, node: Node, values: Iterable[Any]) -> None:
    present = {frozen_key(item): item for item in values}
    if frozen_key(value) not in present:
        message = f"{_NOTHING}`{name}` is never {clip(node.plain())} in `{draft.job.id}`"
        raise _mismatch("E236", message, _listed(present.values()), node)


def _listed(values: Iterable[Any], most: int = 12) -> str:
    texts = [str(value) for value in values]
    return "valid values: " + ", ".join(texts[:most]) + (" ..." if len(texts) > most else "")


def _coordinate(key: str, node: Node, metric: Metric) -> Any:
    """Return the value of a coordinate, with sizes in bytes. Raises PlanError if the coordinate cannot have this
    value."""
    value, known = node.plain(), metric.coords[key]
    if isinstance(value, list | dict) or value is None:
        raise _mismatch("E236", f"`{key}` needs a single value", "write an expectation for each value", node)
    if known is not None:
        if str(value) in known:
            return value
        message = f"{_NOTHING}`{key}` of `{metric.name}` is never {clip(value)}"
        raise _mismatch("E236", message, did_you_mean(str(value), known, _listed(known)), node)
    if isinstance(value, str) and (key == "size" or key.endswith("_size")):
        try:
            return parse_size(value)
        except BadValueError as error:
            raise _mismatch("E236", f"`{key}`: {error.message}", error.hint, node) from None
    return value
