"""Visits: several processes, spread over a repeat, that each measure every value in fresh memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, NamedTuple, TypeVar

from asct.instruments.memory.kernel_flags import MOVED, NOISE_FLAGS
from asct.instruments.memory.settings import AUTO, Share, target_interval_setting
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.params import Params, setting
from asct.statistics.visits import SAMPLES_MIN, VISITS_MIN, Variation, samples_needed, visits_needed

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Measurement, Record
    from asct.sdk.samples import KernelRun
    from asct.sdk.step import Output, Step

VISITS_MOST: Final = 12
"""Maximum number of visits that a pilot can request, including those of the pilot itself."""
VISIT_FLAGS: Final[dict[str, str]] = {
    "noisy": "the 95 % interval over the visits is more than twice as wide as `target_interval`, or a visit ended at "
    "its time limit",
    "drift": "the value depends on the time: it rose or fell from visit to visit, or consecutive visits were alike "
    "(after a step, or in slow waves), more than chance explains; the interval spans all visits",
    "two-states": "the visits fall into two groups with different values; the interval spans both",
    MOVED: "the distance between two CPUs changed during at least one visit, because a virtual CPU moved; the interval "
    "spans all visits",
}
"""Flags that values from several visits may have."""
_SEPARATOR: Final = "-visit"
_ORDERS: Final = 1 << 20
"""Factor by which the seed is multiplied. This factor is larger than the number of visits in a repeat, so that
different seeds result in different orders."""
_SAMPLES: Final = ("--batches", "--windows")
_FEW_SAMPLES: Final = SAMPLES_MIN / 2
"""If a value has fewer samples per visit than this, it comes from a short trial of an access loop, and its variation is
not meaningful."""


class VisitedParams(Params):
    """The settings for a benchmark whose values come from visits."""

    visits: Annotated[int | None, AUTO] = setting(
        None,
        "Number of visits (processes that each measure every value in freshly allocated memory); `auto` means "
        f"{VISITS_MIN}, or up to {VISITS_MOST} if, after {VISITS_MIN} visits, more than a fifth of the values vary too "
        "much for `target_interval`",
        ge=1,
        le=1000,
        pitfalls=f"With fewer than {VISITS_MIN} visits, there is no interval.",
    )
    target_interval: Share = target_interval_setting("a value")
    seed: int = setting(
        1, "Seed for the order of the measurements in a visit and for the memory contents", ge=0, le=2**31 - 1
    )


P = TypeVar("P", bound=VisitedParams)
T = TypeVar("T")


class VisitedBenchmark(Benchmark[P]):
    """A benchmark that runs the same list of processes in every visit, each time in a random order."""

    uses_earlier: ClassVar[bool] = True

    @abstractmethod
    def processes(self, params: P, context: Context) -> Sequence[Step]:
        """Return the processes of the first visit, which runs them in a random order. Raises LookupError or ValueError
        if a size is missing or does not fit."""

    @abstractmethod
    def values(self, params: P, runs: Mapping[str, KernelRun], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values from one visit; `runs` maps each process name to its run, in the order in which the visit
        ran them. The order of the values must not depend on it. Raises ValueError for invalid output."""

    def repeated(self, processes: Sequence[Step]) -> Sequence[Step]:
        """Return the processes of the first visit that are repeated in later visits."""
        return processes

    def steps_known_ahead(self, params: P, facts: HostFacts) -> bool:
        return params.visits is not None

    def planned(self, params: P) -> int:
        """Return the number of visits that the settings request or, if they request none, the number of pilot visits,
        whose variance determines the total number."""
        return params.visits or VISITS_MIN

    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """Return the processes that have not yet run.

        A pilot determines the number of visits and the number of samples in each. The pilot is the newest earlier run
        that measured the same point under the same conditions or, if there is none or if it was disturbed, the first
        visits of this run.
        """
        first = self.processes(params, replace(context, done=()))
        later = self.repeated(first)
        plan = self.plan(params, context, len(first) + (self.planned(params) - 1) * len(later))
        every = [
            plan.limited(step, number)
            for number in range(1, plan.visits + 1)
            for step in visit(first if number == 1 else later, number, params.seed)
        ]
        return every[len(context.done) :]

    def plan(self, params: P, context: Context, pilot: int) -> VisitPlan:
        """Return the plan for all visits. `pilot` is the number of processes in the first visits."""
        count = self.planned(params)
        if params.visits is not None:
            return VisitPlan(count)
        earlier = [one for one in undisturbed(context.earlier) if one.samples >= _FEW_SAMPLES]
        if earlier:
            return VisitPlan.of(earlier, params.target_interval, 0)
        if len(context.done) < pilot:
            return VisitPlan(count)
        if len(context.done) > pilot:  # all steps planned after the pilot have run
            return VisitPlan(visit_number(context.done[-1].step.name))
        return VisitPlan.of(self.pilot_of(params, context.done, context.facts), params.target_interval, count)

    def in_cycles(self, records: Iterable[Record]) -> bool:
        """Return whether tables and figures show core cycles. They do if `cycle_base` is set for any point in the
        records."""
        points = dict.fromkeys(record.point_id for record in records)
        return any(self.display_setting(point, "cycle_base") for point in points)

    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the combined values from all visits. Raises ValueError for invalid output."""
        from asct.instruments.memory.combining import combined

        if not outputs:
            raise ValueError("the measurement kernel was not run")
        return combined(self.of_visits(params, outputs, facts), params.target_interval)

    def of_visits(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> list[Sequence[Measurement]]:
        """Return the values from each visit, in chronological order."""
        from asct.instruments.memory.combining import of_visit

        found: list[Sequence[Measurement]] = []
        for _, group in groupby(self.runs(outputs), key=lambda item: visit_number(item[0].step.name)):
            runs = {base_name(output.step.name): run for output, run in group}
            found.append(of_visit(self.values(params, runs, facts), runs.values()))
        return found

    def runs(self, outputs: Sequence[Output]) -> list[tuple[Output, KernelRun]]:
        """Return the runs of the kernel. Each contains the combined noise of all runs, so that short processes are
        judged together."""
        from asct.instruments.memory.combining import pooled_noise
        from asct.sdk.samples import read_kernel

        runs = [read_kernel(output) for output in outputs]
        end = pooled_noise(runs)
        return [(output, replace(run, end=end)) for output, run in zip(outputs, runs, strict=True)]

    def pilot_of(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Variation]:
        """Return the variation of each value in the first visits."""
        from asct.instruments.memory.combining import combined

        values = combined(self.of_visits(params, outputs, facts), params.target_interval)
        return variations([value for value in values if not value.detail])


def variations(values: Iterable[Measurement | Record]) -> Sequence[Variation]:
    """Return the variation of each value that has an interval over visits."""
    return [
        Variation(stats.median, stats.visits, stats.n / stats.visits, stats.between, stats.within or 0.0)
        for stats in (value.stats for value in values)
        if stats is not None and stats.between is not None and (stats.visits or 0) >= VISITS_MIN and stats.visits
    ]


def undisturbed(earlier: Sequence[Record]) -> Sequence[Variation]:
    """Return the variation of each value in an earlier run, or an empty sequence if the flag of any value says that
    something disturbed that run, because the variances of this run may be different.

    A value that is only `noisy` varies widely, and the flag gives no cause. It remains part of the pilot: without such
    values, the pilot would request too few visits.
    """
    disturbed = any(flag in NOISE_FLAGS or flag == MOVED for record in earlier for flag in record.flags)
    return () if disturbed else variations(earlier)


class VisitPlan(NamedTuple):
    """The number of visits.

    After the first `full` visits, each visit takes at most `samples` batches or windows per value.
    """

    visits: int
    full: int = VISITS_MOST
    samples: int = 0

    @classmethod
    def of(cls, pilot: Sequence[Variation], target: float, full: int) -> VisitPlan:
        """Return a visit plan derived from a pilot's variance."""
        return cls(visits_needed(pilot, target, VISITS_MOST), full, samples_needed(pilot))

    def limited(self, step: Step, visit: int) -> Step:
        """Return a step of the visit, limiting its number of batches or windows."""
        if visit <= self.full or not self.samples:
            return step
        arguments = list(step.arguments)
        for at in (at + 1 for at, option in enumerate(arguments) if option in _SAMPLES):
            arguments[at] = str(min(int(arguments[at]), self.samples))
        return replace(step, arguments=tuple(arguments))


