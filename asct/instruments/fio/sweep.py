"""The base of the sweeps: one setting takes several values, and the points together say more than each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, TypeVar

from pydantic import BeforeValidator

from asct.instruments.fio.benchmark import FioBenchmark
from asct.instruments.fio.metrics import METRICS
from asct.instruments.fio.operating import BOUND_METRIC
from asct.instruments.fio.params import AccessPattern, FioParams
from asct.sdk.facts import HostFacts
from asct.sdk.metric import Highlight, Metric
from asct.sdk.params import Duration, Size, listed, setting
from asct.sdk.record import Measurement
from asct.sdk.step import Output

Sizes = Annotated[tuple[Size, ...], BeforeValidator(listed)]
"""A list of sizes; `4K,8K` as text."""
Patterns = Annotated[tuple[AccessPattern, ...], BeforeValidator(listed)]
"""A list of access patterns; `read,write` as text."""


class SweepParams(FioParams):
    """The shared settings, and the latency that a drive is to keep."""

    latency_bound: Duration | None = setting(
        None,
        "Bound of the 99th percentile for the table of operating points; unset: 200us, 500us, 1ms, 2ms, 5ms and 10ms",
        aliases=("latency_slo",),
        gt=0,
    )


S = TypeVar("S", bound=SweepParams)


class SweepBenchmark(FioBenchmark[S]):
    """A benchmark that sweeps `axis`."""

    keywords = ("storage", "dsweep", "io")
    metrics: ClassVar[tuple[Metric, ...]] = (
        *METRICS,
        Metric(BOUND_METRIC, "s", "neither", "The setting latency_bound, where it was set", comparable=False),
    )
    highlights = (
        Highlight("bandwidth", "Highest bandwidth"),
        Highlight("iops", "Most requests per second"),
        Highlight("latency", "Lowest mean latency"),
        Highlight("clat_p99", "Lowest 99th percentile"),
    )

    def parse(self, params: S, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """The values of the point; the bound goes with them, since tables are made of records alone."""
        found = super().parse(params, outputs, facts)
        bound = params.latency_bound
        return found if bound is None else (*found, Measurement(BOUND_METRIC, bound))
