"""Bind a job's points to its host, and combine the job's results for other jobs. Performs no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, median_low, mode
from typing import Any

from pydantic import ValidationError

from asct.diagnostics.model import Diagnostic
from asct.engine.preflight import unfit
from asct.errors import NotMeasured, PlanError
from asct.plan.model import PendingValue
from asct.plan.templates import evaluate_pending
from asct.planner.model import Job, Point
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.needs import SHORTEST_LIMIT_S, Needs
from asct.sdk.params import Params
from asct.sdk.record import Scalar
from asct.sdk.setting_errors import setting_errors


@dataclass(frozen=True, slots=True)
class BoundPoint:
    """A point on its host, with results from other jobs filled in. `params` contains the validated settings."""

    id: str
    params: Params
    settings: Mapping[str, Any]
    swept: dict[str, Scalar | list[Scalar] | None]
    """The swept settings as JSON scalars or lists of scalars, with sizes in bytes."""
    estimated_s: float = 0.0
    limit_s: float = SHORTEST_LIMIT_S
    """Time limit for one attempt, in seconds."""
    unfit: Diagnostic | None = None
    """The reason why the host cannot run this point, or None if the host can run it.

    An unfit point fails without being attempted; the other points are measured.
    """
    reuse_key: str = ""
    """Hash of everything that the point's values depend on, or an empty string if the point is never reused."""

    @property
    def label(self) -> str:
        """The swept values as text."""
        return ", ".join(f"{name}={value}" for name, value in self.swept.items())


def is_bound(value: Any) -> bool:
    """Return whether a value contains no PendingValue."""
    if isinstance(value, list):
        return all(is_bound(item) for item in value)
    return not isinstance(value, PendingValue)


def waits_for_results(job: Job) -> bool:
    """Return whether any of the job's settings depends on results from other jobs."""
    return not all(is_bound(value) for point in job.points for value in point.settings.values())


