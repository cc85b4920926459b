"""Judge measured values against the expectations of a plan, with one verdict (pass, fail or unknown) for each value on
each host.

If the value was not measured, the verdict is unknown, never pass. If no planned value matches an expectation, its
outcome is `not planned`. This module reads no files and prints nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from asct.analysis.agreement import RecordKey
from asct.analysis.baseline import Baseline, key_of
from asct.analysis.comparison import Change, adjusted, compare, in_common
from asct.analysis.groups import MetricGroup
from asct.analysis.losses import Loss
from asct.plan.model import OnMissing
from asct.planner.model import Check
from asct.sdk.benchmark import Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import is_invalid
from asct.store.model import BaselineValue, JobEntry, Run, Verdict
from asct.values.quantity import format_quantity
from asct.values.text import listed

FACTS = {"theoretical_bandwidth": "memory.theoretical_bandwidth"}
"""Maps the names that `of:` accepts to the paths of facts."""
_VALUED = ("noisy", "invalid")
"""Statuses of repeats that have values. These values get their own verdicts even if the repeats are treated as not
measured."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and why repeats were not measured."""

    run: Run
    losses: Sequence[Loss]

    def cause(self, check: Check, host: str, job_id: str = "") -> str:
        """Return the first reason why values for the check are missing, and the number of further reasons, as text such
        as `; E601 ...`. The result is empty if there is no reason."""
        found = dict.fromkeys(
            loss.cause
            for loss in self.losses
            if loss.host == host
            and (loss.id == job_id if job_id else fnmatchcase(loss.id, check.job_id))
            and all(same(expected, loss.at[key]) for key, expected in check.at.items() if key in loss.at)
        )
        first, *more = found or [""]
        return f"; {first}{f', and {len(more)} more' if more else ''}" if first else ""


def judge(
    checks: Sequence[Check],
    places: Sequence[MetricGroup],
    run: Run,
    facts: Mapping[str, HostFacts],
    *,
    strict: Collection[str] = (),
    losses: Sequence[Loss] = (),
    baseline: Baseline | None = None,
) -> list[Verdict]:
    """Return the verdicts for `checks`, ordered by check, then by host, and then by settings and coordinates.

    `places` contains the values (see `gather`). `facts` maps host names to facts. `strict` contains the keys
    (`host/id`) of jobs whose noisy or invalid values are treated as not measured. An expectation cannot be judged if
    its bound lies between two disagreeing values of the same quantity. `losses` contains the causes of missing values,
    which the verdicts quote. `baseline` contains the values that `versus: baseline` refers to.
    """
    ended, against = Outcome(run, losses), baseline or Baseline(problem="the plan names no baseline")
    changes = _changes(checks, places, against)
    verdicts: list[Verdict] = []
    for check, own in zip(checks, changes, strict=True):
        if not check.bounded:
            continue
        if check.unplanned:
            verdicts.append(_verdict(check, None, check.unplanned, outcome="not planned"))
        elif check.versus is None:
            bounded = partial(_judge_place, check, places=places, facts=facts, strict=strict)
            verdicts += _judge_one(check, places, ended, bounded)
        elif against.problem:
            verdicts.append(_verdict(check, None, against.problem, no_baseline=True))
        else:
            compared = [place for place in places if against.compares(place)]
            changed = partial(_judge_change, check, changes=own, baseline=against, strict=strict)
            judged = _judge_one(check, compared, ended, changed)
            verdicts += [*judged, *_missing(check, places, against, judged)]
    return verdicts


def with_units(verdicts: Iterable[Verdict], run: Run, catalog: Catalog) -> list[Verdict]:
    """Return the verdicts, with the units of missing values as the benchmarks declare them."""
    return [item if item.unit else item.model_copy(update={"unit": _unit(item, run, catalog)}) for item in verdicts]


def _unit(verdict: Verdict, run: Run, catalog: Catalog) -> str:
    """Return the unit of the metrics that an expectation names, or an empty string if it is unknown or not the same for
    all of them."""
    names = {job.benchmark for job in run.jobs if fnmatchcase(job.id, verdict.id)}
    units = {
        metric.unit
        for benchmark in map(catalog.get, names)
        for metric in (benchmark.metrics if benchmark is not None else ())
        if metric.comparable and fnmatchcase(metric.name, verdict.metric)
    }
    return units.pop() if len(units) == 1 else ""


def is_blocking(verdict: Verdict) -> bool:
    """Return whether the verdict changes the exit code. This is the case for a failure with severity `fail`, and for an
    unknown verdict if the expectation requires a result."""
    if verdict.outcome == "unknown":
        return verdict.if_missing == "fail"
    return verdict.outcome == "fail" and verdict.severity == "fail"


