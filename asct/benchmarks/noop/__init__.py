"""noop: the overhead of asct per point, determined with a measurement kernel that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import ClassVar

from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Params, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import read_kernel
from asct.sdk.step import Kernel, Output, Step

_CLOCK_S = 0.01
"""Resolution of the clock in a host's shell, in seconds."""
_STEP = Step("noop", Kernel("noop"))


class NoopParams(Params):
    """The only setting: a dummy number that can be swept to create as many points as needed."""

    index: int = setting(0, "Number that distinguishes points; it has no other effect", ge=0, le=1_000_000)


class Noop(Benchmark[NoopParams]):
    """A benchmark whose program exits immediately, so the measured time is the overhead of asct."""

    name = "noop"
    title = "Harness overhead"
    version = "1"
    summary = "Runs a measurement kernel that does nothing, to measure the cost of a point"
    hidden = True
    params_model = NoopParams
    flags: ClassVar[Mapping[str, str]] = {
        "at-most": "the value is an upper limit: the connection was lost, and the host itself measured the point with "
        "a clock resolution of 10 ms"
    }
    metrics = (
        Metric(
            "elapsed", "s", "lower", "Time from the start to the end of the `noop` kernel, as measured by the transport"
        ),
    )

    def needs(self, params: NoopParams, facts: HostFacts | None) -> Needs:
        """Return the resources required: one measurement kernel, no memory, and a few milliseconds."""
        return Needs(kernels=("noop",), seconds=0.003)

    def steps_known_ahead(self, params: NoopParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: NoopParams, context: Context) -> Sequence[Step]:
        """Return the single step, which is the same for every point."""
        return () if context.done else (_STEP,)

    def parse(self, params: NoopParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the elapsed time of the step; raise ValueError if the `noop` kernel failed."""
        for output in outputs:
            read_kernel(output)
        elapsed_s = sum(output.elapsed_ns for output in outputs) / 1e9
        if elapsed_s == 0:
            return (Measurement("elapsed", _CLOCK_S, flags=("at-most",)),)
        return (Measurement("elapsed", elapsed_s),)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table with one row: the number of points and their times."""
        values = [record.value for record in records if record.metric == "elapsed"]
        if not values:
            return ()
        columns = (
            Column("points", "Points", format="integer"),
            Column("median", "Median [ms]", scale=1e-3, digits=2),
            Column("min", "Shortest [ms]", scale=1e-3, digits=2),
            Column("max", "Longest [ms]", scale=1e-3, digits=2),
        )
        row = {"points": len(values), "median": median(values), "min": min(values), "max": max(values)}
        return (Table("noop", "Time taken by a point that does nothing", columns, (dict(row),)),)


BENCHMARK = Noop()
