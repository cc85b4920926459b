"""The result of a fio process that ran under guard, and plausibility checks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.counters import (
    Coverage,
    CpuLoad,
    MeasuredWindow,
    coverage_of,
    load_within,
    read_rows,
    window_of,
)
from asct.instruments.fio.document import Direction, Document, RunInterval, notes_of, read_document, seconds_of
from asct.instruments.fio.histogram import Latency, LatencyCourse, merged
from asct.instruments.fio.metrics import DIRECTIONS
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import CPU_FILE, PROGRAM_FILE, RESULT_FILE, cpu_interval_s, node_of
from asct.instruments.fio.sections import job_count, node_matters, sections_of, used_cpus
from asct.instruments.fio.verdict import CLOCK_STEP_S, point_flags
from asct.instruments.guard_output import GuardOutput, read_guard_output
from asct.sdk.facts import HostFacts
from asct.sdk.record import Stats
from asct.sdk.samples import rate_stats
from asct.sdk.step import Output
from asct.values.size import format_size
from asct.values.text import printable

_HINTS: Final[tuple[tuple[str, str], ...]] = (
    ("func=unlink", "the target is smaller than `filesize`; lower or remove `filesize`"),
    ("str_numa_memnodes_cb", "the host has no such NUMA node, or its fio lacks libnuma; remove `memory_node`"),
    ("only supports up to", "use CPUs that exist on the host, or set `cpus` to auto"),
    ("too large (max=", "use CPUs that exist on the host, or set `cpus` to auto"),
    ("cpu_set_affinity", "choose CPUs that the account is allowed to use, or set `cpus` to `auto`"),
    (
        "verify: bad",
        "the data that was read differs from the data that was written: the drive, its cable or the memory is faulty",
    ),
    ("does not support direct", "set `direct` to false, or use a file system that supports O_DIRECT"),
    ("does not support O_DIRECT", "set `direct` to false, or use a file system that supports O_DIRECT"),
    (
        "not loadable",
        "this fio was built without that engine; set `engine` to auto or to one that `fio --enghelp` lists",
    ),
    ("failed to load engine", "set `engine` to auto or to one that `fio --enghelp` lists"),
    ("file creation disallowed", "the target does not exist; create the file, or remove `file_names`"),
    ("blocksize is larger than", "the target is smaller than `block_size`; use a larger target, or lower `block_size`"),
    ("need to specify size", "the target does not exist or is empty; create and fill the file first"),
    ("refusing extend", "the target is smaller than `filesize`; lower or remove `filesize`"),
    ("No space left", "the file system is full; lower `filesize` or set a different `workdir`"),
    ("Operation not permitted", "permission denied for the target; give the account access to it"),
    ("Permission denied", "permission denied for the target; give the account access to it"),
    ("Is a directory", "set `file_names` to a file or a device"),
    ("io_setup", "the host limits asynchronous requests; lower `iodepth` or `numjobs`, or raise fs.aio-max-nr"),
    ("Resource temporarily unavailable", "lower `iodepth` or `numjobs`, or raise fs.aio-max-nr on the host"),
    ("Cannot allocate memory", "lower `iodepth`, `numjobs` or `block_size`, or raise the memlock limit for io_uring"),
    ("Text file busy", "the target is in use (as swap, or by a running program); use another target"),
    ("Device or resource busy", "the target is in use; use another target"),
    ("Input/output error", "the drive reported an error; check the Linux kernel log of the host"),
    ("Bad option", "this fio does not support the option; install fio 3.30 or newer"),
    ("Invalid argument", "if `direct` is set, `block_size` must be a multiple of the target's sector size"),
)
_MAX_LINE: Final = 300


def failure(status: int, texts: Sequence[str]) -> str:
    """Return an error message with a hint, based on fio's exit status and its output (`texts`, most reliable first)."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    how = f"fio was killed by signal {-status}" if status < 0 else "fio failed"
    how += f" with status {status}" if status > 0 else ""
    for needle, hint in _HINTS:
        line = next((line for line in lines if needle in line), None)
        if line is not None:
            return f"{how}: {printable(line, _MAX_LINE)}; {hint}"
    line = next((line for line in lines if "error=" in line or line.startswith("fio: ")), lines[0] if lines else "")
    return f"{how}: {printable(line, _MAX_LINE)}" if line else f"{how} without a message"


