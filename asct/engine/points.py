"""Turns the points of a job into points that can be measured on its host. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from asct.diagnostics.model import Diagnostic
from asct.engine.preflight import unfit
from asct.engine.records import Swept, swept_values
from asct.errors import NotMeasured
from asct.planner.bind import bind, is_bound
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.needs import SHORTEST_LIMIT_S, Needs
from asct.sdk.params import Params
from asct.sdk.record import Scalar


@dataclass(frozen=True, slots=True)
class BoundPoint:
    """A point that can be measured on its host: results of other jobs are filled in, `params` are the settings as the
    benchmark's own validated object."""

    id: str
    params: Params
    settings: Mapping[str, Any]
    swept: Swept
    estimated_s: float = 0.0
    limit_s: float = SHORTEST_LIMIT_S
    """Time limit of one attempt."""
    unfit: Diagnostic | None = None
    """Why the host cannot run it: the point fails without an attempt, the other points are measured."""
    reuse_key: str = ""
    """Hash of everything its values depend on; empty for a point that is never reused."""

    @property
    def label(self) -> str:
        """The swept values as text."""
        return ", ".join(f"{name}={value}" for name, value in self.swept.items())


def waits_for_results(job: Job) -> bool:
    """Whether settings of the job need results of other jobs."""
    return not all(is_bound(value) for point in job.points for value in point.settings.values())


def bind_points(
    job: Job, benchmark: Benchmark[Any], values: Mapping[str, Scalar], facts: HostFacts
) -> tuple[list[BoundPoint], list[Needs]]:
    """All points, and the needs of those that fit the host; the others carry their diagnostic (E422, E427).

    Raises NotMeasured (E612, E614) with every point whose settings are invalid.
    """
    points: list[BoundPoint] = []
    needs: list[Needs] = []
    findings: dict[str, Diagnostic] = {}
    for point in job.points:
        try:
            settings = bind(point.settings, values)
            params = _params(job, benchmark, settings)
        except NotMeasured as error:
            findings.update({item.message: item for item in error.diagnostics})
            continue
        need = benchmark.needs(params, facts)
        unfitness = unfit(need, facts, f"{job.id} on {job.host}")
        seconds = need.seconds if unfitness is None else 0.0
        if unfitness is None:
            needs.append(need)
        limit = need.limit_s if job.timeout_s is None else job.timeout_s
        swept = swept_values(point, settings)
        points.append(BoundPoint(point.id, params, settings, swept, seconds, limit, unfitness))
    if findings:
        raise NotMeasured(*findings.values())
    return points, needs


def _params(job: Job, benchmark: Benchmark[Any], settings: Mapping[str, Any]) -> Params:
    try:
        params: Params = benchmark.params_model.model_validate(dict(settings))
    except ValidationError as error:
        raise NotMeasured(*(_invalid(job, item) for item in error.errors(include_url=False))) from error
    contradictions = list(benchmark.check(params))
    if contradictions:
        raise NotMeasured(*(_contradiction(job, name, text) for name, text in contradictions))
    return params


def _invalid(job: Job, error: Mapping[str, Any]) -> Diagnostic:
    name = ".".join(str(part) for part in error["loc"])
    message = f"{job.id} on {job.host}: {name}: {str(error['msg']).lower()} (it is {error['input']!r})"
    return Diagnostic("E614", message, hint=f"set `{name}` in the plan")


def _contradiction(job: Job, name: str, text: str) -> Diagnostic:
    hint = f"change `{name}` in the plan"
    return Diagnostic("E614", f"{job.id} on {job.host}: {name}: {text}", hint=hint)


def needed_values(job: Job, exports: Mapping[str, Mapping[str, Scalar] | None]) -> dict[str, Scalar]:
    """Results that `job` needs, by `alias.path`; raises NotMeasured (E611) when one was not measured."""
    values: dict[str, Scalar] = {}
    failed: list[tuple[str, str]] = []
    for alias, job_id in job.needs.items():
        found = exports.get(job_id)
        if found is None:
            failed.append((alias, job_id))
        else:
            values.update({f"{alias}.{path}": value for path, value in found.items()})
    if failed:
        raise NotMeasured(*(_needed_failed(job, job_id) for _, job_id in failed))
    return values


def _needed_failed(job: Job, job_id: str) -> Diagnostic:
    message = f"{job.id} on {job.host}: skipped because it needs a result of {job_id}, which was not measured"
    return Diagnostic("E611", message, hint=f"check why {job_id} failed, or set the values that it would have measured")


def total_seconds(needs: Sequence[Needs], repeats: int) -> float:
    """The estimated duration of all repeats."""
    return sum(need.seconds for need in needs) * repeats
