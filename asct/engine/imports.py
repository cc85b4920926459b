"""Create a run from results that were measured without asct (`asct import`).

The run is written under a temporary name and renamed when it is complete, so that a failure leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import asct
from asct.diagnostics.model import Diagnostic
from asct.engine.events import EventBus, JobEnded, PointEnded, RunEnded, RunStarted
from asct.engine.failures import judged
from asct.engine.run import exit_code
from asct.engine.values import records_of
from asct.planner.identity import digest, point_id
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record, Scalar
from asct.store.files import write_atomic, writing
from asct.store.folders import link_latest
from asct.store.layout import run_id, safe_name
from asct.store.model import CommandDocument, HostEntry, JobEntry, PointStatus, Run, Status
from asct.store.writer import RunWriter
from asct.values.grouping import grouped
from asct.values.text import printable
from asct.values.timestamp import stamp

if TYPE_CHECKING:
    from asct.instruments.fio.imported import FioResult
    from asct.sdk.benchmark import Benchmark

_MACHINE_UNKNOWN: Final = "imported results do not describe the machine on which they were measured"
_TRANSPORT: Final = "import"
_MOST_RUNS: Final = 1000


@dataclass(frozen=True, slots=True)
class ImportedRepeat:
    """One result, the file that contains it, and the file's SHA-256. Results with the same identity become repeats of
    one point."""

    source: str
    sha256: str
    result: FioResult


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The names under which results are imported."""

    results: Path
    plan: str
    host: str
    job: str
    label: str | None = None
    description: str = ""
    command: Sequence[str] = ()


@dataclass(slots=True)
class _ImportedPoint:
    id: str
    repeats: list[ImportedRepeat]
    swept: dict[str, Scalar | list[Scalar] | None] = field(default_factory=dict)


def import_results(repeats: Sequence[ImportedRepeat], benchmark: Benchmark[Any], target: ImportTarget) -> Run:
    """Write a run that contains one or more imported results, and return the run. Raises StoreError if the run cannot
    be written.

    The run starts at the time of its first result. `benchmark` supplies the metrics of its values.
    """
    points = _points(repeats, benchmark)
    run = _run(repeats, points, benchmark, target)
    with writing(target.results):
        parent = target.results / safe_name(target.plan)
        parent.mkdir(parents=True, exist_ok=True)
    run = run.model_copy(update={"run": _unused(parent, run.run)})
    folder = parent / f".import-{os.getpid()}"
    try:
        code = _write(folder, run, points, benchmark, target)
        with writing(parent):
            folder.rename(parent / run.run)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    link_latest(parent / run.run)
    return run.model_copy(update={"exit_code": code})


def _unused(parent: Path, name: str) -> str:
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, _MOST_RUNS))
    return next(found for found in names if not (parent / found).exists())


def _points(repeats: Sequence[ImportedRepeat], benchmark: Benchmark[Any]) -> list[_ImportedPoint]:
    """Group the results into points, in order of first appearance, and determine the coordinates that distinguish these
    points."""
    points = [
        _ImportedPoint(
            point_id(benchmark.name, benchmark.version, {"imported": identity}),
            sorted(own, key=lambda one: one.result.ended_s),
        )
        for identity, own in grouped(repeats, lambda one: one.result.identity).items()
    ]
    names = dict.fromkeys(name for point in points for name in point.repeats[0].result.settings)
    settings = [point.repeats[0].result.settings for point in points]
    axes = [name for name in names if len({repr(one.get(name)) for one in settings}) > 1]
    for point in points:
        point.swept = {name: point.repeats[0].result.settings.get(name) for name in axes}
    _distinguish(points)
    return points


def _distinguish(points: Sequence[_ImportedPoint]) -> None:
    """Add the job names, and a number if necessary, to the coordinates of points that would otherwise be identical."""
    if len({repr(point.swept) for point in points}) < len(points):
        for point in points:
            point.swept["jobs"] = point.repeats[0].result.jobs
    if len({repr(point.swept) for point in points}) < len(points):
        for number, point in enumerate(points, start=1):
            point.swept["number"] = number


def _run(
    repeats: Sequence[ImportedRepeat], points: Sequence[_ImportedPoint], benchmark: Benchmark[Any], target: ImportTarget
) -> Run:
    results = [one.result for one in repeats]
    started = min(one.ended_s - one.seconds for one in results)
    content = digest([target.host, target.job, [one.text for one in results]])
    job = JobEntry(
        id=target.job,
        benchmark=benchmark.name,
        version=benchmark.version,
        host=target.host,
        points=len(points),
        repeats=min(len(point.repeats) for point in points),
        reason="imported",
        elapsed_s=round(sum(one.seconds for one in results), 3),
    )
    host = HostEntry(name=target.host, transport=_TRANSPORT, status="ok", description=target.description)
    return Run(
        run=run_id(datetime.fromtimestamp(started, UTC), content),
        plan=target.plan,
        description=target.description,
        title=target.plan,
        label=target.label,
        plan_hash=content,
        plan_file="",
        tool_version=asct.__version__,
        started_at=_iso(started),
        hosts=[host],
        jobs=[job],
        command=list(target.command),
    )


