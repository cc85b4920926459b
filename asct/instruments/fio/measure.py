"""Convert the output from a fio run to measurements with flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.fio.counters import ENOUGH_ROWS, FIELDS, counter_change, device_change, device_course
from asct.instruments.fio.devices import device_values
from asct.instruments.fio.document import RunInterval, merged_seconds
from asct.instruments.fio.histogram import NS, Latency, merged, percentile_values
from asct.instruments.fio.metrics import CONTEXT, DIRECTIONS, LATENCIES, PERCENTILES, STAGE, percentiles_of
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import DirectionResult, FioPoint, read_point
from asct.instruments.fio.process import INSPECTION
from asct.instruments.fio.sections import Stage, chosen_engine, effective_depth, job_count, sections_of, stages_of
from asct.instruments.fio.verdict import CHANGED, in_flight, rate_changes
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar
from asct.sdk.step import Output

MOST_SECONDS: Final = 60
"""Maximum number of intervals per run that become records. If there are more, they are merged."""
_NEARLY_ALL: Final = 0.9
"""If completion takes at least this share of a request's total time, the completion time and the total time are assumed
to vary in the same way."""
BY_SECTION: Final = "by section"
"""Text shown for a setting that differs between the sections of a job file."""


def measure(params: FioParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
    """Return the values of one repeat. Raises ValueError with a hint in the same cases as `read_point`.

    If the job file has several stages, the `stage` coordinate of each value is the stage name.
    """
    stages = stages_of(params)
    runs = [output for output in outputs if output.step.name != INSPECTION]
    if not runs:
        raise ValueError("fio was not run")
    if len(runs) < len(stages):
        raise ValueError(f"only {len(runs)} of {len(stages)} stages were run")
    points = [_point(stage, output, facts) for stage, output in zip(stages, runs, strict=True)]
    last = points[-1].guard
    guard = replace(points[0].guard, after=last.after, members_after=last.members_after)
    if len(stages) == 1:
        return [*run_values(points[0]), *device_values(guard), _depth(params, facts)]
    parts = zip(stages, points, strict=True)
    return [
        *(one for stage, point in parts for one in _of_stage(stage, point, facts)), *device_values(guard),
    ]  # fmt: skip


def _point(stage: Stage, output: Output, facts: HostFacts) -> FioPoint:
    point = read_point(stage.params, output, facts)
    return replace(point, flags=(*point.flags, *course_flags(point)))


def run_values(point: FioPoint) -> Iterator[Measurement]:
    """Yield the values for a whole fio run, for each section and target, and for each interval."""
    yield from point_values(point)
    yield from part_values(point)
    yield from second_values(point.seconds)


def _depth(params: FioParams, facts: HostFacts) -> Measurement:
    return Measurement("queue_depth", float(effective_depth(params, facts)), _context(params, facts))


def _of_stage(stage: Stage, point: FioPoint, facts: HostFacts) -> Iterator[Measurement]:
    """Yield the values for one of several stages.

    Even if the stage has only one section, that section gets its own values, so that every section of the job file can
    be found by name.
    """
    found = [*run_values(point), _depth(stage.params, facts)]
    if not any(one.metric.startswith("section_") for one in found):
        found += section_values(point)
    yield from (replace(one, coords={STAGE: stage.name, **one.coords}) for one in found)


def course_flags(point: FioPoint) -> tuple[str, ...]:
    """Return the flags for a point whose rate changed during the run, which makes its mean depend on the start time."""
    return ("noisy", CHANGED) if rate_changes(_course(point)) else ()


def _course(point: FioPoint) -> list[tuple[float, float]]:
    """Return pairs of time and rate during the run, in chronological order.

    If fio reported only at its end, the rates come from the counters of the drives. Their unit is B/s, which makes no
    difference to changes. The counters are not used if other processes used the drives, too.
    """
    if len(point.seconds) > 1:
        return [(one.start_s, one.sides[""].ios / one.seconds) for one in merged_seconds(point.seconds, MOST_SECONDS)]
    if point.coverage.why == "foreign":
        return []
    fields = [field for name in point.sides if name for field in FIELDS[name]]
    parts = max(1, int(min(MOST_SECONDS, point.window.seconds)))
    return device_course(point.guard.samples, fields, point.window, parts)


def _context(params: FioParams, facts: HostFacts) -> dict[str, Scalar]:
    """Return the settings that tables show next to the values."""
    sections = [section for _, section in sections_of(params)]
    settings: dict[str, list[Scalar]] = {name: [getattr(one, name) for one in sections] for name in CONTEXT}
    settings["engine"] = [chosen_engine(one, facts) for one in sections]
    settings["numjobs"] = [job_count(params)]
    return {name: values[0] if len(set(values)) == 1 else BY_SECTION for name, values in settings.items()}


def point_values(point: FioPoint) -> Iterator[Measurement]:
    """Yield the rates, latencies, CPU times and other values for the whole point."""
    for name, side in point.sides.items():
        prefix = f"{name}_" if name else ""
        yield from _rates(prefix, side, point.flags)
        yield from _latencies(prefix, side, point.flags)
    yield from _cpu(point)
    yield Measurement("in_flight", in_flight(point.document), flags=point.flags)
    if point.coverage.ratio is not None:
        yield Measurement("coverage", point.coverage.ratio, flags=point.flags)


def _rates(prefix: str, side: DirectionResult, flags: tuple[str, ...]) -> Iterator[Measurement]:
    yield Measurement(f"{prefix}bandwidth", side.bandwidth, stats=side.bandwidth_stats, flags=flags)
    yield Measurement(f"{prefix}iops", side.iops, stats=side.iops_stats, flags=flags)
    missing = side.clat is None or side.clat.percentile_ns(max(PERCENTILES.values())) is None
    yield Measurement(f"{prefix}ios", float(side.ios), flags=("not-enough-ios",) if missing else ())


def _latencies(prefix: str, side: DirectionResult, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the latencies of all jobs as one population. A synchronous engine has no submission latency.

    For each part of the run, only completion times are available. The time from call to completion is assumed to vary
    in the same way if it consists almost entirely of completion time; otherwise, like the submission time, it has no
    interval.
    """
    for kind in LATENCIES:
        latency: Latency | None = getattr(side, kind)
        if latency is None:
            continue
        start = f"{prefix}{kind}_"
        mostly_clat = kind != "slat" and side.clat is not None and side.clat.mean_ns >= _NEARLY_ALL * latency.mean_ns
        course = side.course if mostly_clat else None
        mean = latency.mean_stats(course)
        if kind == "clat":
            yield Measurement(f"{prefix}latency", latency.mean_ns * NS, stats=mean, flags=flags)
        yield Measurement(f"{start}mean", latency.mean_ns * NS, stats=mean, flags=flags)
        for name in ("min", "max", "stddev"):
            yield Measurement(f"{start}{name}", getattr(latency, f"{name}_ns") * NS, flags=flags)
        yield from percentile_values(latency, percentiles_of(kind), start, flags=flags, course=course)


