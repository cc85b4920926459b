"""Read fio results that were not measured by asct (`asct import fio`), using the same parser and metrics as the
benchmarks.

A file contains the output of one or more fio runs in the format of `--output-format=json` or `json+`: one document per
run, or several with `--status-interval`. asct knows only what the file contains, such as the job options as written.
The machine, the target and its drive remain unknown.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from asct.instruments.fio.counters import Coverage, MeasuredWindow
from asct.instruments.fio.depth import rounds
from asct.instruments.fio.document import Document, JsonPart, document_of, in_ramp, parts_of, seconds_of
from asct.instruments.fio.measure import BY_SECTION, course_flags, run_values, section_values
from asct.instruments.fio.metrics import CONTEXT, DIRECTIONS, STAGE
from asct.instruments.fio.params import SYNCHRONOUS, FioParams
from asct.instruments.fio.point import FioPoint, results_of
from asct.instruments.fio.sections import fio_value, setting_of
from asct.instruments.fio.verdict import brief_flags, has_faulty, is_shallow, judged, little_holds, submission_blocks
from asct.instruments.guard_output import GuardOutput
from asct.sdk.record import Measurement, Scalar
from asct.values.grouping import grouped, split

_MAJOR: Final = 3
"""The major version of fio whose output asct reads. fio 2 reports latencies in microseconds."""
_VERSION: Final = re.compile(r"fio-(\d+)\.\d+.*")
_TERSE: Final = re.compile(r"^\d+;fio-", re.MULTILINE)
_JSON: Final = "measure with `--output-format=json+` (or `json`)"
_SLACK_MS: Final = 1000
"""Longest time, in milliseconds, without a running job between two reports of the same run, for example at the end of
the run."""
_DEFAULTS: Final[Mapping[str, Scalar]] = {
    "rw": "read", "block_size": 4096, "iodepth": 1, "numjobs": 1, "engine": "psync", "direct": False, "rwmixread": 50,
    "offset": 0, "ramp_time": 0.0,
}  # fmt: skip
"""The values that fio uses on Linux for unset options (see fio's HOWTO)."""
_SYNCHRONOUS: Final = SYNCHRONOUS | {"pvsync", "vsync"}
_ASYNCHRONOUS: Final = frozenset({"io_uring", "libaio", "posixaio"})
_VARIES_DEPTH: Final = frozenset({
    "fdatasync", "flow", "fsync", "io_submit_mode", "iodepth_batch", "iodepth_batch_complete_max",
    "iodepth_batch_complete_min", "iodepth_low", "latency_target", "rate", "rate_iops", "rate_iops_min", "rate_min",
    "sync", "thinktime", "verify",
})  # fmt: skip
"""Settings and options that prevent fio from maintaining the queue depth."""
_COSMETIC: Final = re.compile(r"name|description|group_reporting|new_group|write_.*_log|log_.*|per_job_logs")
"""Options that change neither the load nor its target."""
_BUSY: Final = 0.9
_CLOCK_SLACK_S: Final = 1.0
_LATEST_S: Final = 4102444800.0
"""2100-01-01 in seconds since the epoch."""
_NOTHING: Final = GuardOutput((), (), (), (), None, "", 0, 0)


class FormatError(ValueError):
    """Raised for a file that is not a fio 3 result. `hint` says how to fix the problem; `line` is 0 if the location is
    unknown."""

    def __init__(self, message: str, hint: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.hint = hint
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class FioResult:
    """One fio run. `text` is the run's part of the file, and `ended_s` is the wall-clock time of its last report.

    `settings` maps asct settings, and fio options that have no corresponding setting, to their values. If a value
    differs between sections, it is given as `by section`. Runs with the same `identity` have the same options.
    `problem` is the reason why fio failed; in that case, there are no values.
    """

    text: str
    version: str
    ended_s: float
    seconds: float
    jobs: str
    settings: Mapping[str, Scalar]
    identity: str
    measurements: tuple[Measurement, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Job:
    """One entry of `jobs`: its options, and the number of processes that it combines (`group_reporting`).

    `whole` is false if the entry also combines processes from other sections, whose options fio does not report.
    """

    name: str
    group: int
    processes: int
    options: Mapping[str, Scalar]
    whole: bool

    def setting(self, name: str) -> Scalar | None:
        """Return the value of a setting or, if it was not set, fio's default. Return None if the value is unknown."""
        return self.options.get(name, _DEFAULTS.get(name)) if self.whole else None

    @property
    def depth(self) -> int:
        """The number of requests that one process keeps in flight."""
        depth = self.setting("iodepth")
        return depth if isinstance(depth, int) and self.setting("engine") not in _SYNCHRONOUS else 1

    @property
    def keeps_depth(self) -> bool:
        """Whether the depth is known and every completed request is immediately replaced."""
        known = self.setting("engine") in _SYNCHRONOUS | _ASYNCHRONOUS
        return self.whole and known and _VARIES_DEPTH.isdisjoint(self.options)


def results_in(text: str) -> list[FioResult]:
    """Return the fio runs in a file, in order. Raises FormatError unless the file is complete fio 3 JSON output."""
    try:
        parts, _ = parts_of(text)
    except ValueError as error:
        raise _damaged(text, error) from error
    if not parts:
        raise _no_json(text)
    for part in parts:
        _check_kind(part, text)
    try:
        runs = split(parts, lambda run, part: _continues(run[-1].content, part.content))
        return [_plausible(_result(run, text)) for run in runs]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"the JSON is not complete fio 3 output ({type(error).__name__}: {error})",
            "import fio's unmodified output file",
        ) from error


def _damaged(text: str, error: ValueError) -> FormatError:
    cause = error.__cause__
    if not isinstance(cause, json.JSONDecodeError):
        return FormatError(str(error), "import fio's unmodified output file")
    cut = cause.pos >= len(text.rstrip()) or "Unterminated" in cause.msg
    what = "the JSON document is truncated" if cut else f"the JSON is damaged: {cause.msg}"
    hint = "fio was killed or the copy was cut short; import a complete file" if cut else "import an unmodified copy"
    return FormatError(what, hint, cause.lineno, cause.colno)


def _no_json(text: str) -> FormatError:
    if not text.strip():
        return FormatError("the file is empty", f"fio may have failed; {_JSON}")
    if _TERSE.search(text):
        return FormatError("this is fio's terse output, which contains no histograms", _JSON)
    if re.search(r"^(fio-\d|\S+: \(g=\d+\): rw=)", text, re.MULTILINE):
        return FormatError("this is fio's normal output, not its JSON output", _JSON)
    return FormatError("the file contains no JSON document that begins at the start of a line", _JSON)


def _check_kind(part: JsonPart, text: str) -> None:
    """Raise FormatError unless a JSON document is a fio 3 result."""
    body, line = part.content, text.count("\n", 0, part.start) + 1
    if not isinstance(body, dict) or "fio version" not in body:
        raise FormatError("this JSON is not a fio result: it has no `fio version`", _JSON, line, 1)
    version = str(body["fio version"])
    known = _VERSION.fullmatch(version)
    if known and int(known[1]) < _MAJOR:
        why = f"{version} reports latencies in microseconds and without distributions"
        raise FormatError(why, "measure again with fio 3.0 or newer", line, 1)
    if not known or int(known[1]) > _MAJOR:
        hint = "asct reads results from fio 3.0 to 3.x; use a newer version of asct"
        raise FormatError(f"fio version `{version[:40]}` is unknown to asct", hint, line, 1)
    if "client_stats" in body and "jobs" not in body:
        hint = "run fio on each server without --client, and import each result with its own --host"
        raise FormatError("this result combines several servers (`client_stats`)", hint, line, 1)
    if not isinstance(body.get("jobs"), list) or not body["jobs"]:
        raise FormatError("this fio result contains no jobs", "fio failed before it started a job", line, 1)


def _plausible(result: FioResult) -> FioResult:
    """Return the result unchanged if its times and values are possible, otherwise raise ValueError."""
    if not 0.0 <= result.ended_s - result.seconds <= result.ended_s <= _LATEST_S:
        raise ValueError("its times are impossible")
    if not all(math.isfinite(one.value) for one in result.measurements):
        raise ValueError("it contains numbers that are too large")
    return result


# A file may contain several reports because of fio's `--status-interval`, or because a shell appended several runs
# (`>>`). Reports of the same run have the same jobs and increasing counters, and the jobs ran for almost all of the
# time between them.


def _continues(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if _outline(before) != _outline(after):
        return False
    gap_ms = _stamp_ms(after) - _stamp_ms(before)
    pairs = [*zip(before["jobs"], after["jobs"], strict=True)]
    waiting = not any(job["error"] or _ios(job) for job, _ in pairs)
    if waiting or any(
        in_ramp(job) and not in_ramp(later) for job, later in pairs
    ):  # fio resets counters after the ramp
        return gap_ms >= 0
    rose = all(later[name]["total_ios"] >= job[name]["total_ios"] for job, later in pairs for name in DIRECTIONS)
    ran_ms = sum(max(0, _longest_ms(later) - _longest_ms(job)) for job, later in pairs)
    return rose and 0 <= gap_ms <= ran_ms + _ramps_ms(after) + _SLACK_MS


def _ios(entry: Mapping[str, Any]) -> int:
    return sum(int(entry[name]["total_ios"]) for name in DIRECTIONS)


def _ramps_ms(content: Mapping[str, Any]) -> float:
    """Return the total time of all ramps, during which fio's run times do not increase. A ramp in an unknown unit
    counts as 0."""
    shared = content.get("global options", {})
    ramps = {
        job.get("groupid"): _value("ramp_time", "ramp_time", str({**shared, **job.get("job options", {})}["ramp_time"]))
        for job in content["jobs"]
        if "ramp_time" in {**shared, **job.get("job options", {})}
    }
    return 1000.0 * sum(ramp for ramp in ramps.values() if isinstance(ramp, float))


def _outline(content: Mapping[str, Any]) -> object:
    jobs = [(job["jobname"], job.get("groupid"), job.get("job options")) for job in content["jobs"]]
    return content["fio version"], content.get("global options"), jobs


def _stamp_ms(content: Mapping[str, Any]) -> float:
    return float(content["timestamp_ms"] if "timestamp_ms" in content else content["timestamp"] * 1000)


# ---- one run ----


def _result(run: Sequence[JsonPart], text: str) -> FioResult:
    last = run[-1].content
    shared = last.get("global options", {})
    jobs = [_job(entry, shared, last["jobs"]) for entry in last["jobs"]]
    groups = grouped(range(len(jobs)), lambda index: jobs[index].group)
    documents = [_document(run, chosen, jobs) for chosen in groups.values()]
    found = FioResult(
        text=text[run[0].start : run[-1].end] + "\n",
        version=str(last["fio version"]),
        ended_s=_stamp_ms(last) / 1000.0,
        seconds=sum(max(job.runtime_ms for job in document.jobs) for document in documents) / 1000.0,
        jobs="+".join(dict.fromkeys(job.name for job in jobs)),
        settings=_common(jobs),
        identity=_identity(jobs),
        problem=_problem(documents),
    )
    if found.problem:
        return found
    names = _stage_names([[jobs[index].name for index in chosen] for chosen in groups.values()])
    several = len(documents) > 1
    values: list[Measurement] = []
    for name, document, chosen in zip(names, documents, groups.values(), strict=True):
        own = _values(document, [jobs[index] for index in chosen], several=several)
        values += [replace(one, coords={STAGE: name, **one.coords}) for one in own] if several else own
    return replace(found, measurements=tuple(values))


def _job(entry: Mapping[str, Any], shared: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> _Job:
    options = {**shared, **entry.get("job options", {})}
    settings = _settings(options)
    numjobs = settings.get("numjobs", 1)
    numjobs = numjobs if isinstance(numjobs, int) else 1
    twins = [one for one in entries if (one["jobname"], one.get("groupid")) == (entry["jobname"], entry.get("groupid"))]
    processes = _processes(entry) if "job_runtime" in entry else numjobs
    if "verify" in settings or len(twins) > 1:  # verification time would look like additional processes
        processes = 1 if len(twins) > 1 else numjobs
    return _Job(str(entry["jobname"]), int(entry.get("groupid", 0)), processes, settings, processes in (1, numjobs))


def _processes(entry: Mapping[str, Any]) -> int:
    """Return the number of processes that an entry combines. The `job_runtime` of an entry is the sum of their run
    times, whereas the `runtime` of a direction, by which fio divides the number of requests, is not a sum."""
    longest = _longest_ms(entry)
    return max(1, round(entry["job_runtime"] / longest)) if longest else 1


def _longest_ms(entry: Mapping[str, Any]) -> int:
    return max(int(entry[name]["runtime"]) for name in DIRECTIONS)


def _settings(options: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the options, converted to asct settings and their notation where possible."""
    found: dict[str, Scalar] = {}
    for key, text in options.items():
        setting = setting_of(key)
        if _COSMETIC.fullmatch(key):
            continue
        found[setting or key] = _value(key, setting, str(text)) if setting else str(text)
    return {name: value for name, value in found.items() if value != _DEFAULTS.get(name)}


def _value(key: str, setting: str, text: str) -> Scalar:
    with suppress(ValueError):
        value = getattr(FioParams.model_validate({setting: fio_value(key, setting, text or "1")}), setting)
        if isinstance(value, str | int | float | bool):
            return value
        if isinstance(value, tuple):
            return ",".join(map(str, value))
    number = fio_value(key, setting, text)
    return number if isinstance(number, int) else int(text) if text.isdecimal() else text


def _common(jobs: Sequence[_Job]) -> dict[str, Scalar]:
    names = dict.fromkeys([*CONTEXT, *_DEFAULTS, *(name for job in jobs for name in job.options)])
    found: dict[str, Scalar] = {}
    for name in names:
        values = {job.setting(name) for job in jobs}
        value = values.pop() if len(values) == 1 else BY_SECTION
        if value is not None:
            found[name] = value
    if found.get("rw") not in ("rw", "randrw", BY_SECTION):
        found.pop("rwmixread", None)
    return found


def _identity(jobs: Sequence[_Job]) -> str:
    """Return a string that is the same for all results from the same jobs, whether fio reports their processes together
    or separately."""
    return "\n".join(dict.fromkeys(json.dumps([job.name, job.group, job.options], sort_keys=True) for job in jobs))


def _stage_names(groups: Sequence[Sequence[str]]) -> list[str]:
    found: list[str] = []
    for names in groups:
        name = "+".join(dict.fromkeys(names))
        found.append(name if name not in found else f"{name}#{len(found) + 1}")
    return found


def _document(run: Sequence[JsonPart], chosen: Sequence[int], jobs: Sequence[_Job]) -> Document:
    """Return the document of one group of jobs that ran at the same time, omitting the reports written before the group
    started."""
    reports = []
    for part in run:
        own = [_entry(part.content["jobs"][index], jobs[index].processes) for index in chosen]
        if part is run[-1] or any(map(_ios, own)):
            reports.append({**part.content, "jobs": own})
    return document_of(reports)


def _entry(entry: Mapping[str, Any], processes: int) -> Mapping[str, Any]:
    """Return the entry with the run time of one process instead of the sum over its processes. The CPU share is also
    relative to the run time of one process.

    Early versions of fio 3 report only the run time of each direction.
    """
    cpu = {name: entry[name] * processes for name in ("usr_cpu", "sys_cpu")}
    runtime_ms = entry["job_runtime"] // processes if "job_runtime" in entry else _longest_ms(entry)
    return {**entry, "job_runtime": runtime_ms, **cpu}


def _problem(documents: Sequence[Document]) -> str:
    failed = next((job for document in documents for job in document.jobs if job.error), None)
    if failed is not None:
        return f"the fio job `{failed.name}` failed: {os.strerror(failed.error)} (error {failed.error})"
    if not all(any(job.directions for job in document.jobs) for document in documents):
        return "fio issued no requests"
    lasted = all(part.runtime_ms for one in documents for job in one.jobs for part in job.directions.values())
    return "".join(map(_impossible_latency, documents)) if lasted else "fio reports a run time of 0"


def _impossible_latency(document: Document) -> str:
    longest_s = max(job.runtime_ms for job in document.jobs) / 1000.0
    slowest_s = max(part.lat.max_ns for job in document.jobs for part in job.directions.values()) * 1e-9
    if slowest_s <= longest_s + _CLOCK_SLACK_S:
        return ""
    return f"fio reports a latency of {slowest_s:.3f} s in a run of {longest_s:.3f} s, so its clock was unreliable"


# ---- the values of a group ----


def _values(document: Document, jobs: Sequence[_Job], *, several: bool) -> Iterator[Measurement]:
    seconds = seconds_of(document.reports)
    point = FioPoint(
        sides=results_of(document, seconds),
        flags=_flags(document, jobs),
        guard=_NOTHING,
        document=document,
        seconds=seconds,
        window=MeasuredWindow(0.0, 0.0, None),
        cpu=None,
        coverage=Coverage(None),
    )
    unseen = ("imported", *(() if len(seconds) > 1 else ("no-progress",)))
    point = replace(point, flags=(*point.flags, *course_flags(point), *unseen))
    found = [*run_values(point)]
    if several and not any(one.metric.startswith("section_") for one in found):
        found += section_values(point)
    timed = _is_timed(document)
    yield from (one for one in found if timed or one.metric != "in_flight")
    if all(job.whole for job in jobs):
        yield Measurement("queue_depth", float(_depth(jobs)), _context(jobs))


def _flags(document: Document, jobs: Sequence[_Job]) -> tuple[str, ...]:
    """Return the flags that can be determined from the result and the options alone."""
    keeps_depth = all(job.keeps_depth for job in jobs) and _is_timed(document)
    depths = [(job.depth, str(job.setting("engine"))) for job in jobs if job.whole]
    version = document.version.removeprefix("fio-")
    busy = [one.cpu_s * 1000.0 / max(one.runtime_ms, 1) / job.processes
            for one, job in zip(document.jobs, jobs, strict=True)]  # fmt: skip
    found = {
        "littles-law": keeps_depth and not little_holds(document, _depth(jobs)),
        "depth-not-honoured": any(
            job.setting("engine") in _SYNCHRONOUS and job.setting("iodepth") != 1 for job in jobs if job.whole
        ),
        "depth-not-reached": keeps_depth and any(
            is_shallow(one, job.depth) for one, job in zip(document.jobs, jobs, strict=True) if job.depth > 1
        ),
        "depth-rounded": any(rounds(engine, depth, version) for depth, engine in depths),
        "submission-blocks": keeps_depth and submission_blocks(document, _depth(jobs)),
        "short-ios": has_faulty(document),
        "host-limited": max(busy) > _BUSY,
        "little-unchecked": not keeps_depth,
    }  # fmt: skip
    return judged((*(name for name, holds in found.items() if holds), *brief_flags(document)))


def _is_timed(document: Document) -> bool:
    """Return whether fio recorded total latencies, which `disable_lat` and `gtod_reduce` disable."""
    return all(part.lat.n for job in document.jobs for part in job.directions.values())


def _depth(jobs: Sequence[_Job]) -> int:
    return sum(job.depth * job.processes for job in jobs)


def _context(jobs: Sequence[_Job]) -> dict[str, Scalar]:
    found = {name: value for name, value in _common(jobs).items() if name in CONTEXT}
    return {**found, "numjobs": sum(job.processes for job in jobs)}