def same(expected: Any, found: Any) -> bool:
    """Return whether a value under `at` in a plan matches a measured one: 4096 equals 4096.0, true differs from 1, and
    a list matches any of its items."""
    if isinstance(expected, list | tuple):
        if isinstance(found, list | tuple):
            return len(expected) == len(found) and all(same(a, b) for a, b in zip(expected, found, strict=True))
        return any(same(item, found) for item in expected)
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return math.isclose(expected, found, rel_tol=1e-12, abs_tol=0.0)
    return bool(expected == found)


def _judge_one(
    check: Check, places: Sequence[MetricGroup], ended: Outcome, judge_place: Callable[[MetricGroup], Verdict]
) -> list[Verdict]:
    run = ended.run
    jobs = [(job.host, job.id) for job in run.jobs if fnmatchcase(job.id, check.job_id)]
    hosts = list(check.hosts) if check.hosts is not None else list(dict.fromkeys(host for host, _ in jobs))
    if not hosts:
        return [_verdict(check, None, f"this run has no job `{check.job_id}`")]
    verdicts: list[Verdict] = []
    for host in hosts:
        matching = [place for place in places if place.host == host and _matches(check, place)]
        if not matching:
            verdicts.append(_verdict(check, host, _why_missing(check, host, places, ended)))
            continue
        verdicts.extend(map(judge_place, matching))
        verdicts.extend(_gaps(check, host, matching, ended))
    return verdicts


def selects(check: Check, place: MetricGroup) -> bool:
    """Return whether an expectation applies to a value."""
    return (check.hosts is None or place.host in check.hosts) and _matches(check, place)


def _matches(check: Check, place: MetricGroup) -> bool:
    return (
        fnmatchcase(place.id, check.job_id)
        and fnmatchcase(place.metric, check.metric)
        and all(key in place.at and same(expected, place.at[key]) for key, expected in check.at.items())
    )


def _judge_place(
    check: Check,
    place: MetricGroup,
    places: Sequence[MetricGroup],
    facts: Mapping[str, HostFacts],
    strict: Collection[str],
) -> Verdict:
    low, high, reason = _bounds(check, _whole(check, place, places, facts))
    outcome = "unknown"
    rejected, if_missing = _rejected(check, place, strict)
    reason = rejected or reason or _between_states(place, low, high) or _between_rivals(place, low, high)
    reason = reason or _within_noise(place, low, high)
    if not reason:
        is_met = (low is None or place.value >= low) and (high is None or place.value <= high)
        outcome = "pass" if is_met else "fail"
        reason = _doubt(place) or _within(place, place.span, low, high)
    return _verdict(
        check, place.host, reason, outcome=outcome, id=place.id, metric=place.metric, unit=place.record.unit,
        at=dict(place.at), value=place.value, min=low, max=high, if_missing=if_missing,
    )  # fmt: skip


def _doubt(place: MetricGroup) -> str:
    return f"the value is flagged {listed(place.doubts)}" if place.doubts else ""


def _rejected(check: Check, place: MetricGroup, strict: Collection[str]) -> tuple[str, OnMissing]:
    """Return the reason why the value is treated as not measured (empty if it is treated as measured), and how a
    missing value affects the run."""
    if is_invalid(place.doubts):
        # `if_missing` does not apply, because a value was measured; only the severity matters.
        return f"{_doubt(place)}, so it is treated as not measured", "fail" if check.severity == "fail" else "warn"
    if place.doubts and f"{place.host}/{place.id}" in strict:
        return f"{_doubt(place)}, which `strict` rejects", check.if_missing
    return "", check.if_missing


def _changes(
    checks: Sequence[Check], places: Sequence[MetricGroup], baseline: Baseline
) -> list[dict[RecordKey, Change]]:
    """Return the changes from the baseline for each check. All of them are tested together, so that more values do not
    cause more false alarms."""
    pairs: list[tuple[int, MetricGroup]] = []
    for number, check in enumerate(checks):
        for place in places if check.versus and not (check.unplanned or baseline.problem) else ():
            if selects(check, place) and baseline.compares(place):
                pairs.append((number, place))
    raw = []
    for number, place in pairs:
        limit = checks[number].no_worse_than or 0.0
        change = compare(baseline.counterpart(place), place, limit, baseline.spread(place))
        raw.append(replace(change, reason=baseline.hardware_change(place) or change.reason, gate=True))
    found: list[dict[RecordKey, Change]] = [{} for _ in checks]
    for (number, place), change in zip(
        pairs, in_common(adjusted(raw), [place.host for _, place in pairs]), strict=True
    ):
        found[number][place.key] = change
    return found