def _cpu(point: FioPoint) -> Iterator[Measurement]:
    """Yield mpstat's percentages, and the CPU time per request, which the Linux kernel counts in ns."""
    if point.cpu is not None:
        flags = ("few-cpu-samples",) if point.cpu.rows < ENOUGH_ROWS else ()
        yield from (Measurement(f"cpu_{kind}", value, flags=flags) for kind, value in point.cpu.load.items())
        yield from (Measurement(f"used_cpu_{kind}", value, flags=flags) for kind, value in point.cpu.used.items())
    ios, window = point.sides[""].ios, point.window
    for prefix, counter in (("", "program_cpu_ns"), ("host_", "host_cpu_ns")):
        series = [(sample.mono_ns, getattr(sample, counter)) for sample in point.guard.samples]
        used = counter_change(series, window.start_ns, window.end_ns)
        if used is not None and used > 0:
            yield Measurement(f"{prefix}cpu_time_per_io", used * NS / ios, flags=point.flags)
            if not prefix:
                yield Measurement("iops_per_core", ios / (used * NS), flags=point.flags)


def second_values(seconds: Sequence[RunInterval]) -> Iterator[Measurement]:
    """Yield the values for each interval of the run. A percentile is included only if enough requests are above it."""
    for one in merged_seconds(seconds, MOST_SECONDS):
        at: dict[str, Scalar] = {"second": round(one.start_s, 3)}
        part = one.sides[""]
        quantiles = part.quantiles
        yield Measurement("second_iops", part.ios / one.seconds, at, detail=True)
        yield Measurement("second_bandwidth", part.io_bytes / one.seconds, at, detail=True)
        for name, percent in (("p50", 50.0), ("p99", 99.0)):
            value = quantiles.percentile(percent)
            if value is not None:
                yield Measurement(f"second_clat_{name}", value * NS, at, detail=True)
        for octave, number in quantiles.octaves().items():
            share = 100.0 * number / quantiles.n
            yield Measurement("second_share", share, at | {"latency": 2**octave * NS}, detail=True)


def part_values(point: FioPoint) -> Iterator[Measurement]:
    """Yield the values for each section and target. A point with a single section and a single target has no such
    values."""
    if len({job.name for job in point.document.jobs}) > 1:
        yield from section_values(point)
    if len(point.guard.before) > 1:
        yield from _targets(point)


def section_values(point: FioPoint) -> Iterator[Measurement]:
    """Yield the rate, bandwidth and completion latency of each section in each direction."""
    for name in dict.fromkeys(job.name for job in point.document.jobs):
        jobs = [job for job in point.document.jobs if job.name == name]
        for direction in DIRECTIONS:
            parts = [job.directions[direction] for job in jobs if direction in job.directions]
            seconds = max((part.runtime_ms for part in parts), default=0) / 1000.0
            if not seconds:
                continue
            latency = merged(part.clat for part in parts)
            p99 = latency.percentile_ns(99.0) if latency else None
            values = {
                "iops": sum(part.ios for part in parts) / seconds,
                "bandwidth": sum(part.io_bytes for part in parts) / seconds,
                "latency": latency.mean_ns * NS if latency else None,
                "clat_p99": None if p99 is None else p99 * NS,
            }
            at: dict[str, Scalar] = {"section": name, "direction": direction}
            for metric, value in values.items():
                if value is not None:
                    yield Measurement(f"section_{metric}", value, at, flags=point.flags)


def _targets(point: FioPoint) -> Iterator[Measurement]:
    window = point.window
    for index, device in enumerate(point.guard.before):
        for direction in (name for name in DIRECTIONS if name in point.sides):
            moved = device_change(point.guard.samples, FIELDS[direction], window.start_ns, window.end_ns, index)
            if moved is not None and window.seconds > 0:
                at: dict[str, Scalar] = {"path": device.path, "direction": direction}
                yield Measurement("target_bandwidth", moved / window.seconds, at, flags=point.flags)
