"""The base class of the drive qualifications. A subclass declares its settings and its phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple, TypeVar

from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S, FIO_BYTES, OLDEST_FIO, likely_rate
from asct.instruments.fio.contradictions import contradictions
from asct.instruments.fio.depth import DepthBenchmark
from asct.instruments.fio.devices import device_values
from asct.instruments.fio.metrics import FLAGS as FIO_FLAGS
from asct.instruments.fio.params import SCRATCH_NAME, FioParams
from asct.instruments.fio.process import INSPECTION, layout_steps
from asct.instruments.fio.raid import raid_tools
from asct.instruments.fio.sections import scratch_bytes
from asct.instruments.qualification.compared import compared_figures, compared_tables
from asct.instruments.qualification.figures import phase_figures
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.purge import NOT_PURGED, TOOLS, UNVERIFIED
from asct.instruments.qualification.results import BURST, METRICS, NOT_STEADY, phase_values
from asct.instruments.qualification.rounds import FAST, INCOMPLETE, MOVED, Passes, phase_steps
from asct.instruments.qualification.settings import (
    MIB,
    MatrixParams,
    Phase,
    QualificationParams,
    Quantity,
    Workload,
    matrix_at_odds,
    settings_at_odds,
)
from asct.instruments.qualification.tables import phase_tables
from asct.sdk.benchmark import Context, Unsuitable
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import GUARD, Needs, Scratch
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Output, Step

START_SECONDS: Final = 0.8
"""Time, in seconds, that it takes to start and stop fio under guard."""
ASSUMED_BYTES: Final = 10**12
"""The size, in bytes, that a named target is assumed to have until its host reports the actual size. The setting
`active_range` overrides this size."""
_LARGEST_BYTES: Final = 16 * 10**12
_SLOW_BYTES_PER_S: Final = 50_000_000
_USUAL_BYTES_PER_S: Final = 1_000_000_000
_PURGE_S: Final = 60.0
_LONGEST_PURGE_S: Final = 24 * 3600.0
_PASS_SHARE: Final = 0.25
"""Share of a workload's duration after which its rate has usually settled (profile `fast`)."""


def assumed_span(params: QualificationParams, named: int = ASSUMED_BYTES) -> int:
    """Return the size of the active range, in bytes; a named target is assumed to have `named` bytes."""
    size = params.filesize if params.makes_file else params.active_range or named
    return round((params.active_range or size) * params.capacity_fraction)


class Cost(NamedTuple):
    """The cost of a test: its usual and longest duration in seconds, and the number of bytes that it writes to a fast
    and to an ordinary drive."""

    usual_s: float = 0.0
    longest_s: float = 0.0
    writes_bytes: float = 0.0
    likely_bytes: float = 0.0


def phase_cost(params: QualificationParams, phases: Sequence[Phase]) -> Cost:
    """Return the cost of the phases, including preconditioning.

    The usual duration and the likely number of bytes assume as many rounds as the window contains; the other estimates
    assume the maximum number of rounds. The longest duration also assumes a large and slow drive.
    """

    def writes(cell: Workload) -> float:
        return 1.0 - cell.reads / 100.0

    volume = params.precondition * assumed_span(params)
    opening = volume / _USUAL_BYTES_PER_S + (_PURGE_S if params.file_names else 0.0)
    longest = _LONGEST_PURGE_S + params.precondition * assumed_span(params, _LARGEST_BYTES) / _SLOW_BYTES_PER_S
    costs = [
        Cost(
            opening + _usual_rounds(params, phase, lambda cell: 1.0),
            longest + _all_rounds(params, phase, lambda cell: 1.0),
            volume + _all_rounds(params, phase, writes) * ASSUMED_WRITE_BYTES_PER_S,
            volume + _usual_rounds(params, phase, lambda cell: writes(cell) * likely_rate(cell.block_size)),
        )
        for phase in phases
    ]
    return total_cost(costs)


def total_cost(costs: Iterable[Cost]) -> Cost:
    """Return the total cost of several parts of a test."""
    return Cost(*map(sum, zip(*costs, strict=True)))


def _usual_rounds(params: QualificationParams, phase: Phase, weight: Callable[[Workload], float]) -> float:
    """Return the usual total time of all processes, weighted by the `weight` of their workloads."""
    each = phase.seconds + phase.ramp_s + START_SECONDS
    if params.profile == "pts":
        return params.window * sum(map(weight, phase.cells)) * each
    short = max(params.fast_min_time, _PASS_SHARE * phase.seconds) + phase.ramp_s + START_SECONDS
    tracked = sum(map(weight, _tracked(phase)))
    return (params.window + 1) * tracked * each + sum(map(weight, phase.cells)) * min(short, each)