def bind(settings: Mapping[str, Any], needs_values: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the settings with every PendingValue evaluated. `needs_values` maps `alias.path` to values measured on
    this host.

    The benchmark's model validates a computed value like any other. Raises NotMeasured (E226) if a result is missing or
    a value cannot be computed.
    """
    return {name: _bound(name, value, needs_values) for name, value in settings.items()}


def _bound(name: str, value: Any, known: Mapping[str, Scalar]) -> Any:
    if isinstance(value, list):
        return [_bound(name, item, known) for item in value]
    if not isinstance(value, PendingValue):
        return value
    try:
        return evaluate_pending(value.text, known, value.values)
    except PlanError as error:
        hint = f"set `{name}` in the plan; asct then uses that value instead"
        message = f"`{name}` cannot be computed from `{value.text}`"
        found = [(item, f"{message}: {item.message}") for item in error.diagnostics]
        raise NotMeasured(
            *(replace(item, code="E226", message=text, span=value.span, hint=hint) for item, text in found)
        ) from None


def bind_points(
    job: Job, benchmark: Benchmark[Any], values: Mapping[str, Scalar], facts: HostFacts
) -> tuple[list[BoundPoint], list[Needs]]:
    """Return all points, and the needs of those that the host can run. The other points contain a diagnostic (E422,
    E427).

    Raises NotMeasured with the diagnostics (E612, E614) for all points whose settings are invalid.
    """
    points: list[BoundPoint] = []
    needs: list[Needs] = []
    for point, settings, params in _settled(job, benchmark, values, facts):
        need = benchmark.needs(params, facts)
        unfitness = unfit(need, facts, f"{job.id} on {job.host}")
        seconds = need.seconds if unfitness is None else 0.0
        if unfitness is None:
            needs.append(need)
        limit = need.limit_s if job.timeout_s is None else job.timeout_s
        swept = {name: _plain(settings.get(name, value)) for name, value in point.swept.items()}
        points.append(BoundPoint(point.id, params, settings, swept, seconds, limit, unfitness))
    return points, needs


def _settled(
    job: Job, benchmark: Benchmark[Any], values: Mapping[str, Scalar], facts: HostFacts
) -> Iterator[tuple[Point, dict[str, Any], Params]]:
    """Yield each point with its settings on the host, both as written and as validated. Raises NotMeasured in the same
    cases as `bind_points`."""
    bound: list[tuple[Point, dict[str, Any], Params]] = []
    findings: dict[str, Diagnostic] = {}
    for point in job.points:
        try:
            settings = bind(point.settings, values)
            bound.append((point, settings, _params(job, benchmark, settings)))
        except NotMeasured as error:
            findings.update({item.message: item for item in error.diagnostics})
    if findings:
        raise NotMeasured(*findings.values())
    settled = benchmark.settle([params for *_, params in bound], facts)
    for (point, settings, before), params in zip(bound, settled, strict=True):
        new = {name: value for name, value in params if value != getattr(before, name)}
        yield point, settings | new, params


def cautions(job: Job, benchmark: Benchmark[Any], points: Sequence[BoundPoint], facts: HostFacts) -> list[Diagnostic]:
    """Return warnings about points that cannot be measured on the host exactly as their settings specify."""
    found = benchmark.cautions([point.params for point in points if point.unfit is None], facts)
    return [
        Diagnostic("E433", f"{job.id} on {job.host}: {message}", hint=hint, severity="warning")
        for message, hint in found
    ]


def _plain(value: Any) -> Scalar | list[Scalar] | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | int | float | bool) else str(item) for item in value]
    return str(value)


def _params(job: Job, benchmark: Benchmark[Any], settings: Mapping[str, Any]) -> Params:
    try:
        params: Params = benchmark.params_model.model_validate(dict(settings))
    except ValidationError as error:
        problems = setting_errors(error.errors(), [*benchmark.params_model.model_fields, *settings])
        raise NotMeasured(*(_invalid(job, problem.setting, problem.text) for problem in problems)) from error
    contradictions = list(benchmark.check(params))
    if contradictions:
        raise NotMeasured(*(_invalid(job, *contradiction) for contradiction in contradictions))
    return params


def _invalid(job: Job, name: str, text: str) -> Diagnostic:
    where, what = (f"{name}: ", f"`{name}`") if name else ("", "the settings")
    return Diagnostic("E614", f"{job.id} on {job.host}: {where}{text}", hint=f"change {what} in the plan")


def needed_values(
    job: Job, exports: Mapping[str, Mapping[str, Scalar] | None], causes: Mapping[str, str]
) -> dict[str, Scalar]:
    """Return the results that `job` needs, keyed by `alias.path`. Raises NotMeasured (E611) if a result is missing.
    `causes` contains the reasons why other jobs have no results (code and message), keyed by job id."""
    values: dict[str, Scalar] = {}
    failed: list[Diagnostic] = []
    for alias, job_id in job.needs.items():
        found = exports.get(job_id)
        if found is None:
            failed.append(_needed_failed(job, job_id, causes.get(job_id, "")))
        else:
            values.update({f"{alias}.{path}": value for path, value in found.items()})
    if failed:
        raise NotMeasured(*failed)
    return values


def _needed_failed(job: Job, job_id: str, cause: str) -> Diagnostic:
    message = f"{job.id} on {job.host}: skipped because it needs a result that {job_id} did not measure"
    return Diagnostic(
        "E611",
        f"{message}: {cause}" if cause else message,
        hint=f"fix the cause, or set the values that {job_id} would have measured",
    )


def shared_results(points: Iterable[Sequence[Mapping[str, Scalar]]]) -> dict[str, Scalar]:
    """Combine the results of a job for use by other jobs.

    The result for each path is the middle value over a point's repeats. Paths whose values differ between points are
    omitted.
    """
    found: dict[str, set[Scalar]] = {}
    for repeats in points:
        for path in dict.fromkeys(path for values in repeats for path in values):
            found.setdefault(path, set()).add(middle([values[path] for values in repeats if path in values]))
    return {path: values.pop() for path, values in found.items() if len(values) == 1}


def middle(values: Sequence[Scalar]) -> Scalar:
    """Return the median if all values are numbers, otherwise the most frequent value.

    For integers, return the lower median, which is always a measured value.
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        return mode(values)
    return median_low(numbers) if all(isinstance(value, int) for value in numbers) else median(numbers)
