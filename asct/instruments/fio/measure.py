"""Converts the output of one fio run to measurements with their flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from asct.instruments.fio.counters import FIELDS, device_change, host_cpu_ns, program_cpu_ns
from asct.instruments.fio.devices import device_values
from asct.instruments.fio.document import RunInterval, merged_seconds
from asct.instruments.fio.histogram import NS, Latency, Quantiles, merged
from asct.instruments.fio.metrics import CONTEXT, DIRECTIONS, LATENCIES, PERCENTILES, percentiles_of
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import DirectionResult, FioPoint, read_point
from asct.instruments.fio.sections import chosen_engine, job_count, sections_of
from asct.instruments.fio.verdict import cpu_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar
from asct.sdk.step import Output

MOST_SECONDS: Final = 60
"""Intervals of a run that become records; more are joined."""
BY_SECTION: Final = "by section"
"""A setting in which the sections of a job file differ."""


def measure(params: FioParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
    """The values of one repeat.

    Raises ValueError with a hint if fio failed, did nothing, or left no readable document.
    """
    if not outputs:
        raise ValueError("fio was not run")
    point = read_point(params, outputs[-1], facts)
    found = [*point_values(point), *part_values(point), *second_values(point.seconds), *device_values(point.watch)]
    found.append(Measurement("queue_depth", float(point.evidence.depth), _context(params, facts)))
    return found


def _context(params: FioParams, facts: HostFacts) -> dict[str, Scalar]:
    """Settings that tables show next to the values: of a job file those that its sections share, and the number of all
    jobs."""
    sections = [section for _, section in sections_of(params)]
    given: dict[str, list[Scalar]] = {name: [getattr(one, name) for one in sections] for name in CONTEXT}
    given["engine"] = [chosen_engine(one, facts) for one in sections]
    given["numjobs"] = [job_count(params)]
    return {name: values[0] if len(set(values)) == 1 else BY_SECTION for name, values in given.items()}


def point_values(point: FioPoint) -> Iterator[Measurement]:
    """Everything that is one value of the whole point."""
    for name, side in point.sides.items():
        prefix = f"{name}_" if name else ""
        yield from _rates(prefix, side, point.flags)
        yield from _latencies(prefix, side, point.flags)
    yield from _cpu(point)
    yield Measurement("in_flight", point.evidence.in_flight, flags=point.flags)
    if point.evidence.coverage.ratio is not None:
        yield Measurement("coverage", point.evidence.coverage.ratio, flags=point.flags)


def _rates(prefix: str, side: DirectionResult, flags: tuple[str, ...]) -> Iterator[Measurement]:
    yield Measurement(f"{prefix}bandwidth", side.bandwidth, stats=side.bandwidth_stats, flags=flags)
    yield Measurement(f"{prefix}iops", side.iops, stats=side.iops_stats, flags=flags)
    missing = side.clat is None or side.clat.percentile_ns(max(PERCENTILES.values())) is None
    yield Measurement(f"{prefix}ios", float(side.ios), flags=("not-enough-ios",) if missing else ())


def _latencies(prefix: str, side: DirectionResult, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Every latency of the jobs as one population. A synchronous engine has no submission latency."""
    kinds: Mapping[str, Latency | None] = {"slat": side.slat, "clat": side.clat, "lat": side.lat}
    for kind in LATENCIES:
        latency = kinds[kind]
        if latency is None:
            continue
        stats = latency.stats()
        if kind == "clat":
            yield Measurement(f"{prefix}latency", latency.mean_ns * NS, stats=stats, flags=flags)
        yield Measurement(f"{prefix}{kind}_mean", latency.mean_ns * NS, stats=stats, flags=flags)
        yield Measurement(f"{prefix}{kind}_min", latency.min_ns * NS, flags=flags)
        yield Measurement(f"{prefix}{kind}_max", latency.max_ns * NS, flags=flags)
        yield Measurement(f"{prefix}{kind}_stddev", latency.stddev_ns * NS, flags=flags)
        for name, percent in percentiles_of(kind).items():
            value = latency.percentile_ns(percent)
            if value is not None:
                spread = latency.percentile_stats(percent)
                yield Measurement(f"{prefix}{kind}_{name}", value * NS, stats=spread, flags=flags)


def _cpu(point: FioPoint) -> Iterator[Measurement]:
    """mpstat's percentages, and the CPU time of a request by the kernel's own account, which counts every ns."""
    if point.cpu is not None:
        marks = cpu_flags(point.cpu)
        yield from (Measurement(f"cpu_{kind}", value, flags=marks) for kind, value in point.cpu.load.items())
        yield from (Measurement(f"used_cpu_{kind}", value, flags=marks) for kind, value in point.cpu.used.items())
    ios = point.sides[""].ios
    program = program_cpu_ns(point.watch, point.window)
    host = host_cpu_ns(point.watch, point.window)
    if program is not None and program > 0:
        yield Measurement("cpu_time_per_io", program * NS / ios, flags=point.flags)
        yield Measurement("iops_per_core", ios / (program * NS), flags=point.flags)
    if host is not None and host > 0:
        yield Measurement("host_cpu_time_per_io", host * NS / ios, flags=point.flags)


def second_values(seconds: Sequence[RunInterval]) -> Iterator[Measurement]:
    """The values of each interval of the run; a percentile only if enough requests are above it."""
    for one in merged_seconds(seconds, MOST_SECONDS):
        at: dict[str, Scalar] = {"second": round(one.start_s, 3)}
        part = one.sides[""]
        quantiles = Quantiles(part.bins)
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
    """The values of each section and target; none for a point with a single section and target."""
    if len({job.name for job in point.document.jobs}) > 1:
        yield from _sections(point)
    if len(point.watch.before) > 1:
        yield from _targets(point)


def _sections(point: FioPoint) -> Iterator[Measurement]:
    for name in dict.fromkeys(job.name for job in point.document.jobs):
        jobs = [job for job in point.document.jobs if job.name == name]
        for direction in DIRECTIONS:
            parts = [job.directions[direction] for job in jobs if direction in job.directions]
            seconds = max((part.runtime_ms for part in parts), default=0) / 1000.0
            if not seconds:
                continue
            at: dict[str, Scalar] = {"section": name, "direction": direction}
            yield Measurement("section_iops", sum(part.ios for part in parts) / seconds, at, flags=point.flags)
            yield Measurement(
                "section_bandwidth", sum(part.io_bytes for part in parts) / seconds, at, flags=point.flags
            )
            latency = merged(part.clat for part in parts)
            if latency is None:
                continue
            yield Measurement("section_latency", latency.mean_ns * NS, at, flags=point.flags)
            p99 = latency.percentile_ns(99.0)
            if p99 is not None:
                yield Measurement("section_clat_p99", p99 * NS, at, flags=point.flags)


def _targets(point: FioPoint) -> Iterator[Measurement]:
    window = point.window
    for index, device in enumerate(point.watch.before):
        for direction in (name for name in DIRECTIONS if name in point.sides):
            moved = device_change(point.watch.samples, FIELDS[direction], window.start_ns, window.end_ns, index)
            if moved is not None and window.seconds > 0:
                at: dict[str, Scalar] = {"path": device.path, "direction": direction}
                yield Measurement("target_bandwidth", moved / window.seconds, at, flags=point.flags)