def _all_rounds(params: QualificationParams, phase: Phase, weight: Callable[[Workload], float]) -> float:
    """Return the total time of all processes, weighted by the `weight` of their workloads."""
    each = phase.seconds + phase.ramp_s + START_SECONDS
    whole = sum(weight(cell) for cell in phase.cells) * each
    if params.profile == "pts":
        return params.rounds_max * whole
    tracked = sum(weight(cell) for cell in _tracked(phase)) * each
    return params.rounds_max * tracked + params.fast_passes * (whole + tracked)


def _tracked(phase: Phase) -> set[Workload]:
    return {tracked.cell for tracked in phase.tracked}


FLAGS: Final[Mapping[str, str]] = FIO_FLAGS | {
    NOT_PURGED: "the target was not purged (it is a file, the drive cannot be purged, or `purge` is `none`)",
    UNVERIFIED: "the purge reported success, but blocks that were read back were not empty",
    INCOMPLETE: "preconditioning wrote less than intended: reads may hit unwritten blocks",
    NOT_STEADY: "the steady state was not reached, so the values are averages over rounds in which they were still "
    "changing; another flag gives the reason",
    "not-steady-excursion": "the values in the window differ too much",
    "not-steady-slope": "the values in the window rise or fall",
    "not-steady-volume": "too little has been written since the purge, so the values may come from a burst",
    BURST: "the values are steady, but the rate has not fallen by half since the purge (during "
    "preconditioning or the rounds): they may come from a burst that outlasts the test (served from a cache, or paid "
    "for with a volume's burst credits)",
    "not-steady-pause": "the test was interrupted within the window; the drive may have recovered while idle",
    FAST: "measured with the `fast` profile: each workload ran once, until its rate settled",
    MOVED: "`fast` profile: in every pass, the tracked workloads changed while the others were measured",
}
_CACHES: Final = {"on": "write back", "off": "write through"}

Q = TypeVar("Q", bound=QualificationParams)


