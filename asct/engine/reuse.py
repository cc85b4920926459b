"""Reuse points that an earlier run measured under the same conditions (`apply --reuse AGE`).

A point is reused with all of its repeats or not at all, because a mix of repeats from different runs would not show the
spread within one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from asct.diagnostics.model import Diagnostic
from asct.engine.events import PointEnded, PointStarted, now
from asct.engine.points import BoundPoint
from asct.engine.reuse_key import can_be_reused, changes
from asct.engine.services import RunContext
from asct.engine.values import measurements_of, value_key
from asct.errors import StoreError
from asct.planner.costs import known_settings
from asct.planner.model import Job, Point, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import NOISY_HOST, REUSED, Measurement, Record, Scalar, is_invalid
from asct.store.earlier import EarlierPoint, EarlierRepeat, EarlierRuns
from asct.store.model import MEASURED, EarlierValues, Status, accepted_statuses
from asct.values.text import counted
from asct.values.timestamp import age

_MOST_CHANGES: Final = 6
_PILOT_RUNS: Final = 20
_PILOT_DAYS: Final = 30
_SPREAD_RUNS: Final = 9
"""Maximum number of earlier runs whose spread is used. With more runs, a slow decline would itself widen the spread and
thus go unnoticed."""


def earlier_runs(results: Path, age_s: float, leave_out: Path | None = None) -> EarlierRuns:
    """Return the runs below `results` that contain measurements from the last `age_s` seconds. The run `leave_out` is
    excluded."""
    return EarlierRuns(results, datetime.now(UTC) - timedelta(seconds=age_s), leave_out)


def pilot_runs(results: Path, leave_out: Path) -> EarlierRuns:
    """Return the newest runs below `results`, from which `Context.earlier` is taken. The run `leave_out` is
    excluded."""
    since = datetime.now(UTC) - timedelta(days=_PILOT_DAYS)
    return EarlierRuns(results, since, leave_out, newest=_PILOT_RUNS)


def earlier_records(runs: EarlierRuns, host: str, point_id: str, version: str, facts: HostFacts) -> Sequence[Record]:
    """Return a point's records from the newest run that measured it under the same conditions, or an empty sequence if
    there is no such run."""
    for found in runs.of(host, point_id, 1, MEASURED):
        with suppress(StoreError):
            if records := _comparable(found, version, facts):
                return records
    return ()


def earlier_values(
    runs: EarlierRuns, host: str, point_id: str, version: str, facts: HostFacts, measured: Sequence[Measurement]
) -> list[EarlierValues]:
    """For every measurement that has visits, return the values that the newest earlier runs measured under the same
    conditions, oldest first. Values measured on a noisy host and reused values are ignored."""
    by_key = {
        value_key(item.metric, item.coords): EarlierValues(metric=item.metric, coords=dict(item.coords), values=[])
        for item in measured
        if item.stats is not None and item.stats.visits is not None and not item.detail
    }
    used = 0
    for found in runs.of(host, point_id, 1, MEASURED) if by_key else ():
        if used == _SPREAD_RUNS:
            break
        with suppress(StoreError):
            used += _collect(found, version, facts, by_key)
    return [item for item in by_key.values() if item.values]


def _collect(
    found: EarlierPoint, version: str, facts: HostFacts, by_key: Mapping[tuple[object, ...], EarlierValues]
) -> bool:
    """Insert the values from an earlier run before the values collected so far. Return whether the run was used. Raises
    StoreError if the run is damaged."""
    records = _comparable(found, version, facts)
    for record in records:
        item = by_key.get(value_key(record.metric, record.coords))
        if item is not None and not is_invalid(record.flags):
            item.values.insert(0, record.value)
    return bool(records)


def _comparable(found: EarlierPoint, version: str, facts: HostFacts) -> Sequence[Record]:
    """Return the records of an earlier point, or an empty sequence unless that run itself measured them on a quiet
    host, with this version of the benchmark, and the host has not been changed since then. Raises StoreError if the run
    is damaged."""
    before = found.facts()
    if found.statuses[0].reused_from or before is None or changes(before, facts):
        return ()
    records = found.repeats()[0].records
    same = bool(records) and records[0].version == version and NOISY_HOST not in records[0].flags
    return records if same else ()


def _earlier_points(runs: EarlierRuns, job: Job, point_id: str) -> Iterator[EarlierPoint]:
    """Yield the earlier points that contain every repeat of the job's point."""
    return runs.of(job.host, point_id, job.repeats, accepted_statuses(strict=job.strict))


ReusedRepeat = tuple[Status, Mapping[str, Scalar]]
"""The status of a reused repeat in this run, and its results for other jobs."""


