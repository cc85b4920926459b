"""From the texts of one fio run to measurements, each with what speaks against it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from asct.sdk.facts import HostFacts
from asct.sdk.fio.cpu_load import CpuLoad, load_within, read_rows
from asct.sdk.fio.document import DIRECTIONS, Direction, Document, read_document, split_notes
from asct.sdk.fio.engines import chosen_engine, effective_depth
from asct.sdk.fio.failure import failure
from asct.sdk.fio.histogram import NS, Latency, merged
from asct.sdk.fio.metrics import CONTEXT, LATENCIES, PERCENTILES
from asct.sdk.fio.params import FioParams
from asct.sdk.fio.process import CPU_FILE, LOG_FILE, RESULT_FILE, cpu_interval_s, log_interval_ms
from asct.sdk.fio.rate_log import read_rates
from asct.sdk.fio.verdict import cpu_flags, in_flight, point_flags
from asct.sdk.record import Measurement, Scalar, Stats
from asct.sdk.samples import stats_of
from asct.sdk.step import Output

_ENOUGH_RATES: Final = 3


def measure(params: FioParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
    """The values of one repeat.

    Raises ValueError, with the way out, when fio failed, did nothing, or left no readable document.
    """
    if not outputs:
        raise ValueError("fio was not run")
    output = outputs[-1]
    document = _document(output, params.numjobs)
    cpu = _cpu_load(params, output, document)
    flags = point_flags(params, document, facts, cpu)
    found = list(_rates(params, output, document, flags))
    for prefix, directions in _sides(document):
        found += _latencies(prefix, directions, flags)
    if cpu is not None:
        marks = cpu_flags(cpu)
        found += [Measurement(f"cpu_{kind}", value, flags=marks) for kind, value in cpu.load.items()]
    engine = chosen_engine(params, facts)
    context: dict[str, Scalar] = {name: getattr(params, name) for name in CONTEXT} | {"engine": engine}
    found.append(Measurement("in_flight", in_flight(document), flags=flags))
    found.append(Measurement("queue_depth", float(effective_depth(params, engine)), context))
    return found


def _document(output: Output, numjobs: int) -> Document:
    """The document of a run that did what it should."""
    text = output.files.get(RESULT_FILE, "")
    if output.status != 0:
        notes = "\n".join(split_notes(text)[0])
        raise ValueError(failure(output.status, (output.stderr, notes, output.stdout)))
    if not text:
        raise ValueError(f"fio ended well but left no {RESULT_FILE}; the disk of the host may be full")
    document = read_document(text)
    past_the_end = [note for note in document.notes if "refusing extend" in note]
    if past_the_end:  # with libaio and io_uring fio goes on and counts reads past the end as work done
        raise ValueError(failure(0, past_the_end))
    errors = [job.error for job in document.jobs if job.error]
    if errors:
        raise ValueError(f"a job of fio failed: {os.strerror(errors[0])} (error {errors[0]}); see its stderr")
    if len(document.jobs) != numjobs:
        raise ValueError(
            f"fio reports {len(document.jobs)} of {numjobs} jobs; the others did not start, see its stderr"
        )
    if sum(part.ios for job in document.jobs for part in job.directions.values()) == 0:
        raise ValueError(
            "fio ended well but did no request at all; the target may be shorter than the offsets asked for"
        )
    return document


def _sides(document: Document) -> Iterator[tuple[str, Sequence[Direction]]]:
    """The prefix of a metric and the parts it stands on: both directions, then each one that did anything."""
    used = {name: [job.directions[name] for job in document.jobs if job.directions[name].ios] for name in DIRECTIONS}
    yield "", [part for parts in used.values() for part in parts]
    for name, parts in used.items():
        if parts:
            yield f"{name}_", parts


def _rates(params: FioParams, output: Output, document: Document, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Bandwidth, rate and number of requests. The time is that of the longest job, as in fio's own group report."""
    series = read_rates(output.files.get(LOG_FILE, ""), log_interval_ms(params), params.numjobs)
    for prefix, parts in _sides(document):
        seconds = max(part.runtime_ms for part in parts) / 1000.0
        if seconds <= 0:
            raise ValueError("fio measured no time; raise duration")
        ios = sum(part.ios for part in parts)
        spread = series.get(prefix.rstrip("_"), ())
        yield Measurement(
            f"{prefix}bandwidth",
            sum(part.io_bytes for part in parts) / seconds,
            stats=_stats(spread, float(params.block_size)),
            flags=flags,
        )
        yield Measurement(f"{prefix}iops", ios / seconds, stats=_stats(spread, 1.0), flags=flags)
        yield Measurement(f"{prefix}ios", float(ios), flags=_percentile_flags(parts))


def _stats(series: Sequence[float], factor: float) -> Stats | None:
    """The spread over the intervals of the rate log."""
    if len(series) < _ENOUGH_RATES:
        return None
    return stats_of(series).scaled(factor)


def _percentile_flags(parts: Sequence[Direction]) -> tuple[str, ...]:
    whole = merged(part.clat for part in parts)
    missing = whole is None or any(whole.percentile_ns(percent) is None for percent in PERCENTILES.values())
    return ("not-enough-ios",) if missing else ()


def _latencies(prefix: str, parts: Sequence[Direction], flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Every latency of the jobs as one population. A synchronous engine has no submission latency."""
    kinds: Mapping[str, Latency | None] = {
        "slat": merged(part.slat for part in parts),
        "clat": merged(part.clat for part in parts),
        "lat": merged(part.lat for part in parts),
    }
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
        for name, percent in PERCENTILES.items():
            value = latency.percentile_ns(percent)
            if value is not None:
                yield Measurement(f"{prefix}{kind}_{name}", value * NS, flags=flags)


def _cpu_load(params: FioParams, output: Output, document: Document) -> CpuLoad | None:
    """mpstat's rows within the run; None (then there are no cpu_*) without mpstat or with its document unfinished."""
    text = output.files.get(CPU_FILE, "")
    if not text.strip():
        return None
    try:
        rows = read_rows(text)
    except ValueError:
        return None
    longest_s = max(job.runtime_ms for job in document.jobs) / 1000.0
    return load_within(rows, document.ended_s - longest_s, document.ended_s, cpu_interval_s(params))