def _judge_change(
    check: Check, place: MetricGroup, changes: Mapping[RecordKey, Change], baseline: Baseline, strict: Collection[str]
) -> Verdict:
    change = changes[place.key]
    reason, if_missing = _rejected(check, place, strict)
    outcome = "unknown"
    if not reason and change.undecided:
        reason = change.describe(place.record.unit)
    elif not reason:
        outcome = "fail" if change.outcome == "regressed" else "pass"
        reason = "; ".join(filter(None, (change.describe(place.record.unit), _doubt(place))))
    return _verdict(
        check, place.host, reason, outcome=outcome, id=place.id, metric=place.metric, unit=place.record.unit,
        at=dict(place.at), value=place.value, if_missing=if_missing, baseline=_compared(baseline, place, change),
    )  # fmt: skip


def _missing(
    check: Check, places: Sequence[MetricGroup], baseline: Baseline, judged: Sequence[Verdict]
) -> list[Verdict]:
    """Return an unknown verdict for each valid value that the baseline contains for a planned point but this run lacks,
    unless one of the verdicts already says that part of its job was not measured."""
    measured = {key_of(place) for place in places}
    unmeasured = {(verdict.host, verdict.id) for verdict in judged if verdict.value is None}
    verdicts = []
    for key, base in baseline.groups.items():
        absent = key not in measured and (base.host, base.id, base.record.point_id) in baseline.planned
        new = unmeasured.isdisjoint({(base.host, base.id), (base.host, check.job_id)})
        if absent and new and selects(check, base) and baseline.compares(base) and not is_invalid(base.doubts):
            reason = "the baseline contains this value, but this run does not"
            fields = {"id": base.id, "metric": base.metric, "unit": base.record.unit, "at": dict(base.at)}
            found = _baseline_value(baseline, base, check.no_worse_than)
            verdicts.append(_verdict(check, base.host, reason, baseline=found, **fields))
    return verdicts


def _compared(baseline: Baseline, place: MetricGroup, change: Change) -> BaselineValue | None:
    base = baseline.counterpart(place)
    if base is None:
        return None
    found = _baseline_value(baseline, base, change.limit)
    if change.reason:
        return found
    fields = {
        "change": change.change, "ci95": change.interval, "noise": change.noise, "inconclusive": change.inconclusive
    }  # fmt: skip
    return found.model_copy(update=fields)


def _baseline_value(baseline: Baseline, base: MetricGroup, limit: float | None) -> BaselineValue:
    run = f"{base.record.plan}/{base.record.run}"
    return BaselineValue(run=run, chosen=baseline.chosen(base), value=base.value, limit=limit)


def _bounds(check: Check, whole: float | None) -> tuple[float | None, float | None, str]:
    """Return the lower and the upper bound in the unit of the metric, and the reason why they are unknown (empty if
    they are known)."""
    if check.min is None and check.max is None:
        return None, None, "the expectation has no bound"
    if check.relative_to is None:
        return check.min, check.max, ""
    if whole is None:
        return None, None, f"`{check.relative_to}` of this host is unknown"
    low, high = None if check.min is None else check.min * whole, None if check.max is None else check.max * whole
    return low, high, ""


def _whole(
    check: Check, place: MetricGroup, places: Sequence[MetricGroup], facts: Mapping[str, HostFacts]
) -> float | None:
    """Return the reference value for relative bounds, from the same point of the job or, failing that, from the facts.
    Return None if neither source contains it."""
    name = check.relative_to
    if name is None:
        return None
    here = (place.host, place.record.point_id)
    own = [other for other in places if other.metric == name and (other.host, other.record.point_id) == here]
    return own[0].value if own else fact_value(facts.get(place.host), FACTS.get(name, name))


def fact_value(facts: HostFacts | None, path: str) -> float | None:
    """Return the number at the dotted `path` in the facts (`memory.total_bytes`, `cpu.frequency_hz`), or None if there
    is none."""
    found: Any = facts
    for part in path.split("."):
        found = getattr(found, part, None) if part in getattr(type(found), "model_fields", ()) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found)


def _divides(first: float, last: float, low: float | None, high: float | None) -> bool:
    """Return whether some values in the range from `first` to `last` meet the bounds and others do not."""
    return (low is not None and first < low <= last) or (high is not None and first <= high < last)


