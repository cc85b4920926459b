"""Expectations of a plan to checks: metrics found, units converted, places verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from asct.diagnostics.model import Span
from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Bound, Expectation, Node
from asct.planner.bounds import Limits, describe, read_limits
from asct.planner.draft import Draft
from asct.planner.ground import Ground
from asct.planner.model import Check
from asct.planner.places import read_place
from asct.planner.selection import hosts_named, unknown_host
from asct.sdk.metric import Metric

RELATIVE = ("theoretical_bandwidth",)
"""What `of:` may name: facts of a host that a measured value can be a share of."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A metric of a job that an expectation is about."""

    draft: Draft
    metric: Metric


def checks(ground: Ground, drafts: Sequence[Draft]) -> list[Check]:
    """The checks for the jobs that will run. An expectation about jobs left out by a selection gives none."""
    found: list[Check] = []
    for expectation in ground.plan.expect:
        before = ground.findings.errors
        judged = _judged(ground, expectation, drafts)
        if judged and ground.findings.errors == before:
            found += _checks(ground, expectation, judged)
    return found


def split_metric(text: str) -> tuple[str, str] | None:
    """`matrix.iops` to its id and its metric; `*` is everything; None when there is no id."""
    if text == "*":
        return "*", "*"
    job, dot, metric = text.rpartition(".")
    return (job, metric) if dot and job and metric else None


def _judged(ground: Ground, expectation: Expectation, drafts: Sequence[Draft]) -> list[Judged]:
    text, span = str(expectation.metric.value), expectation.metric.span
    parts = split_metric(text)
    if parts is None:
        _no_id(ground, text, span, drafts)
        return []
    job, name = parts
    known = {entry.id for entry in ground.plan.benchmarks} | {draft.id for draft in drafts}
    if not any(fnmatchcase(item, job) for item in known):
        ground.findings.error("E230", f"no benchmark of the plan has the id `{job}`", span, did_you_mean(job, known))
        return []
    meant = [draft for draft in drafts if fnmatchcase(draft.id, job)]
    found = [Judged(draft, item) for draft in meant for item in draft.benchmark.metrics if fnmatchcase(item.name, name)]
    if meant and not found:
        names = {item.name for draft in meant for item in draft.benchmark.metrics}
        ground.findings.error("E231", f"`{job}` has no metric `{name}`", span, did_you_mean(name, names, _listing(job)))
    return _comparable(ground, found, name, span)


def _listing(job: str) -> str:
    return f"`asct list metrics {job}` shows them all" if "*" not in job else "`asct list metrics` shows them all"


def _no_id(ground: Ground, text: str, span: Span, drafts: Sequence[Draft]) -> None:
    owners = [draft.id for draft in drafts if text in {item.name for item in draft.benchmark.metrics}]
    hint = f"write `{owners[0]}.{text}`" if owners else "write `<id>.<metric>`, or `*` for everything"
    ground.findings.error("E230", f"`{text}` does not say which benchmark it is about", span, hint)


def _comparable(ground: Ground, found: list[Judged], name: str, span: Span) -> list[Judged]:
    """A pattern passes over metrics that are not to be judged; a name of one is an error."""
    kept = [item for item in found if item.metric.comparable]
    if found and not kept:
        message = f"metric `{name}` is information only and cannot be judged"
        names = [item.name for item in found[0].draft.benchmark.metrics if item.comparable]
        ground.findings.error("E232", message, span, did_you_mean("", names))
    return kept


def _checks(ground: Ground, expectation: Expectation, judged: Sequence[Judged]) -> list[Check]:
    before = ground.findings.errors
    unit = _unit(ground, expectation, judged)
    _relative(ground, expectation)
    _versus(ground, expectation, judged)
    place = read_place(ground, expectation, [(item.draft, item.metric) for item in judged])
    if unit is None or ground.findings.errors > before:
        return []
    general = read_limits(ground, expectation, expectation.bound, unit)
    special = _by_host(ground, expectation, judged, unit)
    if ground.findings.errors > before:
        return []
    running = dict.fromkeys(item.draft.host for item in judged)
    rest = tuple(host for host in running if host not in special)
    made = [_check(expectation, place, (host,), limits) for host, limits in special.items()]
    if rest and not general.empty:
        made.insert(0, _check(expectation, place, rest if special else None, general))
    return made


