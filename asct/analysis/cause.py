"""The cause that readers of a report should look at first if a run failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text, plain
from asct.analysis.provenance import text_at
from asct.analysis.verdict import measured_text
from asct.analysis.view import RunView
from asct.store.model import HostEntry, JobEntry, Verdict


@dataclass(frozen=True, slots=True)
class Cause:
    """What failed first: `place` names what failed, `text` says why it failed, and `hint` is the fix, if one is known.
    `id` identifies the benchmark entry; it is empty if the cause does not belong to an entry. `place` does not repeat a
    host that `text` begins with."""

    place: str
    text: str
    hint: str = ""
    id: str = ""


def first_cause(view: RunView) -> Cause | None:
    """Return the first cause of a nonzero exit code, or None if nothing failed. Causes are considered in the order in
    which the verdict lists problems."""
    return next(_causes(view), None)


def _causes(view: RunView) -> Iterator[Cause]:
    run = view.run
    blocking = [verdict for verdict in run.verdicts if is_blocking(verdict)]
    lacking = [job for job in run.jobs if job.note and job.lacking()]
    yield from (_of_job(view, job) for job in lacking if job.refused)
    yield from (_of_host(view, host) for host in run.hosts if host.status != "ok")
    yield from (_of_verdict(verdict) for verdict in blocking if verdict.outcome == "fail")
    yield from (_of_job(view, job) for job in lacking)
    yield from (_of_verdict(verdict) for verdict in blocking if verdict.outcome == "unknown")
    for item in run.findings if run.exit_code else ():
        if item.get("severity") == "error":
            yield Cause(*(text_at(item, key) for key in ("host", "message", "hint")))


def _of_job(view: RunView, job: JobEntry) -> Cause:
    """Return the recorded cause of a job's failure. The fix comes from the job's first failed repeat that has a
    diagnostic, or from the run's finding that reports the cause."""
    repeats = (item for one in view.jobs if one.entry == job for item in one.repeats if not item.measured)
    found = (item.status.diagnostic for item in repeats if item.status is not None and item.status.diagnostic)
    text = plain(job.note)
    place = job.id if _begins_with(job.host, text) else f"{job.id} on {job.host}"
    return Cause(plain(place), text, text_at(next(found, {}), "hint") or _fix(view, text), job.id)


def _of_host(view: RunView, host: HostEntry) -> Cause:
    text = plain(host.reason)
    return Cause("" if _begins_with(host.name, text) else plain(host.name), text, _fix(view, text))


def _begins_with(host: str, text: str) -> bool:
    """Return whether a cause begins with the host, as in `E301 n1 (192.0.2.7): connection refused`."""
    return re.match(rf"(E\d+ )?(host )?{re.escape(plain(host))}( \([^()]*\))?: ", text) is not None


def _fix(view: RunView, cause: str) -> str:
    """Return the fix that a finding of the run gives for this cause, or an empty string."""
    findings = ((text_at(item, "code"), text_at(item, "message"), text_at(item, "hint")) for item in view.run.findings)
    return next((hint for code, message, hint in findings if code and cause.startswith(f"{code} {message}")), "")


def _of_verdict(verdict: Verdict) -> Cause:
    at = f" at {coordinates_text(verdict.at)}" if verdict.at else ""
    host = f" on {verdict.host}" if verdict.host else ""
    reason = plain(verdict.reason)
    text = reason if verdict.value is None and reason else measured_text(verdict)
    return Cause(plain(f"{verdict.id}.{verdict.metric}{at}{host}"), text, id=verdict.id)
