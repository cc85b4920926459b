"""latency-sweep: load-to-use latency by size of the working set, and the cache and memory levels that it reveals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from asct.benchmarks.latency_sweep.command import (
    LatencySweepParams,
    edge_arguments,
    estimated_seconds,
    largest,
    memory_bytes,
    shortest,
    smallest,
    sweep_arguments,
)
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import page_privileges
from asct.sdk.benchmark import Benchmark, Context, ResultField
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.record import Measurement, Record, Scalar
    from asct.sdk.step import Output, Step

LEVELS = ("L1", "L2", "L3", "L4", "LLC", "DRAM")
_EXAMPLES: dict[str, tuple[int, int, int, float]] = {
    "l1": (128, 49_152, 24_640, 1.3e-9),
    "l2": (55_104, 1_048_576, 551_808, 3.9e-9),
    "l3": (2_097_152, 8_388_608, 5_242_880, 12.0e-9),
    "llc": (4_194_304, 33_554_432, 18_874_368, 40.0e-9),
    "dram": (134_217_728, 1_073_741_824, 603_979_776, 110.0e-9),
}
_AT_LEVEL: dict[str, tuple[str, ...] | None] = {"level": LEVELS}
_AT: dict[str, tuple[str, ...] | None] = {"size": None, **_AT_LEVEL}


def _results() -> tuple[ResultField, ...]:
    fields = []
    for level, (lower, upper, optimum, latency) in _EXAMPLES.items():
        name = level.upper()
        fields += [
            ResultField(f"{level}.lower_bound", "B", f"Smallest working set at the latency of {name}", lower),
            ResultField(f"{level}.upper_bound", "B", f"Largest working set at the latency of {name}", upper),
            ResultField(f"{level}.optimum_size", "B", f"Working set well inside {name}", optimum),
            ResultField(f"{level}.latency", "s", f"Latency of {name}", latency),
        ]
    return tuple(fields)


class LatencySweep(Benchmark[LatencySweepParams]):
    """Measures a chain of dependent loads over working sets from 128 B to 1 GiB, all in one process.

    Methods import what only a measurement needs, so that a plan is checked faster.
    """

    name = "latency-sweep"
    title = "Memory latency sweep"
    version = "2"
    summary = "Load-to-use latency by working set size; detects the cache levels and DRAM"
    aliases = ("ls",)
    keywords = ("memory", "latency", "sweep", "uses-huge-pages")
    default = True
    params_model = LatencySweepParams
    flags: ClassVar[Mapping[str, str]] = {
        **NOISE_FLAGS,
        "noisy": (
            "the 95 % interval did not reach target_interval within time_cap; for a level: its sizes differ by more "
            "than 5 %, or most of their intervals are wider than 5 %"
        ),
        "few-lines": "8 lines or fewer, which a core may forward or predict; excluded from the levels",
        "outlier": "differs by more than 15 % from the neighbouring sizes; excluded from the levels",
        "disturbed": "slower than larger working sets, so another process was running; excluded from the levels",
        "switched": "more than a quarter of the batches were dropped because the thread was descheduled",
        "few-sizes": "the level has fewer than 6 sizes, too few for an interval",
        "coarse-bound": "the next measured size is more than 2.5 % beyond this bound",
        **PAGE_FLAGS,
    }
    results = _results()
    metrics = (
        Metric("latency", "s", "lower", "Time of one dependent load", _AT),
        Metric("latency_cycles", "cycles", "lower", "Time of one dependent load in core cycles", _AT),
        Metric("lower_bound", "B", "neither", "Smallest working set of the level", _AT_LEVEL, comparable=False),
        Metric("upper_bound", "B", "neither", "Largest working set of the level", _AT_LEVEL, comparable=False),
        Metric("optimum_size", "B", "neither", "Working set well inside the level", _AT_LEVEL, comparable=False),
        Metric("levels", "1", "neither", "Number of levels found", comparable=False),
        Metric("core_clock", "Hz", "neither", "Core clock during the measurement, from dependent additions"),
        Metric("page_size", "B", "neither", "Page size of the memory", comparable=False),
        Metric("cache_size", "B", "neither", "Size of each data cache as the host reports it", {"level": None}, False),
    )

    def check(self, params: LatencySweepParams) -> Iterable[tuple[str, str]]:
        """Report empty ranges, and sizes of less than two lines."""
        least = shortest(params)
        if params.sizes:
            if min(params.sizes) < least:
                yield "sizes", f"a chain needs two lines: at least {least} B with this stride"
            if params.max_size is not None and max(params.sizes) > params.max_size:
                yield "sizes", f"the largest size is above max_size ({params.max_size} B)"
            return
        low, high = smallest(params), largest(params, None)
        if low >= high:
            yield "min_size", f"min_size ({low} B) is not below max_size ({high} B)"
        if low < least:
            yield "min_size", f"a chain needs two lines: at least {least} B with this stride"

    def needs(self, params: LatencySweepParams, facts: HostFacts | None) -> Needs:
        """The kernel, memory for the largest size, a few seconds."""
        return Needs(
            kernels=("chase",),
            memory_bytes=memory_bytes(params, facts),
            seconds=estimated_seconds(params, facts),
            privileges=page_privileges(params.pages, "chase"),
        )

    def steps(self, params: LatencySweepParams, context: Context) -> Sequence[Step]:
        """One process for all sizes, which refines the steps of the curve; then a short one for bounds that are still
        coarse."""
        from asct.benchmarks.latency_sweep.measure import sizes_to_add
        from asct.sdk.samples import read_kernel
        from asct.sdk.step import Kernel, Step

        root = from_pools(params.pages)
        if not context.done:
            return (Step("chase", Kernel("chase"), sweep_arguments(params, context.facts), as_root=root),)
        if params.sizes or len(context.done) > 1 or context.done[0].status != 0:
            return ()
        missing = sizes_to_add(read_kernel(context.done[0]), context.facts)
        arguments = edge_arguments(params, context.facts, missing)
        return (Step("edges", Kernel("chase"), arguments, as_root=root),) if missing else ()

    def parse(self, params: LatencySweepParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """The curve, the levels, core clock, page size, and the caches that the host reports."""
        from asct.benchmarks.latency_sweep.measure import measurements
        from asct.sdk.samples import read_kernel

        if not outputs:
            raise ValueError("the kernel chase was not run")
        return measurements(params, [read_kernel(output) for output in outputs], facts)

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        """Bounds, optimum size and latency of each level found."""
        paths = {field.path for field in self.results}
        found: dict[str, Scalar] = {}
        for item in measurements:
            path = f"{str(item.coords.get('level', '')).lower()}.{item.metric}"
            if path in paths:
                found[path] = item.value if item.metric == "latency" else int(item.value)
        return found

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """One row per level and point; without levels, the reason and a hint as notes."""
        from asct.benchmarks.latency_sweep.report import level_table

        return (level_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The curve."""
        from asct.benchmarks.latency_sweep.report import latency_curve

        return latency_curve(records)


BENCHMARK = LatencySweep()