def _check(expectation: Expectation, place: Mapping[str, Any], hosts: tuple[str, ...] | None, limits: Limits) -> Check:
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
        severity=expectation.severity,
        if_missing=expectation.if_missing,
        text=describe(expectation, limits.nodes),
        span=expectation.span,
    )


def _unit(ground: Ground, expectation: Expectation, judged: Sequence[Judged]) -> str | None:
    """The one unit of all that is judged; several are fine only when no absolute bound is set."""
    units = sorted({item.metric.unit for item in judged})
    if len(units) > 1 and not expectation.of and _absolute(expectation):
        message = f"`{expectation.metric.value}` takes in metrics in {' and '.join(units)}; one bound cannot fit all"
        ground.findings.error("E233", message, expectation.metric.span, "write one expectation for each metric")
        return None
    return units[0]


def _absolute(expectation: Expectation) -> bool:
    bounds: list[Bound] = [expectation.bound, *(bound for _, bound in expectation.by.values())]
    return any(bound.min is not None or bound.max is not None for bound in bounds)


def _relative(ground: Ground, expectation: Expectation) -> None:
    if expectation.of is None:
        return
    name = str(expectation.of.value)
    if name not in RELATIVE:
        message = f"a bound cannot be a share of `{name}`"
        ground.findings.error("E238", message, expectation.of.span, did_you_mean(name, RELATIVE))


def _versus(ground: Ground, expectation: Expectation, judged: Sequence[Judged]) -> None:
    bounds = [expectation.bound, *(bound for _, bound in expectation.by.values())]
    limit = next((bound.no_worse_than for bound in bounds if bound.no_worse_than is not None), None)
    if limit is not None and expectation.versus is None:
        ground.findings.error(
            "E239", "`no_worse_than` needs something to compare with", limit.span, "add `versus: baseline`"
        )
    if expectation.versus is None:
        return
    if limit is None:
        message = "`versus: baseline` says with what to compare, but not how much worse is too much"
        ground.findings.error("E239", message, expectation.span, "add `no_worse_than: 5%`")
    if ground.plan.baseline is None:
        hint = "add `baseline: {run: PATH}`; PATH may be `latest` or a label too"
        ground.findings.error("E239", "the plan names no baseline", expectation.span, hint)
    if all(item.metric.better == "neither" for item in judged):
        message = f"`{expectation.metric.value}` cannot get worse: more of it is neither better nor worse"
        ground.findings.error("E239", message, expectation.metric.span, "give `min` or `max` instead")


def _by_host(ground: Ground, expectation: Expectation, judged: Sequence[Judged], unit: str) -> dict[str, Limits]:
    """Limits of single hosts. What `by` leaves out comes from the general bound."""
    running = dict.fromkeys(item.draft.host for item in judged)
    found: dict[str, Limits] = {}
    for word, (node, bound) in expectation.by.items():
        hosts = hosts_named(word, ground.plan)
        if not hosts:
            message, hint = unknown_host(word, ground.plan)
            ground.findings.error("E237", message, _key(node), hint)
        elif not any(_anywhere(expectation, host, ground) for host in hosts):
            message = f"`{expectation.metric.value}` is not measured on `{word}`"
            ground.findings.error("E237", message, _key(node), "it runs on " + ", ".join(running))
        limits = read_limits(ground, expectation, _over(expectation.bound, bound), unit)
        found |= {host: limits for host in hosts if host in running}
    return found


def _anywhere(expectation: Expectation, host: str, ground: Ground) -> bool:
    """Whether the plan as a whole, without a selection, measures this on a host."""
    parts = split_metric(str(expectation.metric.value))
    meant = [entry for entry in ground.plan.benchmarks if parts and fnmatchcase(entry.id, parts[0])]
    words = [str(node.value) for entry in meant for node in entry.hosts or ()]
    if not meant or any(entry.hosts is None for entry in meant):
        return True
    return any(host in hosts_named(word, ground.plan) for word in words)


def _over(general: Bound, special: Bound) -> Bound:
    return Bound(
        min=special.min or general.min,
        max=special.max or general.max,
        no_worse_than=special.no_worse_than or general.no_worse_than,
    )


def _key(node: Node) -> Span:
    return node.key_span or node.span