_ENOUGH_RATES: Final = 3
_SLACK_S: Final = 1.0
_INTERRUPTED: Final = 128
"""Exit status of fio after SIGINT. Even then, fio writes a complete document."""


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """The results for the reads, writes, trims or all requests of a point.

    `seconds` is the time of the longest job, as in fio's own group report; `bandwidth` is in B/s. The fields that end
    in `_stats` describe the intervals between fio's reports. `course` contains the completion latencies in each of
    these intervals; it is None if fio does not report them.
    """

    ios: int
    io_bytes: int
    seconds: float
    iops: float
    bandwidth: float
    slat: Latency | None
    clat: Latency | None
    lat: Latency | None
    iops_stats: Stats | None
    bandwidth_stats: Stats | None
    course: LatencyCourse | None


@dataclass(frozen=True, slots=True)
class FioPoint:
    """The result of a fio process. The keys of `sides` are "" (all requests) and each of `read`, `write` and `trim`
    that has requests.

    Flags that start with `invalid` mean that the values do not correspond to the settings.
    """

    sides: Mapping[str, DirectionResult]
    flags: tuple[str, ...]
    guard: GuardOutput
    document: Document
    seconds: tuple[RunInterval, ...]
    window: MeasuredWindow
    cpu: CpuLoad | None
    coverage: Coverage


def read_point(params: FioParams, output: Output, facts: HostFacts) -> FioPoint:
    """Parse the output from a step returned by `fio_step`.

    Raises ValueError with a hint if fio failed, issued no requests, left no readable document or reported impossible
    times.
    """
    guard = read_guard_output(output)
    document = _document(output, guard, job_count(params))
    _check_sizes(params, guard)
    _check_times(document, guard)
    try:
        seconds = seconds_of(document.reports)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a fio status report is not in json+ format: {error!r}") from None
    window = window_of(document, guard)
    cpu = _cpu_load(params, output.files.get(CPU_FILE, ""), guard, window, facts)
    coverage = coverage_of(params, document, guard, window)
    return FioPoint(
        sides=results_of(document, seconds),
        flags=point_flags(params, document, guard, coverage, cpu, facts),
        guard=guard,
        document=document,
        seconds=seconds,
        window=window,
        cpu=cpu,
        coverage=coverage,
    )


def _document(output: Output, guard: GuardOutput, numjobs: int) -> Document:
    """Return the document of a successful run. Raises ValueError with a hint if the run failed."""
    text = output.files.get(RESULT_FILE, "")
    if guard.status is None:
        raise ValueError("fio was not run")
    if guard.status and not (guard.stopped and guard.status == _INTERRUPTED):
        stdout = output.files.get(PROGRAM_FILE, "")
        raise ValueError(failure(guard.status, (output.stderr, "\n".join(notes_of(text)), stdout)))
    if not text:
        raise ValueError(f"fio succeeded but wrote no {RESULT_FILE}; the disk of the host may be full")
    document = read_document(text)
    past_the_end = [note for note in document.notes if "refusing extend" in note]
    if past_the_end:  # with libaio and io_uring, fio continues and counts reads beyond the end as completed
        raise ValueError(failure(0, past_the_end))
    errors = [job.error for job in document.jobs if job.error]
    if errors:
        raise ValueError(f"a fio job failed: {os.strerror(errors[0])} (error {errors[0]}); see its stderr")
    if len(document.jobs) != numjobs:
        raise ValueError(f"only {len(document.jobs)} of {numjobs} fio jobs started; see fio's stderr")
    if not any(job.directions for job in document.jobs):
        raise ValueError("fio succeeded but issued no requests; the target may be smaller than the requested offsets")
    return document


