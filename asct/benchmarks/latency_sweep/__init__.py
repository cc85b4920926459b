"""latency-sweep: load-to-use latency by size of the working set, and the cache and memory levels that it reveals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
    visit_arguments,
)
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import page_privileges
from asct.instruments.memory.visits import VISIT_FLAGS, VISITS_MOST, VisitedBenchmark, visit, visit_number
from asct.sdk.benchmark import Context, ResultField
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.statistics.visits import visits_needed

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.record import Measurement, Record, Scalar
    from asct.sdk.samples import KernelRun
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


class LatencySweep(VisitedBenchmark[LatencySweepParams]):
    """Measures a chain of dependent loads over working sets from 128 B to 1 GiB, all in one process.

    Methods import what only a measurement needs, so that a plan is checked faster.
    """

    name = "latency-sweep"
    title = "Memory latency sweep"
    version = "3"
    summary = "Load-to-use latency by working set size; detects the cache levels and DRAM"
    aliases = ("ls",)
    keywords = ("memory", "latency", "sweep", "uses-huge-pages")
    default = True
    params_model = LatencySweepParams
    flags: ClassVar[Mapping[str, str]] = {
        **NOISE_FLAGS,
        **VISIT_FLAGS,
        "noisy": f"{VISIT_FLAGS['noisy']}; for a level also: its sizes differ by more than 5 %",
        "noisy-fraction": "the latency of the first level is more than 1 % off a whole number of core cycles",
        "few-lines": "8 lines or fewer, which a core may forward or predict; excluded from the levels",
        "outlier": "differs by more than 15 % from the neighbouring sizes; excluded from the levels",
        "disturbed": "slower than larger working sets, so another process was running; excluded from the levels",
        "switched": "more than a quarter of the batches were dropped because the thread was descheduled",
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
            seconds=estimated_seconds(params, facts, self.planned(params)),
            privileges=page_privileges(params.pages, "chase"),
        )

    def processes(self, params: LatencySweepParams, context: Context) -> Sequence[Step]:
        """One process for all sizes, which refines the steps of the curve."""
        from asct.sdk.step import Kernel, Step

        root = from_pools(params.pages)
        return (Step("chase", Kernel("chase"), sweep_arguments(params, context.facts), as_root=root),)

    def steps_known_ahead(self, params: LatencySweepParams, facts: HostFacts) -> bool:
        return bool(params.sizes) and super().steps_known_ahead(params, facts)

    def steps(self, params: LatencySweepParams, context: Context) -> Sequence[Step]:
        """The curve; a short process for bounds that are still coarse; then visits of the levels, or of the sizes that
        are set."""
        from asct.benchmarks.latency_sweep.measure import sizes_to_add, sizes_to_visit
        from asct.sdk.samples import read_kernel

        done, (whole,) = context.done, self.processes(params, context)
        if params.sizes:
            return super().steps(params, context)
        if not done or done[0].status != 0:
            return () if done else (whole,)
        first = [read_kernel(output) for output in done if visit_number(output.step.name) == 1]
        missing = sizes_to_add(first[0], context.facts) if len(done) == 1 else ()
        if missing:
            return (replace(whole, name="edges", arguments=edge_arguments(params, context.facts, missing)),)
        sizes = sizes_to_visit(first, context.facts)
        again = replace(whole, arguments=visit_arguments(params, context.facts, sizes))
        count = self.count(params, done, len(first), context.facts) if sizes else 1
        every = [step for number in range(2, count + 1) for step in visit((again,), number, params.seed)]
        return every[len(done) - len(first) :]

    def count(self, params: LatencySweepParams, done: Sequence[Output], first: int, facts: HostFacts) -> int:
        """The number of visits; from the pilot once it is over. The curve of the first took `first` processes."""
        pilot = self.planned(params)
        if params.visits is not None or len(done) - first < pilot - 1:
            return pilot
        variations = self.pilot_of(params, done[: first + pilot - 1], facts)
        return visits_needed(variations, params.target_interval, VISITS_MOST)

    def values(
        self, params: LatencySweepParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """The curve, the levels, core clock, page size, and the caches that the host reports."""
        from asct.benchmarks.latency_sweep.measure import measurements

        return measurements(params, list(runs.values()), facts)

    def of_visits(
        self, params: LatencySweepParams, outputs: Sequence[Output], facts: HostFacts
    ) -> list[Sequence[Measurement]]:
        """The first visit finds the levels; the others measure some sizes of each again."""
        from asct.benchmarks.latency_sweep.measure import levels_again

        if params.sizes:
            return super().of_visits(params, outputs, facts)
        runs = [(visit_number(output.step.name), run) for output, run in self.runs(outputs)]
        first = [run for number, run in runs if number == 1]
        again = levels_again(first, [run for number, run in runs if number > 1], facts)
        return [self.values(params, {str(at): run for at, run in enumerate(first)}, facts), *again]

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
