"""storage-hdd: IOPS, bandwidth and latency of a hard disk across its zones, from the outer to the inner tracks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from asct.benchmarks.storage_hdd.measure import ZoneResult, measurements
from asct.benchmarks.storage_hdd.params import HddParams, Zone, zone_visits, zones_of
from asct.benchmarks.storage_hdd.report import all_tables, zone_figures
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S, FIO_BYTES, OLDEST_FIO
from asct.instruments.fio.contradictions import contradictions
from asct.instruments.fio.depth import DepthBenchmark
from asct.instruments.fio.devices import device_values
from asct.instruments.fio.metrics import DEVICE_METRICS, FLAGS
from asct.instruments.fio.params import SCRATCH_NAME, FioParams
from asct.instruments.fio.point import read_point
from asct.instruments.fio.process import INSPECTION, fio_step, layout_steps, limit_s, targets_of
from asct.instruments.fio.sections import scratch_bytes
from asct.instruments.guard_output import GuardTarget, read_guard_output
from asct.instruments.qualification.journal import FioSummary
from asct.instruments.qualification.settings import Workload
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.guard import inspection
from asct.sdk.metric import Better, Coords, Highlight, Metric, Unit
from asct.sdk.needs import GUARD, Needs, Scratch
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Output, Step

_CELL: Final[Coords] = {"rw": None, "block_size": None, "rwmixread": None}
_ANY: Final = dict.fromkeys(_CELL)
_PART: Final = _CELL | {"part": ("all", "outer", "inner")}
_ZONE: Final = _CELL | {"zone": None}
_WHAT: Final[dict[str, tuple[Unit, Better, str]]] = {
    "iops": ("ops/s", "higher", "IOPS"),
    "bandwidth": ("B/s", "higher", "Bytes per second"),
    "latency": ("s", "lower", "Mean latency"),
}
_START_SECONDS: Final = 0.8
_DISK_BYTES_PER_S: Final = 250_000_000
_DISK_REQUESTS_PER_S: Final = 400
"""Rates of a typical disk: bytes per second for a stream in the outer zones, and requests per second for random writes
through the write cache."""


class StorageHdd(DepthBenchmark[HddParams]):
    """A benchmark that inspects the target, then runs one fio process for every workload in every zone."""

    name = "storage-hdd"
    title = "Zones of a hard disk"
    version = "2"
    summary = "IOPS, bandwidth and latency of a hard disk across its zones (TKperf's hdd tests)"
    aliases = ("shdd",)
    keywords = ("hdd", "qualification", "long-runtime")
    params_model = HddParams
    flags: ClassVar[Mapping[str, str]] = FLAGS | {
        "slow-zone": "the zone's rate is below 70 % of its neighbors' rate; possible causes are remapped sectors, "
        "repeated reads, or other load",
        "zones-left-out": "zones with unreliable results are excluded from the disk's values",
        "noisy-zones": "more than a tenth of the zones have unreliable results",
        "blocks-left-out": "block sizes smaller than a logical block of the target (such as 512 bytes on a 4Kn "
        "disk) were skipped",
    }
    highlights = (
        Highlight("bandwidth", "Sequential reads, outer zones", _ANY | {"rw": "read", "part": "outer"}),
        Highlight("bandwidth", "Sequential reads, inner zones", _ANY | {"rw": "read", "part": "inner"}),
        Highlight("iops", "Random reads", _ANY | {"rw": "randread", "part": "all"}),
    )
    metrics = (
        *(
            Metric(name, unit, better, f"{text}, median over the zones", _PART)
            for name, (unit, better, text) in _WHAT.items()
        ),
        *(
            Metric(f"zone_{name}", unit, better, f"{text} in one zone", _ZONE)
            for name, (unit, better, text) in _WHAT.items()
        ),
        Metric(
            "outer_to_inner",
            "1",
            "neither",
            "Bandwidth in the outer zones, relative to the inner zones",
            _CELL,
        ),
        Metric("slow_zones", "1", "lower", "Number of zones that are far slower than their neighbors", _CELL),
        Metric.info("zone_offset", "B", "First byte of a zone", {"zone": None}),
        Metric.info("zone_size", "B", "Size of each zone"),
        *DEVICE_METRICS,
    )

    def check(self, params: HddParams) -> Iterable[tuple[str, str]]:
        """Yield errors for contradictory target settings, several targets, and settings that leave nothing to
        measure."""
        yield from contradictions(params.whole())
        if len(params.file_names) > 1:
            yield (
                "file_names",
                ("the zones belong to one disk; use a single target, and sweep `file_names` to measure several disks"),
            )
        if not params.cells():
            missing = "`mixes` does not include 100, and `test` does not include `throughput`"
            yield "write", f"`write: false` leaves nothing to measure: {missing}"
        if any(reads > 100 for reads in params.mixes):
            yield "mixes", "a read percentage cannot exceed 100"

    def needs(self, params: HddParams, facts: HostFacts | None) -> Needs:
        """Return the resources required. The time covers all workloads in all zones. The maximum number of bytes is far
        more than a disk actually writes."""
        cells = params.cells()
        seconds = params.zones * len(cells) * (params.duration + params.ramp_time + _START_SECONDS)
        share = sum(1.0 - cell.reads / 100.0 for cell in cells)
        most = round(params.zones * share * (params.duration + params.ramp_time) * ASSUMED_WRITE_BYTES_PER_S)
        likely = params.zones * (params.duration + params.ramp_time) * sum(map(_likely_rate, cells))
        target = next(iter(params.file_names), "")
        whole = params.whole()
        return Needs(
            kernels=(GUARD,),
            tools=(("fio", OLDEST_FIO),),
            optional_tools=("mpstat",),
            memory_bytes=FIO_BYTES + whole.requested_depth * max(cell.block_size for cell in cells),
            scratch=Scratch(SCRATCH_NAME, scratch_bytes(whole)) if params.makes_file else None,
            seconds=seconds,
            writes_bytes=((target, most),) if params.writes else (),
            likely_bytes=((target, round(likely)),) if params.writes else (),
            targets=params.file_names,
            may_overwrite=params.overwrite,
        )

    def loads(self, params: HddParams) -> Sequence[FioParams]:
        """Return the settings for the whole target, because all zones have the same queue depth."""
        return [params.whole()]

    def prepare(self, points: Sequence[HddParams], context: Context) -> Sequence[Step]:
        """Return the step that lays out the temporary file."""
        return layout_steps([point.whole() for point in points], context)

    def continues(self, params: HddParams) -> bool:
        """Return whether an interrupted test can be continued.

        This is possible for a drive, because zones are independent, but not for a temporary file, which is deleted on
        interruption.
        """
        return not params.makes_file

    def steps(self, params: HddParams, context: Context) -> Sequence[Step]:
        """Return the inspection of the target, followed by one fio process per workload and zone.

        Raises ValueError if the zones are too small.
        """
        if not context.done:
            return (inspection(targets_of(params.whole(), context), INSPECTION),)
        plan = _plan(params, context.done[0])
        done = len(context.done) - 1
        if done == len(plan):
            return ()
        zone, cell = plan[done]
        name = f"zone{zone.index:04d}-{cell.name}"
        settings = params.fio(cell, zone)
        step = fio_step(settings, context, name, dirty=params.writes and done > 0)
        return (replace(step, timeout_s=limit_s(settings)),)

    def parse(self, params: HddParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values of every workload in every zone, and of the whole disk."""
        if len(outputs) < 2:
            raise ValueError("no zone was measured")
        plan = _plan(params, outputs[0])
        pairs = zip(plan, outputs[1:], strict=True)
        found = [
            ZoneResult(zone, cell, FioSummary.of(read_point(params.fio(cell, zone), one, facts)))
            for (zone, cell), one in pairs
        ]
        left_out = len(params.cells()) > len(plan) // params.zones
        return [*device_values(read_guard_output(outputs[0])), *measurements(found, blocks_left_out=left_out)]

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the workloads across the disk and, for exports, of every zone."""
        return all_tables(records)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return figures that plot the values of the zones against their position on the disk."""
        return zone_figures(records)


def _plan(params: HddParams, inspected: Output) -> Sequence[tuple[Zone, Workload]]:
    """Return all zones and workloads in order, as determined by the inspection of the target."""
    device = read_guard_output(inspected).before[0]
    cells = params.cells(int(device.scalar("logical_block") or 512))
    if not cells:
        raise ValueError("every block size is smaller than the target's logical block size; use larger block sizes")
    size = _bytes(device)
    span = size if params.filesize is None else min(size, params.filesize)
    zones = zones_of(span, params.zones, max(cell.block_size for cell in cells))
    return tuple(zone_visits(zones, cells, scattered=params.order == "scattered"))


def _bytes(device: GuardTarget) -> int:
    size = device.scalar("bytes")
    if not isinstance(size, int) or size <= 0:
        raise ValueError(f"the `guard` kernel could not read the size of {device.path}")
    return size


def _likely_rate(cell: Workload) -> float:
    """Return the rate, in B/s, at which a disk is likely to write under this workload."""
    rate = min(_DISK_BYTES_PER_S, _DISK_REQUESTS_PER_S * cell.block_size) if cell.random else _DISK_BYTES_PER_S
    return rate * (1.0 - cell.reads / 100.0)


BENCHMARK = StorageHdd()
