"""peak-bandwidth: the most that all CPUs of all nodes together move to and from memory, for each kind of traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.peak_bandwidth.measure import measurements
from asct.benchmarks.peak_bandwidth.params import PeakBandwidthParams
from asct.benchmarks.peak_bandwidth.tables import FLAGS, peak_bars, peak_table
from asct.instruments.memory.needed import CACHE, optimum_size
from asct.instruments.memory.stream import CIRCUMSTANCES, KERNEL, Call, bandwidth_metrics, capped_s
from asct.instruments.memory.stream_sizes import (
    demanded_bytes,
    level_size,
    local_nodes,
    mapping_seconds,
    page_privileges,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import WORDS
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs, Privilege
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output, Step

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
