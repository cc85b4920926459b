"""The base classes of the fio benchmarks. A subclass declares its name, its settings and the setting that it sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar

from pydantic import BeforeValidator

from asct.instruments.fio.contradictions import contradictions
from asct.instruments.fio.depth import DepthBenchmark
from asct.instruments.fio.metrics import BOUND_METRIC, FLAGS, METRICS
from asct.instruments.fio.params import SCRATCH_NAME, AccessPattern, FioParams
from asct.instruments.fio.raid import member_bytes, raid_tools
from asct.instruments.fio.sections import node_matters, scratch_bytes, sections_of, stages_of, writes
from asct.sdk.benchmark import Context
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import GUARD, Needs, Scratch
from asct.sdk.params import Duration, listed, setting

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.record import Measurement, Record
    from asct.sdk.step import Output, Step

OLDEST_FIO: Final = "3.30"
ASSUMED_WRITE_BYTES_PER_S: Final = 2_000_000_000
"""Write rate of a fast NVMe drive, in bytes per second. It is used to estimate the maximum number of bytes that a point
writes."""
_LIKELY_WRITE_BYTES_PER_S: Final = 1_000_000_000
_LIKELY_WRITES_PER_S: Final = 75_000
"""Sustained write rate of an ordinary NVMe drive: 1 GB/s for large requests and 300 MB/s for 4 KiB requests. The drive
qualifications use the same rates to estimate their usual duration."""
_START_SECONDS: Final = 0.5
FIO_BYTES: Final = 64 * 2**20

P = TypeVar("P", bound=FioParams)


class FioBenchmark(DepthBenchmark[P]):
    """A benchmark that runs fio and mpstat for each point. A temporary file is written only once per job."""

    metrics: ClassVar[tuple[Metric, ...]] = METRICS
    flags: ClassVar[Mapping[str, str]] = FLAGS
    axis: ClassVar[str | None] = None
    """The setting that the benchmark sweeps, which is the first column of the table and the x axis of the figures."""
    table_title: ClassVar[str]
    """Title of the table."""

    def check(self, params: P) -> Iterable[tuple[str, str]]:
        """Yield contradictions among the shared settings and in the sweep list."""
        yield from contradictions(params)
        for steps, axis in params.step_settings.items():
            if _both_given(params, steps, axis):
                yield steps, f"`{steps}` and `{axis}` are mutually exclusive; remove one of them"

    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """Return the required resources. `writes_bytes` is an estimate based on ASSUMED_WRITE_BYTES_PER_S."""
        sections = self.loads(params)
        most = sum(_estimated_writes(section, ASSUMED_WRITE_BYTES_PER_S) for section in sections)
        likely = sum(_estimated_writes(section, likely_rate(section.block_size)) for section in sections)
        targets = params.file_names
        write_targets = targets or ("",) if writes(params) or params.raid_level is not None else ()
        stages = [stage.params for stage in stages_of(params)]
        seconds = sum(stage.duration + stage.ramp_time + _START_SECONDS for stage in stages)
        return Needs(
            kernels=(GUARD,),
            tools=(("fio", OLDEST_FIO), *raid_tools(params)),
            optional_tools=("mpstat",),
            memory_bytes=FIO_BYTES + max(map(_buffer_bytes, stages)),
            scratch=Scratch(SCRATCH_NAME, scratch_bytes(params)) if params.makes_file else None,
            seconds=seconds,
            longest_s=seconds,
            writes_bytes=tuple((name, member_bytes(params, len(write_targets), most)) for name in write_targets),
            likely_bytes=tuple((name, member_bytes(params, len(write_targets), likely)) for name in write_targets),
            targets=targets,
            may_overwrite=params.overwrite,
        )

    def loads(self, params: P) -> Sequence[FioParams]:
        """Return the settings of each section."""
        return [section for _, section in sections_of(params)]

    def prepare(self, points: Sequence[P], context: Context) -> Sequence[Step]:
        """Return the step that writes the temporary file."""
        from asct.instruments.fio.process import layout_steps  # imported here: it is not needed to check a plan

        return layout_steps(points, context)

    def steps_known_ahead(self, params: P, facts: HostFacts) -> bool:
        return not node_matters(params, facts)

    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """Return the next steps: one fio process per stage, preceded by an inspection of the drive if necessary."""
        from asct.instruments.fio.process import point_steps

        return point_steps(params, context)

    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values of one repeat. Raises ValueError in the same cases as `measure`."""
        from asct.instruments.fio.measure import measure

        return measure(params, outputs, facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table with one row per point, and tables that combine points."""
        from asct.instruments.fio.tables import sweep_table

        return sweep_table(records, self.name, self.table_title, self.axis)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return curves plotted against the swept setting, and the other figures from `sweep_figures`."""
        from asct.instruments.fio.figures import sweep_figures

        return sweep_figures(records, self.axis)


def _buffer_bytes(stage: FioParams) -> int:
    """Return the total buffer size for all requests in flight."""
    return sum(section.requested_depth * section.block_size for _, section in sections_of(stage))


def _both_given(params: FioParams, steps: str, axis: str) -> bool:
    """Return whether the settings contain both a sweep list and a single value that is not in this list."""
    if not {steps, axis} <= params.model_fields_set:
        return False
    values = getattr(params, steps)
    return values != type(params).model_fields[steps].default and getattr(params, axis) not in values


def likely_rate(block_size: int) -> float:
    """Return the rate, in B/s, at which an ordinary NVMe drive writes requests of `block_size` bytes."""
    return min(_LIKELY_WRITE_BYTES_PER_S, _LIKELY_WRITES_PER_S * block_size)


def _estimated_writes(params: FioParams, bytes_per_s: float) -> int:
    """Return the estimated number of bytes that a section writes to a drive with this write rate."""
    if not params.writes:
        return 0
    share = (100 - params.rwmixread) / 100.0 if params.mixed else 1.0
    if params.io_size is not None:
        return round(params.io_size * share)
    limits = [params.rate, params.rate_iops * params.block_size if params.rate_iops is not None else None]
    rates = [bytes_per_s * share, *(limit * params.numjobs for limit in limits if limit is not None)]
    return round((params.duration + params.ramp_time) * min(rates))


Patterns = Annotated[tuple[AccessPattern, ...], BeforeValidator(listed)]
"""A list of access patterns; accepts text such as `read,write`."""


class SweepParams(FioParams):
    """The shared settings, and a latency bound for the operating points."""

    latency_bound: Duration | None = setting(
        None,
        "Upper limit for the 99th-percentile latency in the table of operating points; if unset, 200us, 500us, 1ms, "
        "2ms, 5ms and 10ms are used",
        aliases=("latency_slo",),
        gt=0,
    )


def steps_setting(axis: str, values: tuple[object, ...], aliases: tuple[str, ...], pitfalls: str = "") -> Any:
    """Declare the setting that lists the values of `axis`, one per point."""
    text = f"Values of `{axis}`, with one point for each value; to measure a single point, set `{axis}` instead"
    return setting(values, text, aliases=aliases, min_length=1, pitfalls=pitfalls)


S = TypeVar("S", bound=SweepParams)


class SweepBenchmark(FioBenchmark[S]):
    """A benchmark that sweeps `axis`."""

    keywords = ("storage", "dsweep", "io")
    metrics: ClassVar[tuple[Metric, ...]] = (
        *METRICS,
        Metric.info(BOUND_METRIC, "s", "Value of the `latency_bound` setting"),
    )
    highlights = (
        Highlight("bandwidth", "Highest bandwidth"),
        Highlight("iops", "Highest IOPS"),
        Highlight("latency", "Lowest mean latency"),
        Highlight("clat_p99", "Lowest 99th percentile"),
    )
    pictures: ClassVar[Mapping[str, str]] = {
        "bandwidth": "{id}/storage_io_bandwidth",
        "io-rate": "{id}/storage_io_io_rate",
        "cpu-utilization": "{id}/storage_io_cpu_utilization",
        "read-latency-distribution": "{id}/storage_io_read_latency_distribution",
        "write-latency-distribution": "{id}/storage_io_write_latency_distribution",
    }

    def parse(self, params: S, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the point's values, including `latency_bound`, because tables are created from records alone."""
        from asct.sdk.record import Measurement

        found = super().parse(params, outputs, facts)
        bound = params.latency_bound
        return found if bound is None else (*found, Measurement(BOUND_METRIC, bound))
