"""Converts a resolved plan to a JSON document (asct.plan/1) and back, for `plan -o`, `apply` and plan.resolved.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.plan.model import Destroys, HostSpec, PendingValue, ReportSpec, Retry, Safety
from asct.planner.identity import digest, job_seed, plan_hash, split_settings
from asct.planner.model import Check, Job, Origin, Point, ResolvedPlan

SCHEMA = "asct.plan/1"
_KIND, _VERSION = "asct.plan", 1
_DEFERRED = "$deferred"
_AGAIN = "create it again: `asct plan PLAN -o FILE`"


def freeze(plan: ResolvedPlan) -> dict[str, Any]:
    """The plan as plain JSON. `hash` is the hash of the plan; `checksum` covers the rest of the document.

    A job's `settings` are shared by all its points; each point adds its swept settings.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": plan.name,
        "description": plan.description,
        "path": plan.path,
        "hash": plan.hash,
        "hosts": [_host(spec) for spec in plan.hosts.values()],
        "jobs": [_job(job) for job in plan.jobs],
        "checks": [_check(check) for check in plan.checks],
        "report": {"title": plan.report.title, "formats": list(plan.report.formats)},
        "safety": _safety(plan.safety),
        "baseline": plan.baseline,
        "labels": list(plan.labels),
        "diagnostics": [_diagnostic(item) for item in plan.diagnostics],
        "text": plan.text,
    }
    document["checksum"] = digest(document)
    return document


def _span(span: Span | None) -> list[Any] | None:
    return [span.file, span.line, span.column, span.length] if span else None


def _value(value: Any) -> Any:
    if isinstance(value, PendingValue):
        body = {"text": value.text, "aliases": list(value.aliases), "values": dict(value.values)}
        return {_DEFERRED: {**body, "span": _span(value.span)}}
    return value


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in values.items()}


def _host(spec: HostSpec) -> dict[str, Any]:
    body = {name: value for name, value in spec._asdict().items() if name != "vars"}
    return {**body, "labels": dict(spec.labels), "options": dict(spec.options), "span": _span(spec.span)}


def _job(job: Job) -> dict[str, Any]:
    shared, rest = split_settings(job.points)
    points = []
    for point, other in zip(job.points, rest, strict=True):
        body = {"id": point.id, "swept": _values(point.swept)}
        points.append({**body, "settings": _values(other)} if other else body)
    return {
        "id": job.id,
        "benchmark": job.benchmark,
        "version": job.version,
        "host": job.host,
        "reason": job.reason,
        "tags": list(job.tags),
        "needs": dict(job.needs),
        "repeats": job.repeats,
        "warmup": job.warmup,
        "timeout_s": job.timeout_s,
        "retry": {"max": job.retry.max, "on": list(job.retry.on)},
        "order": job.order,
        "seed": job.seed,
        "strict": job.strict,
        "settings": _values(shared),
        "origins": {name: [origin.layer, _span(origin.span)] for name, origin in job.origins.items()},
        "points": points,
    }


def _check(check: Check) -> dict[str, Any]:
    hosts = None if check.hosts is None else list(check.hosts)
    return {**check._asdict(), "at": dict(check.at), "hosts": hosts, "span": _span(check.span)}


def _safety(safety: Safety) -> dict[str, Any]:
    return {
        "destroys": [{**item._asdict(), "span": _span(item.span)} for item in safety.destroys],
        "max_written_bytes": safety.max_written_bytes,
    }


def _diagnostic(item: Diagnostic) -> dict[str, Any]:
    body = {name: getattr(item, name) for name in Diagnostic.__dataclass_fields__}
    return {**body, "span": _span(item.span), "notes": [[text, _span(span)] for text, span in item.notes]}


