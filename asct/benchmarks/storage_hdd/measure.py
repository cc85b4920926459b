"""From the outputs of all cells of all zones to the values of the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.storage_hdd.params import Cell, Zone
from asct.instruments.fio.point import Point
from asct.sdk.record import Measurement, Scalar, doubtful
from asct.sdk.samples import stats_of
from asct.statistics.robust import median, running_median

EDGE_SHARE: Final = 8
"""One zone of so many counts as outer, as many as inner."""
SLOW: Final = 0.7
"""A zone below this share of its neighbours is slow."""
_NEIGHBOURS: Final = 7
_MOST_DOUBTFUL: Final = 0.1
QUANTITIES: Final = ("iops", "bandwidth", "latency")


@dataclass(frozen=True, slots=True)
class Visit:
    """What fio measured of a cell in a zone."""

    zone: Zone
    cell: Cell
    point: Point

    def value(self, quantity: str) -> float | None:
        """Rate, bandwidth or mean total latency of reads and writes together."""
        side = self.point.sides[""]
        if quantity == "latency":
            return None if side.lat is None else side.lat.mean_ns * 1e-9
        return side.iops if quantity == "iops" else side.bandwidth

    @property
    def doubtful(self) -> bool:
        """Whether a flag says not to trust it."""
        return any(doubtful(flag) for flag in self.point.flags)


def place(cell: Cell) -> dict[str, Scalar]:
    """The coordinates of a cell."""
    return {"rw": cell.pattern, "block_size": cell.block_size, "rwmixread": cell.reads}


def measurements(visits: Sequence[Visit], *, blocks_left_out: bool = False) -> Iterator[Measurement]:
    """Every zone as a detail, then each cell over the whole disk. `visits` holds at least one."""
    zones = {visit.zone.index: visit.zone for visit in visits}
    for index in sorted(zones):
        yield Measurement("zone_offset", float(zones[index].offset), {"zone": index})
    marks = ("blocks-left-out",) if blocks_left_out else ()
    yield Measurement("zone_size", float(next(iter(zones.values())).size), flags=marks)
    cells: dict[Cell, list[Visit]] = {}
    for visit in sorted(visits, key=lambda one: one.zone.index):
        cells.setdefault(visit.cell, []).append(visit)
    for cell, mine in cells.items():
        slow = slow_zones(mine)
        yield from _details(mine, slow)
        yield from _whole(cell, mine, len(slow))


def slow_zones(visits: Sequence[Visit]) -> frozenset[int]:
    """Zones far below their neighbours: sectors that were moved elsewhere, or that are read again and again.

    A disk changes from zone to zone by a few percent, so the running median of the neighbours is what to expect.
    """
    rates = [visit.point.sides[""].bandwidth for visit in visits]
    expected = running_median(rates, _NEIGHBOURS)
    return frozenset(
        visit.zone.index for visit, rate, usual in zip(visits, rates, expected, strict=True) if rate < SLOW * usual
    )


def _details(visits: Sequence[Visit], slow: frozenset[int]) -> Iterator[Measurement]:
    for visit in visits:
        flags = (*visit.point.flags, "slow-zone") if visit.zone.index in slow else visit.point.flags
        coords = place(visit.cell) | {"zone": visit.zone.index}
        for quantity in QUANTITIES:
            value = visit.value(quantity)
            if value is not None:
                yield Measurement(f"zone_{quantity}", value, coords, flags=flags, detail=True)


def _whole(cell: Cell, visits: Sequence[Visit], slow: int) -> Iterator[Measurement]:
    """The disk as a whole, its outer and its inner part, and their ratio."""
    trusted = [visit for visit in visits if not visit.doubtful]
    used = trusted or list(visits)
    flags = _flags(visits, trusted)
    edge = max(1, len(used) // EDGE_SHARE)
    parts: Mapping[str, Sequence[Visit]] = {"all": used, "outer": used[:edge], "inner": used[-edge:]}
    for quantity in QUANTITIES:
        for part, members in parts.items():
            values = [value for visit in members if (value := visit.value(quantity)) is not None]
            if values:
                coords = place(cell) | {"part": part}
                yield Measurement(quantity, median(values), coords, stats_of(values, independent=False), flags)
    outer, inner = (median([visit.point.sides[""].bandwidth for visit in parts[part]]) for part in ("outer", "inner"))
    if inner > 0:
        yield Measurement("outer_to_inner", outer / inner, place(cell), flags=flags)
    yield Measurement("slow_zones", float(slow), place(cell), flags=flags)


def _flags(visits: Sequence[Visit], trusted: Sequence[Visit]) -> tuple[str, ...]:
    """The flags that all zones share; what speaks against some of them says that these were left out."""
    shared = set(visits[0].point.flags).intersection(*(visit.point.flags for visit in visits))
    found = [flag for flag in visits[0].point.flags if flag in shared]
    left_out = len(visits) - len(trusted)
    if trusted and left_out > _MOST_DOUBTFUL * len(visits):
        found.append("noisy-zones")
    elif trusted and left_out:
        found.append("zones-left-out")
    elif not trusted and not any(doubtful(flag) for flag in found):
        found.append("noisy-zones")
    return tuple(found)
