"""Convert a resolved plan to a JSON document (asct.plan/1) and back, for `plan -o`, `apply` and plan.resolved.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NoReturn

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.plan.model import Destroys, HostSpec, PendingValue, ReportSpec, Retry, Safety
from asct.planner.identity import digest, job_seed, plan_hash, split_settings
from asct.planner.model import Check, Job, Origin, Point, ResolvedPlan

SCHEMA = "asct.plan/1"
_KIND, _VERSION = "asct.plan", 1
_IMPORTED = "asct.import"
"""The document kind that `asct import` writes instead of a plan."""
_DEFERRED = "$deferred"
_AGAIN = "create it again: `asct plan PLAN -o FILE`"


def freeze(plan: ResolvedPlan) -> dict[str, Any]:
    """Return the plan as plain JSON. In it, `hash` is the plan's hash, and `checksum` covers the rest of the document.

    All points of a job share its `settings`; each point adds its swept settings.
    """
    body = plan._asdict()
    text = body.pop("text")
    document: dict[str, Any] = {
        "schema": SCHEMA,
        **body,
        "hosts": [
            {name: value for name, value in spec._asdict().items() if name != "vars"} for spec in plan.hosts.values()
        ],
        "jobs": [_job(job) for job in plan.jobs],
        "checks": [check._asdict() for check in plan.checks],
        "report": plan.report._asdict(),
        "safety": {**plan.safety._asdict(), "destroys": [item._asdict() for item in plan.safety.destroys]},
        "diagnostics": [asdict(item) for item in plan.diagnostics],
        "text": text,
    }
    document["checksum"] = digest(document)
    return document


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {_DEFERRED: {"text": value.text, "aliases": value.aliases, "values": value.values, "span": value.span}}
        if isinstance(value, PendingValue)
        else value
        for name, value in values.items()
    }


def _job(job: Job) -> dict[str, Any]:
    body = job._asdict()
    del body["points"]
    shared, rest = split_settings(job.points)
    points = [
        {"id": point.id, "swept": _values(point.swept), **({"settings": _values(other)} if other else {})}
        for point, other in zip(job.points, rest, strict=True)
    ]
    return {**body, "retry": job.retry._asdict(), "settings": _values(shared), "points": points}


def thaw(document: Any) -> ResolvedPlan:
    """Return the plan that is in a document created by `freeze`.

    Raises PlanError if the document is of a different kind (E260), was modified (E261), or was created by a newer asct
    version (E262).
    """
    _check_schema(document)
    content = {key: value for key, value in document.items() if key != "checksum"}
    try:
        if document.get("checksum") != digest(content):
            _refuse("E261", "the frozen plan was modified after `asct plan -o` wrote it")
        plan = _plan(content)
        found = plan_hash(plan.jobs, plan.hosts, plan.checks, plan.safety, plan.baseline, confirm=plan.confirm)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        message = f"the frozen plan is incomplete ({type(error).__name__})"
        raise PlanError(Diagnostic("E260", message, hint=_AGAIN)) from error
    seeds = all(job.seed == job_seed(found, job) for job in plan.jobs)
    if found != plan.hash or not seeds:
        _refuse("E261", "the hash in the frozen plan does not match its content")
    return plan


def _refuse(code: str, message: str, hint: str = _AGAIN) -> NoReturn:
    raise PlanError(Diagnostic(code, message, hint=hint))


def _check_schema(document: Any) -> None:
    schema = document.get("schema") if isinstance(document, dict) else None
    kind, _, version = str(schema).partition("/")
    if kind == _IMPORTED:
        _refuse(
            "E260",
            "the results of this run were imported, so there is no plan to resume",
            "repeat the measurement with the program that generated the results, and import the new results",
        )
    if kind != _KIND or not version.isdecimal():
        _refuse(
            "E260", f"not a frozen plan: its schema is `{schema}`" if schema else "not a frozen plan: it has no schema"
        )
    if int(version) > _VERSION:
        _refuse(
            "E262",
            f"the frozen plan has the schema {schema}; this asct supports versions up to {SCHEMA}",
            "use the asct version that wrote this plan",
        )
    if int(version) < _VERSION:
        _refuse("E260", f"unknown schema {schema}")


def _plan(body: Mapping[str, Any]) -> ResolvedPlan:
    fields = {"limit_s": None, "confirm": True, **body}  # plans frozen by earlier versions do not contain them
    fields["hosts"] = {item["name"]: HostSpec(**_located(item)) for item in body["hosts"]}
    fields["jobs"] = tuple(_job_from(item) for item in body["jobs"])
    fields["checks"] = tuple(Check(**_located(item, "hosts")) for item in body["checks"])
    fields["report"] = ReportSpec(**_located(body["report"], "formats"))
    destroys = tuple(Destroys(**_located(item)) for item in body["safety"]["destroys"])
    fields["safety"] = Safety(**{**body["safety"], "destroys": destroys})
    fields["diagnostics"] = tuple(_diagnostic_from(item) for item in body["diagnostics"])
    return ResolvedPlan._make(fields[name] for name in ResolvedPlan._fields)


def _located(body: Mapping[str, Any], *tuples: str) -> dict[str, Any]:
    """Return `body` with `span` converted to a Span, and with the lists under the keys in `tuples` converted to
    tuples."""
    found = {key: tuple(value) if key in tuples and value is not None else value for key, value in body.items()}
    return found | {"span": _span_from(body["span"])} if "span" in body else found


def _span_from(value: Any) -> Span | None:
    return Span(*value) if value is not None else None


def _values_from(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: PendingValue(**_located(value[_DEFERRED], "aliases"))
        if isinstance(value, dict) and set(value) == {_DEFERRED}
        else value
        for name, value in values.items()
    }


def _job_from(body: Mapping[str, Any]) -> Job:
    fields = {"span": None, **_located(body, "tags")}  # plans frozen by earlier versions do not contain span
    shared = _values_from(body["settings"])
    points = []
    for item in body["points"]:
        swept = _values_from(item["swept"])
        points.append(Point(item["id"], swept, {**shared, **swept, **_values_from(item.get("settings", {}))}))
    fields["points"] = tuple(points)
    fields["retry"] = Retry(**_located(body["retry"], "on"))
    fields["origins"] = {name: Origin(layer, _span_from(span)) for name, (layer, span) in body["origins"].items()}
    return Job._make(fields[name] for name in Job._fields)


def _diagnostic_from(body: Mapping[str, Any]) -> Diagnostic:
    notes = tuple((text, _span_from(span)) for text, span in body["notes"])
    return Diagnostic(**{**_located(body), "notes": notes})
