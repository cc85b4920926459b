"""Judge measured values against the expectations of a plan, with one verdict (pass, fail or unknown) per host and
place.

A place is one combination of swept settings and coordinates, and its value is the median of the repeats. If the value
was not measured, the verdict is unknown, never pass. This module reads no files and prints nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

from asct.analysis.agreement import Disagreement, Place, place_of
from asct.analysis.losses import Loss
from asct.planner.model import Check
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record, doubtful
from asct.store.model import JobEntry, Run, Verdict
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity

FACTS = {"theoretical_bandwidth": "memory.theoretical_bandwidth"}
"""Maps the names that `of:` accepts to the paths of facts."""
_VALUED = ("noisy", "invalid")
"""Statuses of repeats that have values. These repeats get their own verdicts even if they are treated as not
measured."""


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """All repeats of one metric at one place of a job on one host. `records` is never empty."""

    host: str
    id: str
    metric: str
    at: Mapping[str, Any]
    records: tuple[Record, ...]
    rivals: tuple[Disagreement, ...] = ()
    """Other values of the same quantity in the run that disagree with this value."""

    @property
    def value(self) -> float:
        """The median of the repeats, in the metric's base unit."""
        return median(record.value for record in self.records)

    @property
    def doubts(self) -> list[str]:
        """The sorted flags of all repeats that question the value. With `strict`, the verdict on such a value is
        unknown."""
        return sorted({flag for record in self.records for flag in record.flags if doubtful(flag)})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and why repeats were not measured."""

    run: Run
    losses: Sequence[Loss]

    def cause(self, check: Check, host: str, job_id: str = "") -> str:
        """Return `; E601 ...`: the first cause of the values that the check lacks, and the number of further causes.
        The result is empty if there is no cause."""
        found = dict.fromkeys(
            loss.cause
            for loss in self.losses
            if loss.host == host
            and (loss.id == job_id if job_id else fnmatchcase(loss.id, check.job_id))
            and all(same(wanted, loss.at[key]) for key, wanted in check.at.items() if key in loss.at)
        )
        first, *more = found or [""]
        return f"; {first}{f', and {len(more)} more' if more else ''}" if first else ""


def judge(
    checks: Sequence[Check],
    records: Sequence[Record],
    run: Run,
    facts: Mapping[str, HostFacts],
    *,
    strict: Collection[str] = (),
    disagreements: Sequence[Disagreement] = (),
    losses: Sequence[Loss] = (),
) -> list[Verdict]:
    """Return the verdicts for `checks`, ordered by check, then by host and place.

    `facts` maps host names to facts. `strict` contains the keys (`host/id`) of jobs whose noisy or invalid values are
    treated as not measured. `disagreements` are those between `records`. An expectation cannot be judged if its bound
    lies between two disagreeing values of the same quantity. `losses` are the causes of missing values, which the
    verdicts quote.
    """
    places = gather(records, disagreements)
    verdicts: list[Verdict] = []
    for check in checks:
        if check.versus == "baseline":
            verdicts.append(_verdict(check, None, "this version of asct does not compare runs with a baseline"))
        else:
            verdicts.extend(_judge_one(check, places, Outcome(run, losses), facts, strict))
    return verdicts


def is_blocking(verdict: Verdict) -> bool:
    """Return whether the verdict changes the exit code: it is a failure with severity `fail`, or it is unknown although
    the expectation requires a result."""
    if verdict.outcome == "unknown":
        return verdict.if_missing == "fail"
    return verdict.outcome == "fail" and verdict.severity == "fail"


def gather(records: Iterable[Record], disagreements: Iterable[Disagreement] = ()) -> list[MetricGroup]:
    """Group records by metric and place, in order of first appearance. Warm-ups (repeat numbers below 1) are
    skipped."""
    rivals: dict[Place, list[Disagreement]] = {}
    for side in disagreements:
        for place in side.places:
            rivals.setdefault(place, []).append(side)
    groups = grouped((record for record in records if record.repeat >= 1), place_of)
    return [
        MetricGroup(*place[:3], {**group[0].point, **group[0].coords}, tuple(group), tuple(rivals.get(place, ())))
        for place, group in groups.items()
    ]


def same(wanted: Any, found: Any) -> bool:
    """Return whether a value under `at` matches a measured one: 4096 equals 4096.0, true differs from 1, and a list
    matches any of its items."""
    if isinstance(wanted, list | tuple):
        if isinstance(found, list | tuple):
            return len(wanted) == len(found) and all(same(a, b) for a, b in zip(wanted, found, strict=True))
        return any(same(item, found) for item in wanted)
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return math.isclose(wanted, found, rel_tol=1e-12, abs_tol=0.0)
    return bool(wanted == found)


def _judge_one(
    check: Check, places: Sequence[MetricGroup], ended: Outcome, facts: Mapping[str, HostFacts], strict: Collection[str]
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
        verdicts.extend(_judge_place(check, place, _whole(check, place, places, facts), strict) for place in matching)
        verdicts.extend(_gaps(check, host, matching, ended))
    return verdicts


def _matches(check: Check, place: MetricGroup) -> bool:
    return (
        fnmatchcase(place.id, check.job_id)
        and fnmatchcase(place.metric, check.metric)
        and all(key in place.at and same(wanted, place.at[key]) for key, wanted in check.at.items())
    )


def _judge_place(check: Check, place: MetricGroup, whole: float | None, strict: Collection[str]) -> Verdict:
    low, high, reason = _bounds(check, whole)
    outcome, if_missing = "unknown", check.if_missing
    doubt = f"the value is flagged {' and '.join(place.doubts)}" if place.doubts else ""
    if any(flag.startswith("invalid") for flag in place.doubts):
        # a value was measured, so `if_missing` does not apply; only the severity does
        reason = f"{doubt}, so it is treated as not measured"
        if_missing = "fail" if check.severity == "fail" else "warn"
    elif not reason and doubt and f"{place.host}/{place.id}" in strict:
        reason = f"{doubt}, which `strict` rejects"
    reason = reason or _between_states(place, low, high) or _between_rivals(place, low, high)
    within = _straddles(place, low, high)
    if not reason and doubt and within:
        reason = f"{doubt}, and {within[0]}"
    if not reason:
        held = (low is None or place.value >= low) and (high is None or place.value <= high)
        outcome = "pass" if held else "fail"
        reason = "; ".join([*([doubt] if doubt else []), *within])
    return _verdict(
        check, place.host, reason, outcome=outcome, id=place.id, metric=place.metric, unit=place.records[0].unit,
        at=dict(place.at), value=place.value, min=low, max=high, if_missing=if_missing,
    )  # fmt: skip


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
    Return None if neither contains it."""
    name = check.relative_to
    if name is None:
        return None
    here = (place.host, place.records[0].point_id)
    own = [other for other in places if other.metric == name and (other.host, other.records[0].point_id) == here]
    return own[0].value if own else fact_value(facts.get(place.host), FACTS.get(name, name))


