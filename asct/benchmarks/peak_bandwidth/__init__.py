"""peak-bandwidth: the highest bandwidth of all CPUs of all nodes together, for each kind of traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from asct.benchmarks.peak_bandwidth.tables import BEST, FLAGS, peak_bars, peak_table
from asct.instruments.memory.bandwidth import TRIALS_S, BandwidthBenchmark
from asct.instruments.memory.kernel_flags import ABOVE_THEORETICAL
from asct.instruments.memory.settings import (
    AUTO,
    LISTED,
    AutoSize,
    Bandwidth,
    data_size_setting,
    duration_setting,
    iterations_setting,
    theoretical_bandwidth_setting,
)
from asct.instruments.memory.sizes import (
    MEMORY_LEVEL,
    demanded_bytes,
    level_size,
    local_nodes,
    mapping_seconds,
    optimum_size,
    working_set_flags,
)
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    OneWidthParams,
    StreamCall,
    StreamResult,
    bandwidth_metrics,
    bandwidths,
    best_results,
    capped_s,
    circumstances,
    stream_results,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import WORDS, Traffic
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs, Privilege
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step

PEAK: Final = ("all-reads", "3:1", "2:1", "1:1", "2:1-nt", "copy", "triad", "write", "nt-write", "nt-copy")
_TRAFFIC: Final[dict[str, tuple[str, ...] | None]] = {"traffic": WORDS}


class PeakBandwidthParams(OneWidthParams):
    """Traffic, working set and duration."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PEAK, "Kinds of traffic, measured one after another", min_length=1, max_length=13
    )
    data_size: AutoSize = data_size_setting()
    iterations: Count = iterations_setting("variant")
    duration: Duration = duration_setting(0.2, "one kind of traffic")
    theoretical_bandwidth: Annotated[Bandwidth | None, AUTO] = theoretical_bandwidth_setting()


class PeakBandwidth(BandwidthBenchmark[PeakBandwidthParams]):
    """One process with a thread on every usable CPU; all start and stop together, nothing is extrapolated."""

    name = "peak-bandwidth"
    title = "Peak memory bandwidth"
    version = "1"
    summary = "Peak bandwidth of all CPUs of all nodes at once, by kind of traffic, using the fastest of several loops"
    aliases = ("pb",)
    default = True
    params_model = PeakBandwidthParams
    flags = FLAGS
    highlights = (
        Highlight("bus_bandwidth", "All Reads", {"traffic": "all-reads"}),
        Highlight("bus_bandwidth", "Highest bandwidth", {"traffic": None}),
    )
    metrics = (
        *bandwidth_metrics(_TRAFFIC),
        Metric(
            "share_of_theoretical", "%", "higher", "Bytes on the memory bus relative to the theoretical peak", _TRAFFIC
        ),
        Metric(
            "variant_bandwidth", "B/s", "higher", "Useful bytes of each loop variant", {**_TRAFFIC, "variant": None}
        ),
        Metric(
            "theoretical_bandwidth",
            "B/s",
            "neither",
            "Theoretical peak of all memory channels together",
            comparable=False,
        ),
        Metric("threads", "1", "neither", "Concurrent threads, one per CPU", comparable=False),
        Metric("data_size", "B", "neither", "Working set of each thread", comparable=False),
        *CIRCUMSTANCES,
    )

    def demand(self, params: PeakBandwidthParams, facts: HostFacts | None) -> tuple[int, float]:
        """Memory of all threads; the time limit of each kind of traffic and the trials of its variants."""
        demanded = demanded_bytes(facts, params.data_size)
        seconds = len(params.traffic) * (capped_s(params.duration, params.iterations) + TRIALS_S)
        return demanded, mapping_seconds(demanded) + seconds

    def needs(self, params: PeakBandwidthParams, facts: HostFacts | None) -> Needs:
        """Reading the theoretical peak needs root, unless it is set."""
        found = super().needs(params, facts)
        firmware = () if params.theoretical_bandwidth else (Privilege("reads DIMM data (SMBIOS)"),)
        return replace(found, privileges=(*found.privileges, *firmware))

    def processes(self, params: PeakBandwidthParams, context: Context) -> Sequence[Step]:
        """One process for all kinds of traffic. Raises LookupError when no size is set and none was found."""
        cpus = usable_cpus(context.facts)
        size = params.data_size or level_size(context.facts, cpus, MEMORY_LEVEL, optimum_size(context, MEMORY_LEVEL))
        cap = capped_s(params.duration, params.iterations)
        call = StreamCall(cpus, (size,), params.traffic, cap, params.width, local_nodes(context.facts, cpus))
        return (call.step("stream", params),)

    def values(
        self, params: PeakBandwidthParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Bandwidth and share of the peak by kind of traffic, each variant, core clock and page size."""
        run = next(iter(runs.values()))
        results = stream_results(run)
        best = best_results(results)
        missing = set(params.traffic) - {result.traffic for result in best}
        if missing:
            raise ValueError(f"the kernel stream names no best variant of {', '.join(sorted(missing))}")
        flags = working_set_flags(facts, usable_cpus(facts), best[0].size)
        theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
        found = [item for result in best for item in _of_traffic(result, theoretical, flags)]
        found += [_of_variant(result) for result in results]
        if theoretical is not None:
            found.append(Measurement("theoretical_bandwidth", theoretical))
        found.append(Measurement("threads", float(best[0].threads)))
        found.append(Measurement("data_size", float(best[0].size)))
        return found + circumstances(best, run.meta, params)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The peaks."""
        return (peak_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The peaks as bars."""
        return peak_bars(records)


def _of_traffic(result: StreamResult, theoretical: float | None, flags: tuple[str, ...]) -> list[Measurement]:
    coords = {"traffic": result.traffic}
    found = bandwidths(result, coords, flags)
    if theoretical is not None:
        share = 100.0 * result.bus.median / theoretical
        above = (ABOVE_THEORETICAL,) if share > 100.0 else ()
        found.append(Measurement("share_of_theoretical", share, dict(coords), flags=(*result.flags, *flags, *above)))
    return found


def _of_variant(result: StreamResult) -> Measurement:
    """A detail: measured in short trial windows only, unless it is the best."""
    coords = {"traffic": result.traffic, "variant": result.variant}
    flags = (BEST, *result.flags) if result.best else ()
    return Measurement("variant_bandwidth", result.useful.median, dict(coords), result.useful, flags, detail=True)


BENCHMARK = PeakBandwidth()