@dataclass(slots=True)
class Reuse:
    """Reuses points for one job. The methods raise StoreError if this run cannot be written."""

    run: RunContext
    runs: EarlierRuns
    job: Job
    benchmark: Benchmark[Any]
    facts: HostFacts
    others: dict[str, list[EarlierPoint]] = field(default_factory=dict)
    """The points that were measured under different conditions, keyed by run."""

    def reuse(self, points: Iterable[BoundPoint]) -> Iterator[ReusedRepeat]:
        """Yield each reused repeat. At the end, emit a notice about points that were measured under different
        conditions."""
        for point in points:
            if point.reuse_key and not self.run.stop.requested:
                yield from self._point(point)
        for found in self.others.values():
            self.run.events.notice(self.job.host, self._changed(found))

    def _point(self, point: BoundPoint) -> list[ReusedRepeat]:
        other: EarlierPoint | None = None
        for found in _earlier_points(self.runs, self.job, point.id):
            if any(status.reuse_key != point.reuse_key for status in found.statuses):
                other = other or found
            elif whole := self._adopted(point, found):
                return [self._repeat(point, repeat, found.name) for repeat in whole]
        if other is not None:
            self.others.setdefault(other.name, []).append(other)
        return []

    def _adopted(self, point: BoundPoint, found: EarlierPoint) -> list[EarlierRepeat]:
        """Link the raw files of a point into this run and return its repeats.

        If the repeats are incomplete, emit a notice and return an empty list.
        """
        layout = self.run.writer.layout
        try:
            whole = found.repeats()
            self.run.writer.adopt(
                {layout.repeat(self.job.host, self.job.id, point.id, one.status.repeat): one.folder for one in whole}
            )
        except StoreError as error:
            if self.run.writer.failure is not None:
                raise
            message = f"{found.job_id} {found.point_id} from {found.name} is not reused: {error.diagnostics[0].message}"
            hint = f"`asct results verify {found.name}` lists all damage"
            self.run.events.notice(self.job.host, Diagnostic("E624", message, hint=hint, severity="warning"))
            return []
        return whole

    def _repeat(self, point: BoundPoint, earlier: EarlierRepeat, run: str) -> ReusedRepeat:
        """Store a repeat and its events in this run, so that `resume` treats it like any other repeat."""
        writer, job, status = self.run.writer, self.job, earlier.status
        source = status.reused_from or run
        folder = writer.layout.repeat(job.host, job.id, point.id, status.repeat)
        raw = writer.layout.relative(folder)
        records = [self._record(record, raw) for record in earlier.records]
        steps = [{**row, "folder": raw + str(row["folder"]).removeprefix(earlier.raw)} for row in status.steps]
        flags = sorted({*status.flags, REUSED})
        status = status.model_copy(update={"steps": steps, "flags": flags, "reused_from": source})
        writer.finish_repeat(folder, status, records)
        place = (job.host, job.id, point.id, status.repeat)
        self.run.events.emit(PointStarted(*place, point.label, point.estimated_s))
        self.run.events.emit(PointEnded(*place, status.status, 0.0, f"reused from {source}"))
        return status, self.benchmark.export(measurements_of(records))

    def _record(self, record: Record, raw: str) -> Record:
        flags = [flag for flag in record.flags if flag != REUSED]
        own = {"run": self.run.id, "plan": self.run.plan.name, "id": self.job.id, "raw": raw}
        return record.model_copy(update={**own, "flags": [*flags, REUSED]})

    def _changed(self, found: Sequence[EarlierPoint]) -> Diagnostic:
        """Return a notice that lists what has changed since the points were measured, as far as the facts show."""
        first = found[0]
        facts = first.facts()
        names = changes(facts, self.facts) if facts is not None else []
        more = f" and {len(names) - _MOST_CHANGES} more" if len(names) > _MOST_CHANGES else ""
        what = (
            f"{', '.join(names[:_MOST_CHANGES])}{more}"
            if names
            else "a program, a drive, or a result that they depend on"
        )
        points, ago = counted(len(found), "point"), age(first.measured_at, now())
        message = (
            f"{self.job.id} on {self.job.host}: {points} from {first.name} ({ago} ago) cannot be reused: {what} changed"
        )
        return Diagnostic("E623", message, severity="note")


def reusable(resolved: ResolvedPlan, catalog: Catalog, runs: EarlierRuns) -> dict[str, int]:
    """Return the maximum number of reusable points in each job, keyed by job key. A point counts if it is recent enough
    and if the host's facts at that time equal the newest known facts. Whether the point can really be reused is known
    only once the host has been contacted.
    """
    newest = {host: runs.newest_facts(host) for host in resolved.hosts}
    return {
        job.key: sum(_may_be_reused(job, point, benchmark, runs, newest[job.host]) for point in job.points)
        for job in resolved.jobs
        if (benchmark := catalog.get(job.benchmark)) is not None
    }


def _may_be_reused(
    job: Job, point: Point, benchmark: Benchmark[Any], runs: EarlierRuns, newest: HostFacts | None
) -> bool:
    params = benchmark.params_model.model_validate(known_settings(point))
    if newest is None or not can_be_reused(benchmark.needs(params, newest)):
        return False
    return any(
        all(status.reuse_key for status in found.statuses)
        and (facts := found.facts()) is not None
        and not changes(facts, newest)
        for found in _earlier_points(runs, job, point.id)
    )
