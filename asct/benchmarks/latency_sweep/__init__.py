"""latency-sweep: load-to-use latency as a function of the working set size, and the cache and memory levels that it
reveals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from asct.benchmarks.latency_sweep.command import (
    EDGES,
    LOCAL,
    LatencySweepParams,
    edge_arguments,
    estimated_seconds,
    largest,
    local_arguments,
    memory_bytes,
    shortest,
    smallest,
    sweep_arguments,
    visit_arguments,
)
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS
from asct.instruments.memory.quantities import CURVE_LATENCY, LEVEL_END, LEVEL_LATENCY
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import LEVELS, page_privileges
from asct.instruments.memory.visits import (
    VISIT_FLAGS,
    VISITS_MOST,
    VisitedBenchmark,
    in_own_order,
    undisturbed,
    visit,
    visit_number,
)
from asct.sdk.benchmark import Context, ResultField
from asct.sdk.metric import Coords, Metric
from asct.sdk.needs import Needs
from asct.statistics.visits import visits_needed

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.record import Measurement, Record, Scalar
    from asct.sdk.samples import KernelRun
    from asct.sdk.step import Output, Step

_EXAMPLES: dict[str, tuple[int, int, int, float]] = {
    "l1": (128, 49_152, 24_640, 1.3e-9),
    "l2": (55_104, 1_048_576, 551_808, 3.9e-9),
    "l3": (2_097_152, 8_388_608, 5_242_880, 12.0e-9),
    "llc": (4_194_304, 33_554_432, 18_874_368, 40.0e-9),
    "dram": (134_217_728, 1_073_741_824, 603_979_776, 110.0e-9),
}
_AT_LEVEL: Coords = {"level": LEVELS}
_AT_SIZE: Coords = {"size": None}
_AT: Coords = {**_AT_SIZE, **_AT_LEVEL}


def _results() -> tuple[ResultField, ...]:
    fields = []
    for level, (lower, upper, optimum, latency) in _EXAMPLES.items():
        name = level.upper()
        fields += [
            ResultField(f"{level}.lower_bound", "B", f"Smallest working set with the latency of {name}", lower),
            ResultField(f"{level}.upper_bound", "B", f"Largest working set that {name} holds", upper),
            ResultField(f"{level}.optimum_size", "B", f"Working set well inside {name}", optimum),
            ResultField(f"{level}.latency", "s", f"Latency of {name}", latency),
        ]
    return tuple(fields)


class LatencySweep(VisitedBenchmark[LatencySweepParams]):
    """A benchmark of dependent loads over working sets from 128 B to four times the largest cache.

    Modules that are needed only for a measurement are imported inside the methods, which makes checking a plan faster.
    """

    name = "latency-sweep"
    title = "Memory latency sweep"
    version = "4"
    summary = "Load-to-use latency by working set size; detects the cache levels and DRAM"
    aliases = ("ls",)
    keywords = ("memory", "latency", "sweep", "uses-huge-pages")
    default = True
    params_model = LatencySweepParams
    flags: ClassVar[Mapping[str, str]] = {
        **NOISE_FLAGS,
        **VISIT_FLAGS,
        "noisy": f"{VISIT_FLAGS['noisy']}; for a level, the flag can also mean that the latencies at its sizes differ "
        "by more than 5 %",
        "noisy-fraction": "a first-level latency differs by 1 % or more from a whole number of core cycles",
        "noisy-sizes": "the latency of a size in the first level differs by 1 % or more from the latency of the "
        "other sizes in that level",
        "noisy-rising": "the latency is still rising at the largest size, so some of the loads hit a cache; "
        "raise `max_size`",
        "few-lines": "the working set has 8 lines or fewer, so a core may forward or predict the loads; the size is "
        "excluded from the levels",
        "outlier": "the latency differs by more than 15 % from the latencies of the neighboring sizes; the size is "
        "excluded from the levels",
        "disturbed": "the latency is higher than those of larger working sets, so another process was running; the "
        "size is excluded from the levels",
        "switched": "more than a quarter of the batches were dropped because the thread was descheduled",
        "unlike-reported": "the cache ends at less than half or more than 1.3 times the size that the host "
        "reports, because other programs use part of the cache or the hypervisor reports an "
        "arbitrary size",
        "coarse-bound": "the next measured size is more than 2.5 % larger than this bound",
        **PAGE_FLAGS,
    }
    results = _results()
    quantities = (LEVEL_LATENCY, CURVE_LATENCY, LEVEL_END)
    pictures: ClassVar[Mapping[str, str]] = {"latency-curve": "latency-sweep"}
    metrics = (
        Metric("latency", "s", "lower", "Time per dependent load", _AT),
        Metric("latency_cycles", "cycles", "lower", "Time per dependent load in core cycles", _AT),
        Metric(
            "local_latency",
            "s",
            "lower",
            "Latency of a chain that uses only a few pages at a time",
            _AT_SIZE,
            comparable=False,
        ),
        Metric("local_latency_cycles", "cycles", "lower", "`local_latency` in core cycles", _AT_SIZE, comparable=False),
        Metric.info("lower_bound", "B", "Smallest working set that belongs to the level", _AT_LEVEL),
        Metric.info("upper_bound", "B", "Largest working set that the level holds", _AT_LEVEL),
        Metric.info(
            "tlb_end",
            "B",
            "Working-set size above which random loads in this level wait for address translations",
            _AT_LEVEL,
        ),
        Metric.info("data_size", "B", "Working set used to measure the latency of DRAM", _AT_LEVEL),
        Metric.info("optimum_size", "B", "Working set well inside the level", _AT_LEVEL),
        Metric.info("levels", "1", "Number of levels found"),
        Metric("core_clock", "Hz", "neither", "Core clock during the measurement, derived from dependent additions"),
        Metric.info("page_size", "B", "Page size of the memory"),
        Metric.info("cache_size", "B", "Size of each data cache, as reported by the host", {"level": None}),
    )

    def check(self, params: LatencySweepParams) -> Iterable[tuple[str, str]]:
        """Yield errors for empty ranges, and for sizes smaller than two lines."""
        least = shortest(params)
        if params.sizes:
            if min(params.sizes) < least:
                yield "sizes", f"a chain needs two lines: at least {least} B with this stride"
            if params.max_size is not None and max(params.sizes) > params.max_size:
                yield "sizes", f"the largest size exceeds `max_size` ({params.max_size} B)"
            return
        low, high = smallest(params), largest(params, None)
        if low >= high:
            yield "min_size", f"`min_size` ({low} B) must be less than `max_size` ({high} B)"
        if low < least:
            yield "min_size", f"a chain needs two lines: at least {least} B with this stride"

    def needs(self, params: LatencySweepParams, facts: HostFacts | None) -> Needs:
        """Return the resources required: the `chase` kernel, memory for the largest size, and a few seconds."""
        return Needs(
            kernels=("chase",),
            memory_bytes=memory_bytes(params, facts),
            seconds=estimated_seconds(params, facts, self.planned(params)),
            privileges=page_privileges(params.pages, "chase"),
        )

    def processes(self, params: LatencySweepParams, context: Context) -> Sequence[Step]:
        """Return a single process that measures all sizes and refines the steps in the curve."""
        from asct.sdk.step import Kernel, Step

        root = from_pools(params.pages)
        return (Step("chase", Kernel("chase"), sweep_arguments(params, context.facts), as_root=root),)

    def steps_known_ahead(self, params: LatencySweepParams, facts: HostFacts) -> bool:
        return bool(params.sizes) and super().steps_known_ahead(params, facts)

    def steps(self, params: LatencySweepParams, context: Context) -> Sequence[Step]:
        """Return the processes in this order: the curve, additional sizes near the bounds of the levels, the local
        chain, and then further visits, which measure the curve and the levels again, in a random order of sizes. If
        sizes are set, only these sizes are measured."""
        from asct.benchmarks.latency_sweep.survey import survey_of

        done, (whole,) = context.done, self.processes(params, context)
        if params.sizes:
            return [in_own_order(step, params.seed) for step in super().steps(params, context)]
        if not done or done[0].status != 0:
            return () if done else (whole,)
        if len(done) == 1:
            more = self.additions(params, context.facts, done[0], whole)
            if more:
                return more
        first = [output for output in done if visit_number(output.step.name) == 1]
        survey = survey_of(self.runs(first), context.facts)
        pilot, count = self.planned(params), self.count(params, context, len(first))
        full, reduced = (
            replace(whole, arguments=visit_arguments(params, context.facts, sizes))
            for sizes in (survey.sizes_to_visit(), survey.sizes_of_levels())
        )
        every = [
            in_own_order(step, params.seed)
            for number in range(2, count + 1)
            for step in visit((full if number <= pilot else reduced,), number, params.seed)
        ]
        return every[len(done) - len(first) :]

    def additions(self, params: LatencySweepParams, facts: HostFacts, curve: Output, whole: Step) -> list[Step]:
        """Return the processes of the first visit that depend on the curve, or an empty sequence if the curve has no
        levels."""
        from asct.benchmarks.latency_sweep.survey import survey_of

        survey = survey_of(self.runs([curve]), facts)
        sizes, local = survey.sizes_to_add(), survey.local_range()
        found = []
        if sizes:
            found.append(replace(whole, name=EDGES, arguments=edge_arguments(params, facts, sizes)))
        if local:
            found.append(replace(whole, name=LOCAL, arguments=local_arguments(params, facts, *local)))
        return found

    def runs(self, outputs: Sequence[Output]) -> list[tuple[Output, KernelRun]]:
        """Return the runs with their combined noise. The local chain does not contribute to the noise, because it
        determines only bounds."""
        values = [output for output in outputs if output.step.name != LOCAL]
        local = [output for output in outputs if output.step.name == LOCAL]
        return [*super().runs(values), *(super().runs(local) if local else [])]

    def count(self, params: LatencySweepParams, context: Context, first: int) -> int:
        """Return the number of visits, based on the levels found by a comparable earlier run or, if there is none, by
        the pilot visits once they are complete. `first` is the number of processes with which the first visit measured
        the curve."""
        pilot, done = self.planned(params), context.done
        if params.visits is not None:
            return pilot
        known = undisturbed([record for record in context.earlier if "level" in record.coords])
        if not known and len(done) - first < pilot - 1:
            return pilot
        known = known or self.pilot_of(params, done[: first + pilot - 1], context.facts)
        return visits_needed(known, params.target_interval, VISITS_MOST)

    def values(
        self, params: LatencySweepParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the curve, the levels, the core clock, the page size, and the caches that the host reports."""
        from asct.benchmarks.latency_sweep.measure import measurements
        from asct.benchmarks.latency_sweep.survey import survey

        curve = [run for name, run in runs.items() if name != LOCAL]
        return measurements(params, survey(curve, runs.get(LOCAL), facts))

    def of_visits(
        self, params: LatencySweepParams, outputs: Sequence[Output], facts: HostFacts
    ) -> list[Sequence[Measurement]]:
        """Return the values of each visit. The first one finds the levels; the others measure the curve and the levels
        again, or only the levels."""
        from asct.benchmarks.latency_sweep.measure import measured_again
        from asct.benchmarks.latency_sweep.survey import survey_of
        from asct.instruments.memory.combining import of_visit

        if params.sizes:
            return super().of_visits(params, outputs, facts)
        runs = self.runs(outputs)
        first = [item for item in runs if visit_number(item[0].step.name) == 1]
        survey = survey_of(first, facts)
        whole = of_visit(
            self.values(params, {output.step.name: run for output, run in first}, facts), (run for _, run in first)
        )
        later = [run for output, run in runs if visit_number(output.step.name) > 1]
        return [whole, *(of_visit(measured_again(survey, run), [run]) for run in later)]

    def parse(self, params: LatencySweepParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the combined values of all visits, with flags on implausible latencies in the first level."""
        from asct.benchmarks.latency_sweep.measure import checked

        return checked(super().parse(params, outputs, facts))

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        """Return the bounds, optimum size and latency of each level found."""
        paths = {field.path for field in self.results}
        found: dict[str, Scalar] = {}
        for item in measurements:
            path = f"{str(item.coords.get('level', '')).lower()}.{item.metric}"
            if path in paths:
                found[path] = item.value if item.metric == "latency" else int(item.value)
        return found

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table with one row per level and point. If there are no levels, the notes give the reason and a
        hint."""
        from asct.benchmarks.latency_sweep.report import level_table

        return (level_table(records, self.in_cycles(records)),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return a figure of the latency by working set size, with a curve for each point."""
        from asct.benchmarks.latency_sweep.report import latency_curve

        return latency_curve(records, self.in_cycles(records))


BENCHMARK = LatencySweep()
