"""loaded-latency: memory latency while other CPUs generate increasing load, and the bandwidth that they achieve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from asct.benchmarks.loaded_latency.command import KERNEL, arguments, demanded_bytes, estimated_seconds
from asct.benchmarks.loaded_latency.measure import FLAGS, ONE_VISIT, WORKLOAD, checked, is_slow, measurements
from asct.benchmarks.loaded_latency.params import LoadedLatencyParams
from asct.benchmarks.loaded_latency.report import all_tables, load_curve
from asct.instruments.memory.quantities import IDLE_LATENCY, LOAD_BANDWIDTH
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import CACHE, optimum_size, page_privileges
from asct.instruments.memory.stream import CIRCUMSTANCES, THEORETICAL
from asct.instruments.memory.visits import VisitedBenchmark, in_random_order, visit_number
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Kernel, Output, Step

_USUAL_SIZE = 512 << 20
_AT: Coords = {"delay": None, "target_bandwidth": None}
_TARGET: Coords = {"target_bandwidth": None}


class LoadedLatency(VisitedBenchmark[LoadedLatencyParams]):
    """A benchmark with one process: one CPU follows a chain of dependent loads, and a load thread runs on every other
    CPU. The number of NOPs that the load threads execute changes during the run."""

    name = "loaded-latency"
    title = "Loaded memory latency"
    version = "3"
    summary = (
        "Memory latency and bandwidth under increasing load from other CPUs, with the knee and the peak of the curve"
    )
    aliases = ("ll",)
    keywords = ("memory", "latency", "uses-huge-pages", "long-runtime")
    default = False
    params_model = LoadedLatencyParams
    dependencies = (CACHE,)
    flags = FLAGS
    highlights = (
        Highlight("idle_latency", "Latency without load"),
        Highlight("latency_at_80", "Latency at 80 % of peak bandwidth"),
        Highlight("knee_bandwidth", "Bandwidth at the knee"),
        Highlight("peak_bandwidth", "Peak bandwidth"),
    )
    quantities = (IDLE_LATENCY, LOAD_BANDWIDTH)
    pictures: ClassVar[Mapping[str, str]] = {"loaded-latency": "loaded-latency"}
    metrics = (
        Metric("latency", "s", "lower", "Latency of one dependent load while other CPUs generate load", _AT),
        Metric(
            "latency_cycles",
            "cycles",
            "lower",
            "Latency of one dependent load while other CPUs generate load, in core cycles",
            _AT,
        ),
        Metric("bandwidth", "B/s", "higher", "Bytes that the load threads load and store per second", _AT),
        Metric(
            "bus_bandwidth",
            "B/s",
            "higher",
            "Bytes on the memory bus per second: useful bytes, plus the lines read for ownership before a store",
            _AT,
        ),
        Metric("bandwidth_cycles", "B/cycle", "higher", "Useful bytes of the load threads per core cycle", _AT),
        Metric("share_of_theoretical", "%", "higher", "Bus bandwidth relative to the theoretical peak", _AT),
        Metric("workload_time", "s", "lower", "Run time of the command under load", _AT),
        Metric("idle_workload_time", "s", "lower", "Run time of the command with the load threads idle"),
        Metric.info("nops", "1", "Number of NOPs that results in a target bandwidth", _TARGET),
        Metric("idle_latency", "s", "lower", "Latency of one dependent load with the load threads idle"),
        Metric("idle_latency_cycles", "cycles", "lower", "Idle latency in core cycles"),
        Metric("peak_bandwidth", "B/s", "higher", "Highest bus bandwidth of any level"),
        Metric("knee_bandwidth", "B/s", "higher", "Bus bandwidth at the knee (where bandwidth / latency is highest)"),
        Metric("knee_latency", "s", "lower", "Latency at the knee (where bandwidth / latency is highest)"),
        Metric("latency_at_80", "s", "lower", "Latency at 80 % of peak bandwidth, interpolated between levels"),
        Metric("bandwidth_at_115", "B/s", "higher", "Bandwidth at which the latency is 115 % of the idle latency"),
        THEORETICAL,
        Metric.info("threads", "1", "Number of load threads, one per CPU"),
        Metric.info("data_size", "B", "Working set whose latency was measured"),
        Metric.info("load_size", "B", "Working set of each load thread"),
        *CIRCUMSTANCES,
    )

    def check(self, params: LoadedLatencyParams) -> Iterable[tuple[str, str]]:
        """Yield errors for missing load levels, CPUs used twice and unusable commands."""
        if not params.injected_nops and not params.target_bandwidth:
            yield "injected_nops", "no load levels: set `injected_nops` or `target_bandwidth`"
        yield from _check_cpus(params)
        yield from _check_workload(params)

    def needs(self, params: LoadedLatencyParams, facts: HostFacts | None) -> Needs:
        """Return the resources required: two CPUs (unless only bandwidth is measured), and memory for the chain and for
        every load thread."""
        alone = params.phase == "bandwidth" and params.workload_cmd is None
        demanded = demanded_bytes(params, facts, params.data_size or _USUAL_SIZE)
        return Needs(
            kernels=(KERNEL,),
            cpus=1 if alone else 2,
            memory_bytes=demanded,
            seconds=self.planned(params) * estimated_seconds(params, demanded),
            privileges=page_privileges(params.pages, KERNEL),
        )

    def processes(self, params: LoadedLatencyParams, context: Context) -> Sequence[Step]:
        """Return one process for all levels. Raises LookupError if no size is set and none was found."""
        chain = optimum_size(context) if params.data_size is None else params.data_size
        argv = arguments(params, context.facts, chain)
        return (Step("load", Kernel(KERNEL), argv, as_root=from_pools(params.pages)),)

    def steps(self, params: LoadedLatencyParams, context: Context) -> Sequence[Step]:
        """Return the processes that have not yet run. If a command turns out to be slow, it runs only in the first
        visit."""
        found, done = [_in_random_order(step, params.seed) for step in super().steps(params, context)], context.done
        if params.workload_cmd is None or params.visits is not None or len(done) > 1:
            return found
        return found[:1] if not done else () if is_slow(done[0]) else found

    def parse(self, params: LoadedLatencyParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the combined values of all visits, with flags on latencies that fall as the load increases and on
        commands that ran only once."""
        found = checked(super().parse(params, outputs, facts))
        once = params.visits is None and len(outputs) == 1
        return [
            replace(item, flags=(*item.flags, ONE_VISIT)) if once and item.metric in WORKLOAD else item
            for item in found
        ]

    def values(
        self, params: LoadedLatencyParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the values of every level, every target and the whole curve, as well as the core clock and the page
        size."""
        return measurements(params, next(iter(runs.values())), facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the levels, the summary of the curve, and the targets."""
        return all_tables(records, self.in_cycles(records))

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return a figure that plots latency against bandwidth."""
        curve = load_curve(records, self.in_cycles(records))
        return () if curve is None else (curve,)


def _in_random_order(step: Step, seed: int) -> Step:
    """Return the step with its load levels in the random order of its visit."""
    arguments = list(step.arguments)
    at = arguments.index("--delays") + 1
    arguments[at] = ",".join(in_random_order(arguments[at].split(","), visit_number(step.name), seed))
    return replace(step, arguments=tuple(arguments))


def _check_cpus(params: LoadedLatencyParams) -> Iterable[tuple[str, str]]:
    if params.latency_cpu_id is not None and params.latency_cpu_id in params.load_cpus:
        yield (
            "load_cpus",
            f"CPU {params.latency_cpu_id} measures latency (`latency_cpu_id`), so it cannot generate load",
        )
    both = sorted(set(params.load_cpus) & set(params.bw_cpu_blocklist))
    if both:
        yield "load_cpus", f"CPU {both[0]} is also in `bw_cpu_blocklist`"
    if len(set(params.load_cpus)) < len(params.load_cpus):
        yield "load_cpus", "a CPU appears twice"


def _check_workload(params: LoadedLatencyParams) -> Iterable[tuple[str, str]]:
    if params.workload_cmd is None:
        return
    if params.phase == "bandwidth":
        yield (
            "workload_cmd",
            ("`phase: bandwidth` generates only the load and runs no command; remove `phase` or `workload_cmd`"),
        )
    try:
        words = params.workload()
    except ValueError as error:
        yield "workload_cmd", f"invalid command: {str(error).lower()}"
        return
    if not words or "\0" in params.workload_cmd:
        yield "workload_cmd", "the command is empty or contains a NUL byte"


BENCHMARK = LoadedLatency()
