"""The exit code of a run, from its document alone (contract, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asct.store.model import JobEntry, Verdict

OK, EXPECTATION, USAGE, NOT_MEASURED, REFUSED = 0, 1, 2, 3, 4
_MEASURED = ("ok", "noisy")


def exit_code(
    jobs: Iterable[JobEntry],
    verdicts: Iterable[Verdict],
    *,
    strict: Mapping[tuple[str, str], bool] | None = None,
    findings: bool = False,
    signal: int | None = None,
) -> int:
    """128 + signal when interrupted; else the highest of 0, 1, 3 and 4 that applies.

    `strict` maps (host, job id) to whether noisy repeats of that job count as not measured. `findings` says that
    something went wrong outside the jobs (the results tree could not be written).
    """
    if signal is not None:
        return 128 + signal
    codes = {OK}
    for job in jobs:
        codes.add(_of_job(job, bool(strict and strict.get((job.host, job.id)))))
    codes.update(_of_verdict(verdict) for verdict in verdicts)
    if findings:
        codes.add(NOT_MEASURED)
    return max(codes)


def _of_job(job: JobEntry, strict: bool) -> int:
    if job.refused:
        return REFUSED
    measured = _MEASURED[:1] if strict else _MEASURED
    missing = sum(number for status, number in job.counts.items() if status not in measured)
    complete = sum(job.counts.values()) >= job.points * job.repeats
    return NOT_MEASURED if missing or not complete else OK


def _of_verdict(verdict: Verdict) -> int:
    if verdict.outcome == "fail":
        return EXPECTATION if verdict.severity == "fail" else OK
    if verdict.outcome == "unknown":
        return NOT_MEASURED if verdict.if_missing == "fail" else OK
    return OK