def visit(once: Sequence[Step], number: int, seed: int) -> list[Step]:
    """Return the processes for visit `number` in a random order."""
    shuffled = in_random_order(once, number, seed)
    return shuffled if number == 1 else [replace(step, name=f"{step.name}{_SEPARATOR}{number}") for step in shuffled]


def in_random_order(values: Sequence[T], number: int, seed: int) -> list[T]:
    """Return the values in the random order in which visit `number` measures them. The order differs between visits, so
    that changes in the state of the host over time do not look like differences between the values."""
    from random import Random

    return Random(f"{seed}-{number}").sample(list(values), len(values))  # noqa: S311 - an order, not a secret


def in_own_order(step: Step, seed: int) -> Step:
    """Return the step with an option that makes its kernel measure several values in a random order, which differs
    between visits."""
    from asct.sdk.step import options

    order = seed * _ORDERS + visit_number(step.name)
    return replace(step, arguments=(*step.arguments, *options({"order": order})))


def visit_number(name: str) -> int:
    """Return the number of the visit to which a process belongs, based on its step name."""
    return int(name.rpartition(_SEPARATOR)[2]) if _SEPARATOR in name else 1


def base_name(name: str) -> str:
    """Return the name of a process without the visit number."""
    return name.rpartition(_SEPARATOR)[0] if _SEPARATOR in name else name