def _write(
    folder: Path, run: Run, points: Sequence[_ImportedPoint], benchmark: Benchmark[Any], target: ImportTarget
) -> int:
    repeats = [one for point in points for one in point.repeats]
    plan = "".join(f"# {line}\n" for line in (f"{target.description}, not measured by asct:", *_sources(repeats)))
    writer = RunWriter.create(target.results, run, plan, '{"schema": "asct.import/1"}', folder)
    writer.resumable = False
    try:
        events = EventBus(writer, ())
        events.emit(
            RunStarted(
                run.run, run.plan, str(folder.with_name(run.run)), (target.host,), 1, len(repeats),
                per_host={target.host: len(repeats)},
            )
        )  # fmt: skip
        ended_s = max(one.result.ended_s for one in repeats)
        facts = HostFacts(host=target.host, collected_at=_iso(ended_s), notes=[_MACHINE_UNKNOWN])
        writer.document(writer.layout.facts(target.host), facts)
        counts: dict[str, int] = {}
        for point in points:
            for number, one in enumerate(point.repeats, start=1):
                status = _write_repeat(writer, events, benchmark, point, number, one)
                counts[status] = counts.get(status, 0) + 1
        [job] = run.jobs
        events.emit(JobEnded(target.host, job.id, counts))
        jobs = [job.model_copy(update={"counts": counts})]
        code = exit_code(jobs, ())
        state: Literal["complete", "incomplete"] = "incomplete" if code else "complete"
        findings = [{**item.to_json(), "host": host} for host, item in events.findings]
        writer.finish(jobs=jobs, counts=counts, exit_code=code, ended_at=_iso(ended_s), status=state, findings=findings)
        events.emit_last(RunEnded(run.run, state, code, job.elapsed_s))
        writer.seal()
    finally:
        writer.close()
    return code


def _sources(repeats: Sequence[ImportedRepeat]) -> list[str]:
    names = ((one, printable(one.result.version)) for one in repeats)
    return list(dict.fromkeys(f"{printable(one.source)} (sha256 {one.sha256}, {version})" for one, version in names))


def _write_repeat(
    writer: RunWriter,
    events: EventBus,
    benchmark: Benchmark[Any],
    point: _ImportedPoint,
    number: int,
    one: ImportedRepeat,
) -> PointStatus:
    run, [job], result = writer.run, writer.run.jobs, one.result
    folder = writer.repeat_folder(writer.layout.repeat(job.host, job.id, point.id, number))
    with writing(folder):
        write_atomic(folder / "fio.json", result.text)
    record_of = partial(
        Record, run=run.run, plan=run.plan, host=job.host, benchmark=job.benchmark, id=job.id, version=job.version,
        point=point.swept, point_id=point.id, repeat=number, raw=writer.layout.relative(folder),
    )  # fmt: skip
    records = records_of(result.measurements, benchmark, record_of)
    failure = Diagnostic("E626", f"{one.source}: {result.problem}", hint="measure again") if result.problem else None
    flags = sorted({flag for item in result.measurements if not item.detail for flag in item.flags})
    status, problem = ("failed", failure) if failure else judged(result.measurements, strict=False)
    command = CommandDocument(
        host=job.host,
        benchmark=job.benchmark,
        settings={name: value for name, value in result.settings.items() if name not in point.swept},
        swept=dict(point.swept),
        steps=[
            {
                "name": "import",
                "argv": ["asct", "import", "fio", printable(one.source)],
                "sha256": one.sha256,
                "version": result.version,
            }
        ],
    )
    document = Status(
        status=status,
        point_id=point.id,
        repeat=number,
        started_at=_iso(result.ended_s - result.seconds),
        elapsed_s=result.seconds,
        flags=flags,
        diagnostic=problem.to_json() if problem else None,
        command=command,
    )
    writer.finish_repeat(folder, document, records)
    if failure:
        events.notice(job.host, failure)
    events.emit(PointEnded(job.host, job.id, point.id, number, status, result.seconds, diagnostic=problem))
    return status


def _iso(moment_s: float) -> str:
    return stamp(datetime.fromtimestamp(moment_s, UTC), "milliseconds")
