"""peak-bandwidth: the most that all CPUs of all nodes together move to and from memory, for each kind of traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from asct.benchmarks.peak_bandwidth.tables import BEST, FLAGS, peak_bars, peak_table
from asct.instruments.memory.needed import CACHE, optimum_size
from asct.instruments.memory.settings import AUTO, LISTED, AutoSize, Bandwidth
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    KERNEL,
    Call,
    OneWidthParams,
    Point,
    bandwidth_metrics,
    bandwidths,
    best_of,
    capped_s,
    circumstances,
    points_of,
)
from asct.instruments.memory.stream_sizes import (
    demanded_bytes,
    level_size,
    local_nodes,
    mapping_seconds,
    page_privileges,
    working_set_flags,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import WORDS, Traffic
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs, Privilege
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun, read_kernel
from asct.sdk.step import Output, Step

PEAK: Final = ("all-reads", "3:1", "2:1", "1:1", "2:1-nt", "copy", "triad", "write", "nt-write", "nt-copy")


class PeakBandwidthParams(OneWidthParams):
    """Which traffic, over how much memory, for how long."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PEAK, "Kinds of traffic, each by itself", min_length=1, max_length=13
    )
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    iterations: Count = setting(
        100_000, "Most windows of 100 us to measure for one variant; `duration` ends it earlier", ge=1, le=10**9
    )
    duration: Duration = setting(
        0.2,
        "Longest time for one kind of traffic when the interval is not reached",
        aliases=("time_cap",),
        ge=1e-3,
        le=600,
    )
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = setting(
        None, "Peak of all memory channels together; auto: from the modules that the firmware describes (needs root)"
    )


def measurements(params: PeakBandwidthParams, run: KernelRun, facts: HostFacts) -> list[Measurement]:
    """Everything that the run says. Raises ValueError for samples that are none, or without a best variant."""
    points = points_of(run)
    best = best_of(points)
    missing = set(params.traffic) - {point.traffic for point in best}
    if missing:
        raise ValueError(f"the kernel stream names no best variant of {', '.join(sorted(missing))}")
    flags = working_set_flags(facts, usable_cpus(facts), best[0].size)
    theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
    found = [item for point in best for item in _of_traffic(point, theoretical, flags)]
    found += [_of_variant(point) for point in points]
    if theoretical is not None:
        found.append(Measurement("theoretical_bandwidth", theoretical))
    found.append(Measurement("threads", float(best[0].threads)))
    found.append(Measurement("data_size", float(best[0].size)))
    return found + circumstances(best, run.meta, params)


def _of_traffic(point: Point, theoretical: float | None, flags: tuple[str, ...]) -> list[Measurement]:
    coords = {"traffic": point.traffic}
    found = bandwidths(point, coords, flags)
    if theoretical is not None:
        share = 100.0 * point.bus.median / theoretical
        words = (*point.flags, *flags, *(("above-theoretical",) if share > 100.0 else ()))
        found.append(Measurement("share_of_theoretical", share, dict(coords), flags=words))
    return found


def _of_variant(point: Point) -> Measurement:
    """A detail: tried in short windows only, unless it is the best."""
    coords = {"traffic": point.traffic, "variant": point.variant}
    flags = (BEST, *point.flags) if point.best else ()
    return Measurement("variant_bandwidth", point.useful.median, dict(coords), point.useful, flags, detail=True)


_TRIALS_S: Final = 0.1
_AT: Final[dict[str, tuple[str, ...] | None]] = {"traffic": WORDS}


class PeakBandwidth(Benchmark[PeakBandwidthParams]):
    """One process with a thread on every usable CPU; all start and stop together, nothing is extrapolated."""

    name = "peak-bandwidth"
    title = "Peak memory bandwidth"
    version = "1"
    summary = "Most bandwidth of all CPUs of all nodes at once, by kind of traffic, best of several loops"
    aliases = ("pb",)
    keywords = ("memory", "bandwidth")
    default = True
    params_model = PeakBandwidthParams
    dependencies = (CACHE,)
    flags = FLAGS
    highlights = (
        Highlight("bus_bandwidth", "All Reads", {"traffic": "all-reads"}),
        Highlight("bus_bandwidth", "Highest bandwidth", {"traffic": None}),
    )
    metrics = (
        *bandwidth_metrics(_AT),
        Metric("share_of_theoretical", "%", "higher", "Bytes on the bus as a share of the theoretical peak", _AT),
        Metric(
            "variant_bandwidth", "B/s", "higher", "Useful bytes by each loop that was tried", {**_AT, "variant": None}
        ),
        Metric("theoretical_bandwidth", "B/s", "neither", "Peak of all memory channels together", comparable=False),
        Metric("threads", "1", "neither", "Threads that ran at once, one a CPU", comparable=False),
        Metric("data_size", "B", "neither", "Memory that each thread walked", comparable=False),
        *CIRCUMSTANCES,
    )

    def needs(self, params: PeakBandwidthParams, facts: HostFacts | None) -> Needs:
        """The kernel, memory for all threads, and the time cap for each kind of traffic beside short trials."""
        demanded = demanded_bytes(facts, params.data_size)
        seconds = len(params.traffic) * (capped_s(params.duration, params.iterations) + _TRIALS_S)
        firmware = Privilege("reads what the firmware says of the modules")
        theoretical = () if params.theoretical_bandwidth else (firmware,)
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=demanded,
            seconds=mapping_seconds(demanded) + seconds,
            privileges=(*page_privileges(params.pages, KERNEL), *theoretical),
        )

    def foreseeable(self, params: PeakBandwidthParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: PeakBandwidthParams, context: Context) -> Sequence[Step]:
        """One process for all kinds of traffic. Raises LookupError when no size is given and none was found."""
        if context.done:
            return ()
        cpus = usable_cpus(context.facts)
        size = params.data_size or level_size(context.facts, cpus, "DRAM", optimum_size(context, "dram"))
        cap = capped_s(params.duration, params.iterations)
        call = Call(cpus, (size,), params.traffic, cap, params.width, local_nodes(context.facts, cpus))
        return (call.step("stream", params),)

    def parse(self, params: PeakBandwidthParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Bandwidths by kind of traffic, each variant, the share of the theoretical peak, clock and pages."""
        if not outputs:
            raise ValueError("the kernel stream was not run")
        return measurements(params, read_kernel(outputs[0]), facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The peaks."""
        return (peak_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The same as bars."""
        bars = peak_bars(records)
        return () if bars is None else (bars,)


BENCHMARK = PeakBandwidth()
