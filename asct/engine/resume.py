"""Find a run's missing repeats from its journal and status files, and reopen the run to measure only these repeats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.points import shared_results
from asct.engine.rebuild import RepeatSurvey, survey
from asct.engine.services import Services
from asct.engine.values import measurements_of
from asct.errors import StoreError
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.record import Record, Scalar
from asct.store.earlier import EarlierRuns
from asct.store.layout import RepeatKey, RunLayout, repeat_key
from asct.store.model import Status, accepted_statuses
from asct.store.reader import StoredRun, read_run
from asct.store.writer import RunWriter
from asct.values.grouping import grouped

_TOKEN = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """Results from the earlier part of a resumed run and from earlier runs (`--reuse`)."""

    repeats: Mapping[RepeatKey, Status] = field(default_factory=dict)
    """The status of each repeat that need not be measured again."""
    exports: Mapping[tuple[str, str], Mapping[str, Scalar]] = field(default_factory=dict)
    """The results that each job provides for other jobs, keyed by (host, job id) and then by path."""
    ends: Mapping[RepeatKey, int] = field(default_factory=dict)
    """How many times each repeat has ended, according to the journal."""
    sessions: Mapping[str, str] = field(default_factory=dict)
    """The token of each host's last session, which may still exist on the host."""
    runs: EarlierRuns | None = None
    """The runs that `--reuse` searches, or None if the option is not set."""
    pilots: EarlierRuns | None = None
    """Recent runs whose variances determine the number of visits."""
    findings: Sequence[Diagnostic] = ()
    """Diagnostics about damage to the earlier part of the run."""


def missing(resolved: ResolvedPlan, found: RepeatSurvey) -> list[tuple[Job, str, int]]:
    """Return (job, point id, repeat) for every repeat that the surveyed run did not measure, in planned order.

    A repeat is treated as measured if all of these conditions are met: * according to the journal, it ended with the
    status ok or noisy (only ok for a strict job); * its status.json is valid and agrees with the journal; * its raw
    files are intact; * its records exist or can be rebuilt from the raw files.

    Warm-ups are not listed.
    """
    return [(job, key[2], key[3]) for job, key in _planned(resolved) if not _is_done(job, found.done.get(key))]


def _planned(resolved: ResolvedPlan) -> Iterator[tuple[Job, RepeatKey]]:
    for job in resolved.jobs:
        for point in job.points:
            for repeat in range(1, job.repeats + 1):
                yield job, (job.host, job.id, point.id, repeat)


def _measured_repeats(resolved: ResolvedPlan, found: RepeatSurvey) -> set[RepeatKey]:
    """Return the measured repeats of the plan's points, including repeats that measured a value again."""
    jobs = {(job.host, job.id, point.id): job for job in resolved.jobs for point in job.points}
    return {key for key, status in found.done.items() if (job := jobs.get(key[:3])) and _is_done(job, status)}


def _is_done(job: Job, status: Status | None) -> bool:
    return status is not None and status.status in accepted_statuses(strict=job.strict)


def check_plan(resolved: ResolvedPlan, stored: StoredRun) -> None:
    """Raise StoreError (E507) if `resolved` is not the run's plan."""
    if stored.run.plan_hash != resolved.hash:
        message = (
            f"{stored.layout.root}: the run has a different plan ({stored.run.plan_hash[:6]}, not {resolved.hash[:6]})"
        )
        hint = "`asct resume` uses the original plan; without `--resume`, the changed plan starts a new run"
        raise StoreError(Diagnostic("E507", message, hint=hint))


def reopen(resolved: ResolvedPlan, layout: RunLayout) -> tuple[RunWriter, StoredRun]:
    """Return the writer for the reopened run, whose reports are removed, and the run as it was.

    Raises StoreError if `resolved` is not the run's plan.
    """
    stored = read_run(layout.root)
    check_plan(resolved, stored)
    begun: dict[str, Any] = {"status": "running", "exit_code": None, "ended_at": None, "verdicts": [], "sealed": False}
    return RunWriter.reopen(layout, stored.run.model_copy(update=begun)), stored


def keep_results(resolved: ResolvedPlan, stored: StoredRun, writer: RunWriter, services: Services) -> EarlierResults:
    """Record in run.json that the reopened run continues, and discard the repeats that will be measured again. Return
    the results that are kept."""
    writer.save()
    found = survey(stored, services.catalog)
    found.keep(_measured_repeats(resolved, found))
    for folder in found.changed:
        writer.disown_repeat(folder)
    if found.differs:
        writer.replace_records(found.text)
    exports = exports_of(resolved, found.records(), services)
    ends, sessions = _ends(stored)
    return EarlierResults(found.done, exports, ends, sessions, findings=found.findings)


def _ends(stored: StoredRun) -> tuple[Counter[RepeatKey], dict[str, str]]:
    """Return how many times each repeat ended according to the journal, and the token of each host's last session. A
    lost connection does not count as an end, because the host continues to measure the repeat, and the results will be
    used."""
    ends: Counter[RepeatKey] = Counter()
    sessions: dict[str, str] = {}
    for event in stored.journal():
        if event.get("t") == "point-ended" and event["status"] != "host-lost":
            ends[repeat_key(event)] += 1
        elif event.get("t") in ("host-opening", "host-ready"):  # old journals contain only the folder of the session
            name = event.get("session") or event.get("work", "").rpartition("/run-")[2]
            if _TOKEN.fullmatch(name):
                sessions[event["host"]] = name
    return ends, sessions


def exports_of(
    resolved: ResolvedPlan, records: Sequence[Record], services: Services
) -> dict[tuple[str, str], Mapping[str, Scalar]]:
    """Compute the results that other jobs need from the records of the planned repeats."""
    sources = {(job.host, job_id) for job in resolved.jobs for job_id in job.needs.values()}
    needed = {job.key: job.repeats for job in resolved.jobs if (job.host, job.id) in sources}
    planned = (one for one in records if one.repeat <= needed.get(f"{one.host}/{one.id}", 0))
    by_repeat = grouped(planned, lambda one: (one.host, one.id, one.point_id, one.repeat))
    found: dict[tuple[str, str], dict[str, list[Mapping[str, Scalar]]]] = {}
    for (host, job_id, point_id, _), own in by_repeat.items():
        benchmark = services.catalog.get(own[0].benchmark)
        if benchmark is not None:
            exported = benchmark.export(measurements_of(own))
            found.setdefault((host, job_id), {}).setdefault(point_id, []).append(exported)
    return {key: shared_results(points.values()) for key, points in found.items()}