def _check_sizes(params: FioParams, guard: GuardOutput) -> None:
    """Raise ValueError if a device is too small, which fio does not report."""
    share = max(1, len(guard.before))
    required = max(section.offset + (section.span_bytes or 0) // share for _, section in sections_of(params))
    for device in guard.before:
        size = device.scalar("bytes")
        if isinstance(size, int) and required > size:
            raise ValueError(
                f"the size of {device.path} is {format_size(size)}, but `filesize` and `offset` require "
                f"{format_size(required)}; lower or remove `filesize`"
            )


def _check_times(document: Document, guard: GuardOutput) -> None:
    """Compare fio's times with guard's, whose clock cannot be set. Raises ValueError if they differ."""
    longest_s = max(job.runtime_ms for job in document.jobs) / 1000.0
    slowest_s = max(part.lat.max_ns for job in document.jobs for part in job.directions.values()) * 1e-9
    lasted_s = (guard.ended_ns - guard.started_ns) * 1e-9
    if longest_s <= 0:
        raise ValueError("fio reports a run time of 0; increase `duration`")
    for what, value in (("a run time", longest_s), ("a latency", slowest_s)):
        if value > lasted_s + _SLACK_S:
            raise ValueError(
                f"fio reports {what} of {value:.3f} s, but ran for {lasted_s:.3f} s: its clock is unreliable; "
                "check the clock source of the host, then measure again"
            )


def _sides(document: Document) -> dict[str, list[Direction]]:
    """Return the job results for each direction with requests, and the results for all directions together under ""."""
    sides: dict[str, list[Direction]] = {"": []}
    for name in DIRECTIONS:
        parts = [job.directions[name] for job in document.jobs if name in job.directions]
        sides[""] += parts
        sides |= {name: parts} if parts else {}
    return sides


def _cpu_load(
    params: FioParams, text: str, guard: GuardOutput, window: MeasuredWindow, facts: HostFacts
) -> CpuLoad | None:
    """Return the CPU load during the run, or None if mpstat's output is incomplete or the wall clock was set."""
    if not text.strip() or window.real_offset_ns is None:
        return None
    node = node_of(guard.drives) if node_matters(params, facts) else None
    try:
        rows = read_rows(text, used_cpus(params, facts, node))
    except ValueError:
        return None
    start, end = ((moment + window.real_offset_ns) * 1e-9 for moment in (window.start_ns, window.end_ns))
    return load_within(rows, start, end, cpu_interval_s(params))


def results_of(document: Document, seconds: Sequence[RunInterval]) -> dict[str, DirectionResult]:
    """Return the result for each direction, and the combined result under "".

    If there is only one direction, both results are the same.
    """
    sides = _sides(document)
    whole = _side("", sides[""], seconds)
    return {name: whole if len(sides) == 2 else _side(name, parts, seconds) for name, parts in sides.items()}


def _side(name: str, parts: Sequence[Direction], seconds: Sequence[RunInterval]) -> DirectionResult:
    lasted = max(part.runtime_ms for part in parts) / 1000.0
    if lasted <= 0:
        raise ValueError("fio reports a run time of 0; increase `duration`")
    ios, io_bytes = sum(part.ios for part in parts), sum(part.io_bytes for part in parts)
    # if the run ended during the last interval, this interval has few requests, and its rate is uncertain
    cut = len(seconds) > 1 and seconds[-1].seconds < 0.5 * max(one.seconds for one in seconds)
    whole = seconds[:-1] if cut else seconds
    clat = merged(part.clat for part in parts)
    return DirectionResult(
        ios=ios,
        io_bytes=io_bytes,
        seconds=lasted,
        iops=ios / lasted,
        bandwidth=io_bytes / lasted,
        slat=merged(part.slat for part in parts),
        clat=clat,
        lat=merged(part.lat for part in parts),
        iops_stats=_spread([one.sides[name].ios for one in whole], whole),
        bandwidth_stats=_spread([one.sides[name].io_bytes for one in whole], whole),
        course=None if clat is None else LatencyCourse(clat.quantiles, [one.sides[name].quantiles for one in seconds]),
    )


def _spread(amounts: Sequence[int], parts: Sequence[RunInterval]) -> Stats | None:
    if len(parts) < _ENOUGH_RATES:
        return None
    return rate_stats(amounts, [part.seconds for part in parts], CLOCK_STEP_S)
