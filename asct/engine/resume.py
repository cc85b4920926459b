"""Find the missing repeats of a run from its journal and status files, and reopen the run to measure only these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from asct.diagnostics.model import Diagnostic
from asct.engine.points import shared_results
from asct.engine.services import Services
from asct.errors import StoreError
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.record import Measurement, Record, Scalar
from asct.store.earlier import EarlierRuns
from asct.store.layout import RepeatKey, RunLayout, repeat_key
from asct.store.model import Status
from asct.store.reader import StoredRun, read_run
from asct.store.writer import RunWriter

_DONE = ("ok", "noisy")


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """Results of an earlier part of a resumed run, and of earlier runs (`--reuse`)."""

    repeats: Mapping[RepeatKey, Status] = field(default_factory=dict)
    """The status of each repeat that is not measured again."""
    exports: Mapping[tuple[str, str], Mapping[str, Scalar]] = field(default_factory=dict)
    """The results of each job for other jobs, by path. The keys are (host, job id)."""
    ends: Mapping[RepeatKey, int] = field(default_factory=dict)
    """The number of times that each repeat ended, according to the journal."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """The work folder of each host's last session, which may still exist on the host."""
    runs: EarlierRuns | None = None
    """The runs that `--reuse` searches; None if the option is not set."""
    pilots: EarlierRuns | None = None
    """Recent runs whose variances determine the number of visits."""


def missing(resolved: ResolvedPlan, layout: RunLayout) -> list[tuple[Job, str, int]]:
    """Return the (job, point id, repeat) of every repeat that the run in `layout` did not measure, in planned order.

    A repeat is measured if the journal contains its end with the status ok or noisy (only ok for a strict job), its
    status.json is valid and agrees, and all of its records exist. Warm-ups are not listed. Raises StoreError if the run
    cannot be read.
    """
    done = measured(resolved, read_run(layout.root))
    return [
        (job, point.id, repeat)
        for job in resolved.jobs
        for point in job.points
        for repeat in range(1, job.repeats + 1)
        if (job.host, job.id, point.id, repeat) not in done
    ]


def measured(resolved: ResolvedPlan, stored: StoredRun) -> dict[RepeatKey, Status]:
    """Return the repeats of `resolved` that the run has measured, and their status."""
    ends = stored.ends()
    recorded = Counter(map(_key, stored.records()))
    found: dict[RepeatKey, Status] = {}
    for job in resolved.jobs:
        accepted = _DONE[:1] if job.strict else _DONE
        for point in job.points:
            for repeat in range(1, job.repeats + 1):
                key = (job.host, job.id, point.id, repeat)
                if ends.get(key) not in accepted or key not in recorded:
                    continue
                status = stored.status_if_readable(stored.layout.repeat(*key))
                if status is not None and status.status == ends[key] and status.has_all(recorded[key]):
                    found[key] = status
    return found


def _key(record: Record) -> RepeatKey:
    return record.host, record.id, record.point_id, record.repeat


def check_plan(resolved: ResolvedPlan, stored: StoredRun) -> None:
    """Raise StoreError (E507) if `resolved` is not the plan of the run."""
    if stored.run.plan_hash != resolved.hash:
        message = (
            f"{stored.layout.root}: the run has another plan ({stored.run.plan_hash[:6]}, not {resolved.hash[:6]})"
        )
        hint = "`asct resume` uses the original plan; without `--resume` the changed plan starts a new run"
        raise StoreError(Diagnostic("E507", message, hint=hint))


def reopen(resolved: ResolvedPlan, layout: RunLayout, services: Services) -> tuple[RunWriter, EarlierResults]:
    """Return the writer of the reopened run, and its earlier results.

    Raises StoreError if `resolved` is not the plan of the run.
    """
    stored = read_run(layout.root)
    check_plan(resolved, stored)
    writer = RunWriter.reopen(layout, stored.run)
    records = stored.records()
    done = measured(resolved, stored)
    writer.drop_records({_key(record) for record in records} - set(done))
    exports = _exports(resolved, records, done, services)
    fresh = stored.run.model_copy(update={"status": "running", "exit_code": None, "ended_at": None, "verdicts": []})
    writer.run = fresh
    ends, folders = _ends(stored)
    return writer, EarlierResults(done, exports, ends, folders)


def _ends(stored: StoredRun) -> tuple[Counter[RepeatKey], dict[str, str]]:
    """Return how often each repeat ended according to the journal, and the work folder of each host's last session.

    A lost connection does not count as an end, because the host continues and its results will be used.
    """
    ends: Counter[RepeatKey] = Counter()
    folders: dict[str, str] = {}
    for event in stored.journal():
        if event.get("t") == "point-ended" and event["status"] != "host-lost":
            ends[repeat_key(event)] += 1
        elif event.get("t") == "host-ready":
            folders[event["host"]] = event.get("work", "")
    return ends, folders


def _exports(
    resolved: ResolvedPlan, records: Sequence[Record], done: Mapping[RepeatKey, Status], services: Services
) -> dict[tuple[str, str], Mapping[str, Scalar]]:
    """Return the results that other jobs need, computed from the kept records."""
    needed = {(job.host, job_id) for job in resolved.jobs for job_id in job.needs.values()}
    by_repeat: dict[RepeatKey, list[Record]] = {}
    for record in records:
        if (record.host, record.id) in needed and _key(record) in done:
            by_repeat.setdefault(_key(record), []).append(record)
    found: dict[tuple[str, str], dict[str, list[Mapping[str, Scalar]]]] = {}
    for (host, job_id, point_id, _), own in by_repeat.items():
        benchmark = services.catalog.get(own[0].benchmark)
        if benchmark is not None:
            exported = benchmark.export(measurements_of(own))
            found.setdefault((host, job_id), {}).setdefault(point_id, []).append(exported)
    return {key: shared_results(points.values()) for key, points in found.items()}


def measurements_of(records: Sequence[Record]) -> list[Measurement]:
    """Return the measurements in stored records of an earlier part of the run or of an earlier run."""
    return [Measurement(r.metric, r.value, dict(r.coords), r.stats, tuple(r.flags)) for r in records]
