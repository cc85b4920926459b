"""A drive that is made up: it answers each step of a test at once, with the rate that a function gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from asct.instruments.fio.counters import MeasuredWindow
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
"""Requests a second, by the bytes that the rounds have written until then."""
_PARTS = 20
"""Samples of guard during a pass of preconditioning."""
FACTS = HostFacts(host="h", collected_at="2026-11-21T00:00:00Z")
CONTEXT = Context(FACTS, "/work")


def steady_fill(written: int) -> float:
    """Bytes a second during preconditioning, by the bytes that it has written until then."""
    return 100.0 * MIB


class Simulated(StepJournal):
    """A journal whose steps were carried out by a drive of `target_bytes` with that rate."""

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
        """Everything at the rate of the moment when the step began."""
        before = self.written_before(name)
        if params.io_size is not None:
            number = int(name.rpartition("-")[2]) - 1 if "precondition" in name else 0
            course = _pass(params.io_size, number, self.fill)
            return _point(params, params.io_size // params.block_size, 1.0, course)
        return _point(params, round(self.rate(before) * params.duration), params.duration)

    def written_before(self, name: str) -> int:
        """What the rounds wrote until a step; steps stand in the order in which they were done."""
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
    """What guard sees of the drive during a pass behind `number` others."""
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
    watch = SimpleNamespace(samples=course)
    document = SimpleNamespace(jobs=())
    window = MeasuredWindow(0.0, float("inf"), 0.0)
    return cast(FioPoint, SimpleNamespace(sides=sides, flags=(), watch=watch, window=window, document=document))


class Run:
    """A test that runs on such a drive, and can be cut off behind any step."""

    def __init__(self, params: QualificationParams, rate: Rate, fill: Rate = steady_fill) -> None:
        self.params = params
        self.rate = rate
        self.fill = fill
        self.outputs: list[Output] = []
        self._pause = False

    @property
    def journal(self) -> Simulated:
        """What is done so far."""
        return Simulated(self.params, self.outputs, self.rate, self.fill)

    @property
    def names(self) -> list[str]:
        """The steps in the order in which they were done."""
        return [output.step.name for output in self.outputs]

    def pause(self) -> None:
        """The next step is the first after a pause."""
        self._pause = True

    def go(self, steps: Callable[[Simulated, Context], Sequence[Step]], most: int = 100_000) -> bool:
        """Until there are no more steps, or `most` are done in all. True when the test is over."""
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
    """What the job file of a step says, as far as the drive needs it."""
    job = step.files.get("job.fio")
    if job is None or not isinstance(step.program, Kernel):
        return None
    options = dict(line.split("=", 1) for line in job.splitlines() if "=" in line)
    wanted: dict[str, Any] = {"rw": options["rw"], "block_size": int(options["bs"])}
    if "io_size" in options:
        wanted["io_size"] = int(options["io_size"])
    return params.fio(MIB, duration=float(options["runtime"].removesuffix("ms")) / 1000, **wanted)
