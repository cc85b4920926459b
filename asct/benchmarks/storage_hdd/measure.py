"""Combine the results of all workloads in all zones into values for the whole disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.storage_hdd.params import Zone
from asct.instruments.qualification.journal import FioSummary
from asct.instruments.qualification.settings import Workload
from asct.sdk.record import Measurement, doubtful, shared_flags
from asct.sdk.samples import stats_of
from asct.statistics.robust import median, running_median
from asct.values.grouping import grouped

EDGE_SHARE: Final = 8
"""The first 1/EDGE_SHARE of the zones are the outer zones, and the last 1/EDGE_SHARE are the inner zones."""
SLOW: Final = 0.7
"""A zone is slow if its rate is below this share of its neighbors' rate."""
_NEIGHBOURS: Final = 7
QUANTITIES: Final = ("iops", "bandwidth", "latency")


@dataclass(frozen=True, slots=True)
class ZoneResult:
    """The result of one workload in one zone."""

    zone: Zone
    cell: Workload
    summary: FioSummary


def measurements(results: Sequence[ZoneResult], *, blocks_left_out: bool = False) -> Iterator[Measurement]:
    """Yield the values of every zone as details, followed by the values of each workload for the whole disk. `results`
    must not be empty."""
    zones = {result.zone.index: result.zone for result in results}
    for index in sorted(zones):
        yield Measurement("zone_offset", float(zones[index].offset), {"zone": index})
    marks = ("blocks-left-out",) if blocks_left_out else ()
    yield Measurement("zone_size", float(next(iter(zones.values())).size), flags=marks)
    in_order = sorted(results, key=lambda one: one.zone.index)
    for cell, mine in grouped(in_order, lambda one: one.cell).items():
        slow = slow_zones(mine)
        yield from _details(mine, slow)
        yield from _whole(cell, mine, len(slow))


def slow_zones(results: Sequence[ZoneResult]) -> frozenset[int]:
    """Return the zones that are far slower than their neighbors, for example because sectors were reallocated or need
    several reads.

    The rate changes by only a few percent from zone to zone, so the running median of the neighbors is the expected
    rate.
    """
    rates = [result.summary.bandwidth for result in results]
    expected = running_median(rates, _NEIGHBOURS)
    return frozenset(
        result.zone.index for result, rate, usual in zip(results, rates, expected, strict=True) if rate < SLOW * usual
    )


def _details(results: Sequence[ZoneResult], slow: frozenset[int]) -> Iterator[Measurement]:
    for result in results:
        flags = (*result.summary.level_flags, *(("slow-zone",) if result.zone.index in slow else ()))
        coords = result.cell.coords | {"zone": result.zone.index}
        for quantity in QUANTITIES:
            value = getattr(result.summary, quantity)
            if value is not None:
                yield Measurement(f"zone_{quantity}", value, coords, flags=flags, detail=True)


def _whole(cell: Workload, results: Sequence[ZoneResult], slow: int) -> Iterator[Measurement]:
    """Yield the values of the whole disk and of its outer and inner parts, and the ratio of the two parts."""
    used = [result for result in results if not any(map(doubtful, result.summary.level_flags))] or list(results)
    flags = shared_flags([result.summary.level_flags for result in results], "noisy-zones")
    if len(used) < len(results) and not any(map(doubtful, flags)):
        flags += ("zones-left-out",)
    edge = max(1, len(used) // EDGE_SHARE)
    parts: Mapping[str, Sequence[ZoneResult]] = {"all": used, "outer": used[:edge], "inner": used[-edge:]}
    for quantity in QUANTITIES:
        for part, members in parts.items():
            values = [value for one in members if (value := getattr(one.summary, quantity)) is not None]
            if values:
                coords = cell.coords | {"part": part}
                yield Measurement(quantity, median(values), coords, stats_of(values, independent=False), flags)
    outer, inner = (median([result.summary.bandwidth for result in parts[part]]) for part in ("outer", "inner"))
    if inner > 0:
        yield Measurement("outer_to_inner", outer / inner, cell.coords, flags=flags)
    yield Measurement("slow_zones", float(slow), cell.coords, flags=flags)