def fact_value(facts: HostFacts | None, path: str) -> float | None:
    """Return the number at the dotted `path` in the facts (`memory.total_bytes`, `cpu.frequency_hz`); None if there is
    none."""
    found: Any = facts
    for part in path.split("."):
        found = getattr(found, part, None) if part in getattr(type(found), "model_fields", ()) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found)


def _straddles(place: MetricGroup, low: float | None, high: float | None) -> list[str]:
    """Return a note if a bound lies within the confidence interval of a single repeat, or between the lowest and
    highest values of several repeats."""
    values = [record.value for record in place.records]
    stats = place.records[0].stats
    span = (min(values), max(values))
    if len(values) == 1 and stats is not None and stats.ci95 is not None:
        span = stats.ci95
    unit = place.records[0].unit
    return [
        f"the bound lies within the spread, {format_quantity(span[0], unit)} to {format_quantity(span[1], unit)}"
        for bound in (low, high)
        if bound is not None and span[0] < bound < span[1]
    ][:1]


def _between_states(place: MetricGroup, low: float | None, high: float | None) -> str:
    """Return why the verdict is unknown if visits alternate between a value that satisfies the bounds and one that does
    not; otherwise empty."""
    stats = place.records[0].stats
    if len(place.records) != 1 or stats is None or not stats.states:
        return ""
    first, last = min(state.value for state in stats.states), max(state.value for state in stats.states)
    if not any(bound is not None and first < bound <= last for bound in (low, high)):
        return ""
    unit = place.records[0].unit
    shares = " and ".join(f"{format_quantity(state.value, unit)} ({state.share:.0%})" for state in stats.states)
    return f"the value has two states, {shares}, and the bound lies between them"


def _between_rivals(place: MetricGroup, low: float | None, high: float | None) -> str:
    """Return why the verdict is unknown if this value satisfies the bounds and another value of the same quantity does
    not, or vice versa; otherwise empty."""
    for side in place.rivals:
        first, last = sorted((place.value, place.value * side.ratio))
        if (low is not None and first < low <= last) or (high is not None and first <= high < last):
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
    """Return an unknown verdict for each job that lacks measurements to which the check might apply."""
    verdicts = []
    for job in ended.run.jobs:
        lost = _lost(job)
        if job.host != host or not lost or not fnmatchcase(job.id, check.job_id):
            continue
        swept = {key for place in matching if place.id == job.id for key in place.records[0].point}
        if swept and swept <= set(check.at):
            continue  # the check selects one place, which was measured
        reason = f"part of the job is missing: {', '.join(lost)}{ended.cause(check, host, job.id)}"
        verdicts.append(_verdict(check, host, reason, id=job.id))
    return verdicts


def _verdict(check: Check, host: str | None, reason: str, **fields: Any) -> Verdict:
    """Return an unknown verdict for `check`, with some values replaced by `fields`."""
    absolute, span = check.relative_to is None, check.span
    known: dict[str, Any] = {
        "outcome": "unknown", "severity": check.severity, "host": host, "id": check.job_id, "metric": check.metric,
        "at": dict(check.at), "min": check.min if absolute else None, "max": check.max if absolute else None,
        "text": check.text, "reason": reason, "if_missing": check.if_missing,
        "file": span.file if span else None, "line": span.line if span else None,
    }  # fmt: skip
    return Verdict(**{**known, **fields})