def thaw(document: Any) -> ResolvedPlan:
    """The plan in a document that `freeze` created.

    Raises PlanError for other documents (E260), modified documents (E261) and those of a newer asct (E262).
    """
    _check_schema(document)
    content = {key: value for key, value in document.items() if key != "checksum"}
    try:
        if document.get("checksum") != digest(content):
            _refuse("E261", "the frozen plan was modified after `asct plan -o` wrote it")
        plan = _plan(content)
        found = plan_hash(plan.jobs, plan.hosts, plan.checks, plan.safety, plan.baseline)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise PlanError(
            Diagnostic(
                "E260",
                f"the frozen plan is incomplete ({type(error).__name__})",
                hint="create it again: `asct plan -o`",
            )
        ) from error
    seeds = all(job.seed == job_seed(found, job) for job in plan.jobs)
    if found != plan.hash or not seeds:
        _refuse("E261", "the hash in the frozen plan does not match its content")
    return plan


def _refuse(code: str, message: str, hint: str = _AGAIN) -> NoReturn:
    raise PlanError(Diagnostic(code, message, hint=hint))


def _check_schema(document: Any) -> None:
    schema = document.get("schema") if isinstance(document, dict) else None
    kind, _, version = str(schema).partition("/")
    if kind != _KIND or not version.isdecimal():
        _refuse(
            "E260", f"not a frozen plan: its schema is `{schema}`" if schema else "not a frozen plan: it has no schema"
        )
    if int(version) > _VERSION:
        _refuse(
            "E262",
            f"the frozen plan is {schema}; this asct supports versions up to {SCHEMA}",
            "use the asct that wrote it",
        )
    if int(version) < _VERSION:
        _refuse("E260", f"unknown schema {schema}")


def _plan(body: Mapping[str, Any]) -> ResolvedPlan:
    return ResolvedPlan(
        name=body["name"],
        description=body["description"],
        path=body["path"],
        text=body["text"],
        hash=body["hash"],
        hosts={item["name"]: HostSpec(**{**item, "span": _span_from(item["span"])}) for item in body["hosts"]},
        jobs=tuple(_job_from(item) for item in body["jobs"]),
        checks=tuple(_check_from(item) for item in body["checks"]),
        report=ReportSpec(body["report"]["title"], tuple(body["report"]["formats"])),
        safety=_safety_from(body["safety"]),
        baseline=body["baseline"],
        labels=tuple(body["labels"]),
        diagnostics=tuple(_diagnostic_from(item) for item in body["diagnostics"]),
    )


def _span_from(value: Any) -> Span | None:
    return Span(*value) if value is not None else None


def _value_from(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {_DEFERRED}:
        body = value[_DEFERRED]
        return PendingValue(body["text"], tuple(body["aliases"]), _span_from(body["span"]), body["values"])
    return value


def _values_from(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value_from(value) for name, value in values.items()}


def _job_from(body: Mapping[str, Any]) -> Job:
    shared = _values_from(body["settings"])
    points = []
    for item in body["points"]:
        swept = _values_from(item["swept"])
        points.append(Point(item["id"], swept, {**shared, **swept, **_values_from(item.get("settings", {}))}))
    names = ("id", "benchmark", "version", "host", "reason", "needs", "repeats", "warmup", "timeout_s", "order")
    return Job(
        **{name: body[name] for name in (*names, "seed", "strict")},
        points=tuple(points),
        retry=Retry(body["retry"]["max"], tuple(body["retry"]["on"])),
        tags=tuple(body["tags"]),
        origins={name: Origin(layer, _span_from(span)) for name, (layer, span) in body["origins"].items()},
    )


def _check_from(body: Mapping[str, Any]) -> Check:
    hosts = None if body["hosts"] is None else tuple(body["hosts"])
    return Check(**{**body, "hosts": hosts, "span": _span_from(body["span"])})


def _safety_from(body: Mapping[str, Any]) -> Safety:
    destroys = tuple(Destroys(**{**item, "span": _span_from(item["span"])}) for item in body["destroys"])
    return Safety(destroys, body["max_written_bytes"])


def _diagnostic_from(body: Mapping[str, Any]) -> Diagnostic:
    notes = tuple((text, _span_from(span)) for text, span in body["notes"])
    return Diagnostic(**{**body, "span": _span_from(body["span"]), "notes": notes})
