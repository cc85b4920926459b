"""Combine the results of all workloads in all zones into the values of the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.storage_hdd.params import Zone, ZoneWorkload
from asct.instruments.fio.point import FioPoint
from asct.sdk.record import Measurement, doubtful
from asct.sdk.samples import stats_of
from asct.statistics.robust import median, running_median

EDGE_SHARE: Final = 8
"""The first 1/EDGE_SHARE of the zones are the outer zones, and the last 1/EDGE_SHARE are the inner zones."""
SLOW: Final = 0.7
"""A zone is slow if its rate is below this share of its neighbors' rate."""
_NEIGHBOURS: Final = 7
_MOST_DOUBTFUL: Final = 0.1
QUANTITIES: Final = ("iops", "bandwidth", "latency")


@dataclass(frozen=True, slots=True)
class ZoneResult:
    """The result of one workload in one zone."""

    zone: Zone
    cell: ZoneWorkload
    point: FioPoint

    def value(self, quantity: str) -> float | None:
        """Return the IOPS, the bandwidth or the mean total latency of reads and writes combined."""
        side = self.point.sides[""]
        if quantity == "latency":
            return None if side.lat is None else side.lat.mean_ns * 1e-9
        return side.iops if quantity == "iops" else side.bandwidth

    @property
    def doubtful(self) -> bool:
        """Whether the result has a flag that casts doubt on it."""
        return any(doubtful(flag) for flag in self.point.flags)


def measurements(results: Sequence[ZoneResult], *, blocks_left_out: bool = False) -> Iterator[Measurement]:
    """Yield the values of every zone as details, followed by those of each workload over the whole disk. `results` must
    not be empty."""
    zones = {result.zone.index: result.zone for result in results}
    for index in sorted(zones):
        yield Measurement("zone_offset", float(zones[index].offset), {"zone": index})
    marks = ("blocks-left-out",) if blocks_left_out else ()
    yield Measurement("zone_size", float(next(iter(zones.values())).size), flags=marks)
    cells: dict[ZoneWorkload, list[ZoneResult]] = {}
    for result in sorted(results, key=lambda one: one.zone.index):
        cells.setdefault(result.cell, []).append(result)
    for cell, mine in cells.items():
        slow = slow_zones(mine)
        yield from _details(mine, slow)
        yield from _whole(cell, mine, len(slow))


def slow_zones(results: Sequence[ZoneResult]) -> frozenset[int]:
    """Return the zones that are far slower than their neighbors, for example because sectors were reallocated or need
    several reads.

    The rate changes by only a few percent from zone to zone, so the running median of the neighbors is the expected
    rate.
    """
    rates = [result.point.sides[""].bandwidth for result in results]
    expected = running_median(rates, _NEIGHBOURS)
    return frozenset(
        result.zone.index for result, rate, usual in zip(results, rates, expected, strict=True) if rate < SLOW * usual
    )


def _details(results: Sequence[ZoneResult], slow: frozenset[int]) -> Iterator[Measurement]:
    for result in results:
        flags = (*result.point.flags, "slow-zone") if result.zone.index in slow else result.point.flags
        coords = result.cell.coords | {"zone": result.zone.index}
        for quantity in QUANTITIES:
            value = result.value(quantity)
            if value is not None:
                yield Measurement(f"zone_{quantity}", value, coords, flags=flags, detail=True)


def _whole(cell: ZoneWorkload, results: Sequence[ZoneResult], slow: int) -> Iterator[Measurement]:
    """Yield the values of the whole disk and of its outer and inner parts, and the ratio of the two parts."""
    trusted = [result for result in results if not result.doubtful]
    used = trusted or list(results)
    flags = _flags(results, trusted)
    edge = max(1, len(used) // EDGE_SHARE)
    parts: Mapping[str, Sequence[ZoneResult]] = {"all": used, "outer": used[:edge], "inner": used[-edge:]}
    for quantity in QUANTITIES:
        for part, members in parts.items():
            values = [value for result in members if (value := result.value(quantity)) is not None]
            if values:
                coords = cell.coords | {"part": part}
                yield Measurement(quantity, median(values), coords, stats_of(values, independent=False), flags)
    outer, inner = (median([result.point.sides[""].bandwidth for result in parts[part]]) for part in ("outer", "inner"))
    if inner > 0:
        yield Measurement("outer_to_inner", outer / inner, cell.coords, flags=flags)
    yield Measurement("slow_zones", float(slow), cell.coords, flags=flags)


def _flags(results: Sequence[ZoneResult], trusted: Sequence[ZoneResult]) -> tuple[str, ...]:
    """Return the flags that all zones share, and a flag if unreliable zones were excluded."""
    shared = set(results[0].point.flags).intersection(*(result.point.flags for result in results))
    found = [flag for flag in results[0].point.flags if flag in shared]
    left_out = len(results) - len(trusted)
    if trusted and left_out > _MOST_DOUBTFUL * len(results):
        found.append("noisy-zones")
    elif trusted and left_out:
        found.append("zones-left-out")
    elif not trusted and not any(doubtful(flag) for flag in found):
        found.append("noisy-zones")
    return tuple(found)
