"""A simulated drive, which answers each step of a test immediately, at the rate that a function returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from asct.instruments.fio.counters import Coverage, MeasuredWindow
from asct.instruments.fio.histogram import Latency
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import DirectionResult, FioPoint
from asct.instruments.guard_output import CounterSample, GuardOutput, GuardTarget
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.settings import QualificationParams
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.step import Kernel, Output, Step

MIB = 2**20
Rate = Callable[[int], float]
"""Requests per second as a function of the number of bytes that the rounds have written so far."""
_PARTS = 20
"""Number of guard samples during a preconditioning pass."""
FACTS = HostFacts(host="h", collected_at="2026-11-21T00:00:00Z")
CONTEXT = Context(FACTS, "/work")


def steady_fill(written: int) -> float:
    """Return the bytes per second during preconditioning, given the number of bytes written so far."""
    return 100.0 * MIB


class Simulated(StepJournal):
    """A journal whose steps were run by a drive with `target_bytes` and this rate."""

    def __init__(
        self, params: QualificationParams, outputs: Sequence[Output], rate: Rate, fill: Rate = steady_fill
    ) -> None:
        super().__init__(params, outputs, FACTS)
        self.rate = rate
        self.fill = fill
        self._before: dict[str, int] = {}

    @property
    def inspected(self) -> GuardOutput:  # type: ignore[override]
        fields = {"bytes": 256 * MIB, "kind": "file", "logical_block": 512}
        return GuardOutput((GuardTarget("/f", fields),), (), (), (), None, "", 0, 0)

    def point(self, name: str, params: FioParams) -> FioPoint:
        """Return a result whose rate is that of the moment at which the step began."""
        before = self.written_before(name)
        if params.io_size is not None:
            number = int(name.rpartition("-")[2]) - 1 if "precondition" in name else 0
            course = _pass(params.io_size, number, self.fill)
            return _point(params, params.io_size // params.block_size, 1.0, course)
        return _point(params, round(self.rate(before) * params.duration), params.duration)

    def written_before(self, name: str) -> int:
        """Return the number of bytes that the rounds wrote before a step. The steps are in the order in which they were
        run."""
        if name not in self._before:
            total = 0
            for other, output in self.outputs.items():
                self._before[other] = total
                total += _volume(output, self.rate(total))
        return self._before[name]


def _volume(output: Output, rate: float) -> int:
    params = cast(FioParams, output.files.get("params"))
    if params is None or params.io_size is not None or not params.writes:
        return 0
    return round(rate * params.duration) * params.block_size


def _pass(volume: int, number: int, fill: Rate) -> list[CounterSample]:
    """Return guard's samples of the drive during a pass that follows `number` other passes."""
    now, part, found = 0.0, volume // _PARTS, []
    for index in range(_PARTS + 1):
        found.append(CounterSample(0, round(now * 1e9), None, None, ((0, 0, 0, index * part, 0, 0, 0),)))
        now += part / fill(number * volume + index * part)
    return found


def _point(params: FioParams, ios: int, seconds: float, course: Sequence[CounterSample] = ()) -> FioPoint:
    depth = params.iodepth * params.numjobs
    latency = Latency(ios, 1e3, 1e9, depth * seconds / ios * 1e9, 0.0, {round(depth * seconds / ios * 1e9): ios})
    rate, volume = ios / seconds, ios * params.block_size
    whole = DirectionResult(
        ios,
        volume,
        seconds,
        rate,
        volume / seconds,
        None,
        None,
        latency,
        iops_stats=None,
        bandwidth_stats=None,
        course=None,
    )
    sides = {"": whole} | ({"write": whole} if params.writes else {"read": whole})
    guard = SimpleNamespace(samples=course)
    document = SimpleNamespace(jobs=())
    window = MeasuredWindow(0.0, float("inf"), 0.0)
    coverage = Coverage(None, "clock")
    point = SimpleNamespace(
        sides=sides, flags=(), guard=guard, window=window, document=document, seconds=(), coverage=coverage
    )
    return cast(FioPoint, point)


class Run:
    """A test that runs on such a drive and can be interrupted after any step."""

    def __init__(self, params: QualificationParams, rate: Rate, fill: Rate = steady_fill) -> None:
        self.params = params
        self.rate = rate
        self.fill = fill
        self.outputs: list[Output] = []
        self._pause = False

    @property
    def journal(self) -> Simulated:
        """Return the results so far."""
        return Simulated(self.params, self.outputs, self.rate, self.fill)

    @property
    def names(self) -> list[str]:
        """Return the names of the steps in the order in which they were run."""
        return [output.step.name for output in self.outputs]

    def pause(self) -> None:
        """Make the next step the first one after an interruption."""
        self._pause = True

    def go(self, steps: Callable[[Simulated, Context], Sequence[Step]], most: int = 100_000) -> bool:
        """Run steps until there are no more, or until `most` have been run in total. Return True if the test is
        over."""
        while wanted := steps(self.journal, CONTEXT):
            for step in wanted:
                if len(self.outputs) >= most:
                    return False
                self._done(step)
        return True

    def _done(self, step: Step) -> None:
        files: dict[str, Any] = {"params": _params_of(step, self.params)}
        self.outputs.append(Output(step, 0, files, resumed=self._pause))
        self._pause = False


def _params_of(step: Step, params: QualificationParams) -> FioParams | None:
    """Return the settings in the job file of a step, as far as the drive needs them."""
    job = step.files.get("job.fio")
    if job is None or not isinstance(step.program, Kernel):
        return None
    options = dict(line.split("=", 1) for line in job.splitlines() if "=" in line)
    wanted: dict[str, Any] = {"rw": options["rw"], "block_size": int(options["bs"])}
    if "io_size" in options:
        wanted["io_size"] = int(options["io_size"])
    return params.fio(MIB, duration=float(options["runtime"].removesuffix("ms")) / 1000, **wanted)