def _within(place: MetricGroup, span: tuple[float, float], low: float | None, high: float | None) -> str:
    """Return a note if a bound lies within the range `span` of a value, otherwise an empty string."""
    if not _divides(*span, low, high):
        return ""
    first, last = (format_quantity(end, place.record.unit) for end in span)
    return f"the bound lies within the spread, {first} to {last}"


def _within_noise(place: MetricGroup, low: float | None, high: float | None) -> str:
    """Return the reason why the verdict on a doubtful value is unknown, or an empty string if it is known.

    It is unknown if a bound lies within the value's range, or if the value is noisy and its range is unknown.
    """
    if not place.doubts:
        return ""
    span = place.noisy_span if any(flag.startswith("noisy") for flag in place.doubts) else place.span
    if span is None:
        return f"{_doubt(place)}, and how much it varies is unknown; increase `repeats`"
    within = _within(place, span, low, high)
    return f"{_doubt(place)}, and {within}" if within else ""


def _between_states(place: MetricGroup, low: float | None, high: float | None) -> str:
    """Return the reason why the verdict is unknown, or an empty string if it is known. It is unknown if visits
    alternate between a value that satisfies the bounds and one that does not."""
    values = [state.value for state in place.states]
    if not values or not _divides(values[0], values[-1], low, high):
        return ""
    unit = place.record.unit
    shares = " and ".join(
        f"{format_quantity(state.value, unit)} ({format_quantity(100.0 * state.share, '%', 2)})"
        for state in place.states
    )
    return f"the value has two states, {shares}, and the bound lies between them"


def _between_rivals(place: MetricGroup, low: float | None, high: float | None) -> str:
    """Return the reason why the verdict is unknown, or an empty string if it is known. It is unknown if this value
    satisfies the bounds and another value of the same quantity does not, or vice versa."""
    for side in place.rivals:
        first, last = sorted((place.value, place.value * side.ratio))
        if _divides(first, last, low, high):
            return f"the run also contains {side.text} for the same quantity, and the bound lies between the two values"
    return ""


def _why_missing(check: Check, host: str, places: Sequence[MetricGroup], ended: Outcome) -> str:
    run = ended.run
    entry = next((item for item in run.hosts if item.name == host), None)
    if entry is None:
        return f"`{host}` is not a host of this run"
    if entry.status != "ok":
        return f"host {entry.status}: {entry.reason}" if entry.reason else f"host {entry.status}"
    jobs = [job for job in run.jobs if job.host == host and fnmatchcase(job.id, check.job_id)]
    if not jobs:
        return f"this host has no job `{check.job_id}`"
    here = [place for place in places if place.host == host and fnmatchcase(place.id, check.job_id)]
    if not here:
        lost = [part for job in jobs for part in _lost(job)]
        return "no values were measured" + (f": {', '.join(lost)}" if lost else "") + ended.cause(check, host)
    if not any(fnmatchcase(place.metric, check.metric) for place in here):
        return f"`{check.metric}` was not measured" + ended.cause(check, host)
    at = ", ".join(f"{key} = {value}" for key, value in check.at.items())
    return f"`{check.metric}` was not measured at {at}" + ended.cause(check, host)


def _lost(job: JobEntry) -> list[str]:
    return [f"{count} {status}" for status, count in sorted(job.lacking().items()) if status not in _VALUED]


def _gaps(check: Check, host: str, matching: Sequence[MetricGroup], ended: Outcome) -> list[Verdict]:
    """Return the verdict `unknown` for each job with missing measurements to which the check might apply."""
    verdicts = []
    for job in ended.run.jobs:
        lost = _lost(job)
        if job.host != host or not lost or not fnmatchcase(job.id, check.job_id):
            continue
        swept = {key for place in matching if place.id == job.id for key in place.record.point}
        if swept and swept <= set(check.at):
            continue  # the check selects a single value, and this value was measured
        reason = f"part of the job is missing: {', '.join(lost)}{ended.cause(check, host, job.id)}"
        verdicts.append(_verdict(check, host, reason, id=job.id))
    return verdicts


def _verdict(check: Check, host: str | None, reason: str, **fields: Any) -> Verdict:
    """Return an unknown verdict for `check`; `fields` replace some of the verdict's fields."""
    absolute, span = check.relative_to is None, check.span
    known: dict[str, Any] = {
        "outcome": "unknown", "severity": check.severity, "host": host, "id": check.job_id, "metric": check.metric,
        "at": dict(check.at), "min": check.min if absolute else None, "max": check.max if absolute else None,
        "text": check.text, "reason": reason, "if_missing": check.if_missing,
        "file": span.file if span else None, "line": span.line if span else None,
    }  # fmt: skip
    return Verdict(**{**known, **fields})