class Qualification(DepthBenchmark[Q]):
    """A benchmark that purges and preconditions the target in each phase, then repeats rounds until the state is
    steady."""

    keywords: ClassVar[tuple[str, ...]] = ("ssd", "qualification", "long-runtime")
    metrics: ClassVar[tuple[Metric, ...]] = METRICS
    flags: ClassVar[Mapping[str, str]] = FLAGS
    matrices: ClassVar[tuple[str, ...]] = ("iops",)
    """The metrics that are shown in tables by block size and mix."""
    quantity: ClassVar[Quantity] = "iops"
    """The metric shown in the figures of the rounds."""
    charts: ClassVar[tuple[str, ...]] = ("iops",)
    """The metrics shown in figures by block size and mix."""

    def phases(self, params: Q, logical_block: int) -> Sequence[Phase]:
        """Return the phases, omitting workloads whose requests are smaller than a logical block of the target. By
        default, there are none, for tests with their own sequence of steps."""
        return ()

    def check(self, params: Q) -> Iterable[tuple[str, str]]:
        """Yield errors for contradictory settings for the target and the rules."""
        yield from contradictions(
            params.fio(MIB, rw="randwrite", filesize=params.filesize if params.makes_file else None)
        )
        yield from settings_at_odds(params)

    def needs(self, params: Q, facts: HostFacts | None) -> Needs:
        """Return the required resources, including the usual and the worst-case duration."""
        cost = self.cost(params)
        tool = TOOLS.get(params.purge)
        whole = params.fio(params.filesize, rw="randwrite")
        purged = params.file_names if params.purge != "none" else ()
        return Needs(
            kernels=(GUARD,),
            tools=(("fio", OLDEST_FIO), *(((tool, ""),) if tool else ()), *raid_tools(params)),
            optional_tools=("nvme", "blkdiscard") if params.purge == "auto" and params.file_names else (),
            memory_bytes=FIO_BYTES + params.numjobs * params.iodepth * max(params.sizes),
            scratch=Scratch(SCRATCH_NAME, scratch_bytes(whole)) if params.makes_file else None,
            seconds=cost.usual_s,
            longest_s=cost.longest_s,
            writes_bytes=params.charged(round(cost.writes_bytes)),
            likely_bytes=params.charged(round(cost.likely_bytes)),
            targets=params.file_names,
            purges=tuple(name for name in purged if name.startswith("/dev/")),
            may_overwrite=params.overwrite,
        )

    def cost(self, params: Q) -> Cost:
        """Return the cost of all phases and of the steps after them."""
        return phase_cost(params, self.phases(params, 512))

    def loads(self, params: Q) -> Sequence[FioParams]:
        """Return the settings for each queue depth."""
        return [params.fio(params.filesize, iodepth=depth) for depth in params.queue_depths]

    def prepare(self, points: Sequence[Q], context: Context) -> Sequence[Step]:
        """Return the step that writes the temporary file."""
        return layout_steps([point.fio(point.filesize) for point in points], context)

    def steps(self, params: Q, context: Context) -> Sequence[Step]:
        """Return the inspection, then the next steps of the first phase that is not complete."""
        journal = StepJournal(params, context.done, context.facts)
        if not journal.has(INSPECTION):
            return [journal.inspection(context)]
        require_cache(journal)
        for phase in self.phases(params, journal.logical_block):
            fast = params.profile == "fast"
            steps = Passes(journal, phase).steps(context) if fast else phase_steps(journal, phase, context)
            if steps:
                return steps
        return self.closing_steps(journal, params, context)

    def closing_steps(self, journal: StepJournal, params: Q, context: Context) -> Sequence[Step]:
        """Return the next steps after all phases, or an empty sequence when none are left. By default, there are
        none."""
        return ()

    def continues(self, params: Q) -> bool:
        """Return whether an interrupted repeat can be continued. This is possible only with a target named in the plan,
        because a temporary file is deleted when the run stops."""
        return not params.makes_file

    def parse(self, params: Q, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values of the target, of every phase and of the closing steps."""
        if not outputs:
            raise Unsuitable("the target was not inspected")
        journal = StepJournal(params, outputs, facts)
        phases = self.phases(params, journal.logical_block)
        found = [value for phase in phases for value in self.phase_values(journal, phase)]
        return [*self.target_values(journal), *found, *self.closing_values(journal, params)]

    def phase_values(self, journal: StepJournal, phase: Phase) -> Iterable[Measurement]:
        """Return the values of a phase: averages over the window, every round, and the steady state."""
        return phase_values(journal, phase)

    def target_values(self, journal: StepJournal) -> Iterator[Measurement]:
        """Yield the properties of the target, its health before and after the test, and the block sizes that it does
        not support."""
        last = journal.last
        yield from device_values(replace(journal.inspected, after=last.after, members_after=last.members_after))
        yield Measurement("active_range", float(journal.span))
        for size in journal.params.sizes:
            if size < journal.logical_block:
                yield Measurement("left_out", float(size), {"block_size": size})

    def closing_values(self, journal: StepJournal, params: Q) -> Iterable[Measurement]:
        """Return the values of the steps after all phases. By default, there are none."""
        return ()

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the averages over the window, tables that compare several points, and tables of the steady
        state."""
        return (*compared_tables(records, self.name, self.charts), *phase_tables(records, self.name, self.matrices))

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return the figures that compare several points, and the figures for convergence, steady-state verification
        and averages."""
        return (*compared_figures(records, self.charts), *phase_figures(records, self.quantity, self.charts))


M = TypeVar("M", bound=MatrixParams)


class MatrixQualification(Qualification[M]):
    """A qualification with a single phase. Every round contains all combinations of block sizes and mixes."""

    def check(self, params: M) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, and an error for workloads that are not in the matrix."""
        yield from super().check(params)
        yield from matrix_at_odds(params)

    def phases(self, params: M, logical_block: int) -> Sequence[Phase]:
        """Return one phase that contains all workloads. The phase ends when the `quantity` of the dependent workloads
        is steady."""
        return (params.phase(logical_block, self.quantity),)


def require_cache(journal: StepJournal) -> None:
    """Raise Unsuitable if the write cache of the drive is not in the state that the settings require."""
    required = _CACHES.get(journal.params.write_cache)
    for drive in journal.inspected.drives if required is not None else ():
        found = drive.scalar("write_cache")
        if found == required:
            continue
        state = found if isinstance(found, str) else "unknown"
        raise Unsuitable(
            f"the write cache of {drive.path} is {state}, but `write_cache` requires {required}; change it "
            "on the host (nvme set-feature -f 6, hdparm -W, sdparm), or set `write_cache` to `as-found`"
        )
