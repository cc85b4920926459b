"""Tables: the levels as users of ASCT know them, the curve as a whole, and the bandwidths that were searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.memory.settings import CYCLE_BASE
from asct.instruments.memory.stream import shown_unit
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    interval_text,
    middle,
    swept_cells,
    swept_columns,
)

COUNTING: Final = (
    "Bandwidth is the bus bandwidth of all load threads together: their loads and stores, and the lines that a "
    "normal store reads first (assumed; some cores avoid this). Useful BW excludes those lines. Neither includes "
    "the loads of the chain."
)


@dataclass(frozen=True, slots=True)
class TableUnits:
    """Units of a table: the metric for latency with its unit and scale, and the unit of bandwidth."""

    suffix: str
    unit: str
    scale: float
    rate: str
    rate_scale: float

    @classmethod
    def of(cls, records: Sequence[Record]) -> TableUnits:
        """Nanoseconds and GB/s, or cycles and bytes per cycle if `cycle_base` was set."""
        rate, rate_scale = shown_unit(records)
        if any(CYCLE_BASE in record.flags for record in records if record.metric == "core_clock"):
            return cls("_cycles", "cycle", 1.0, rate, rate_scale)
        return cls("", "ns", 1e-9, rate, rate_scale)

    def latency(self, key: str, title: str) -> Column:
        """A column of latencies."""
        return Column(key, f"{title} [{self.unit}]", self.scale)

    def seconds(self, key: str, title: str, help: str = "") -> Column:
        """A column of latencies without a metric in cycles: converted with the median core clock if needed."""
        return Column(key, f"{title} [{self.unit}]", 1.0 / self.rate_scale if self.suffix else self.scale, help=help)

    def bandwidth(self, key: str, title: str, help: str = "") -> Column:
        """A column of bandwidths."""
        return Column(key, f"{title} [{self.rate}]", self.rate_scale, help=help)


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """The levels, the curve as a whole, and the targets where there are any; nothing without records."""
    shown = TableUnits.of(records)
    tables = (_levels(records, shown), _summary(records, shown), _targets(records, shown))
    return tuple(table for table in tables if table.rows)


def _levels(records: Sequence[Record], shown: TableUnits) -> Table:
    swept = swept_columns(records)
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        delays = {int(record.coords["delay"]) for record in mine if "delay" in record.coords}
        rows += [
            {**cells, "delay": delay, **_row(mine, shown, "delay", delay)} for delay in sorted(delays, reverse=True)
        ]
    return Table(
        slug="loaded-latency",
        title="Loaded latency with background memory activity",
        columns=(*swept, Column("delay", "Injected NOPs", format="integer"), *_columns(shown)),
        rows=tuple(rows),
        notes=(COUNTING,),
        flags=flags_of(record for record in records if "delay" in record.coords),
    )


def _targets(records: Sequence[Record], shown: TableUnits) -> Table:
    swept = swept_columns(records)
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        for target in sorted({r.coords["target_bandwidth"] for r in mine if r.metric == "nops"}, key=float):
            nops = middle(at(mine, "nops", target_bandwidth=target))
            rows.append({**cells, "target": target, "nops": nops, **_row(mine, shown, "target_bandwidth", target)})
    columns = (
        *swept,
        Column("target", "Target BW [GB/s]", 1e9, help="Useful bytes of all load threads together"),
        Column("nops", "Injected NOPs", digits=0, help="Result of the search"),
        *_columns(shown),
    )
    flags = flags_of(record for record in records if "target_bandwidth" in record.coords)
    return Table("targets", "Latency at target bandwidths", columns, tuple(rows), flags=flags)


def _columns(shown: TableUnits) -> tuple[Column, ...]:
    return (
        shown.latency("latency", "Loaded latency"),
        shown.bandwidth("bandwidth", "Bandwidth"),
        shown.bandwidth("useful", "Useful BW"),
        Column("share", "% of Peak Theoretical BW"),
        Column("workload", "Workload [s]", digits=3, help="Time of the command under this load"),
        Column(
            "interval",
            f"95 % interval [{shown.unit}]",
            format="text",
            help="Interval of the latency; with repeats: their range",
        ),
        Column("flags", "Flags", format="text"),
    )


def _row(mine: Sequence[Record], shown: TableUnits, key: str, value: Scalar) -> dict[str, Scalar | None]:
    here = {name: at(mine, name, **{key: value}) for name in _SHOWN_METRICS}
    latency = here[f"latency{shown.suffix}"]
    bus, useful = middle(here["bus_bandwidth"]), middle(here["bandwidth"])
    return {
        "latency": middle(latency),
        "bandwidth": bus,
        "useful": None if useful == bus else useful,
        "share": middle(here["share_of_theoretical"]),
        "workload": middle(here["workload_time"]),
        "interval": interval_text(latency, shown.scale, 1),
        "flags": ", ".join(flags_of(record for records in here.values() for record in records)),
    }


_SHOWN_METRICS: Final = (
    "latency", "latency_cycles", "bandwidth", "bus_bandwidth", "share_of_theoretical", "workload_time",
)  # fmt: skip


def _summary(records: Sequence[Record], shown: TableUnits) -> Table:
    swept = swept_columns(records)
    names = ("idle_latency", "peak_bandwidth", "knee_bandwidth", "knee_latency", "latency_at_80", "bandwidth_at_115")
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        found = {name: at(mine, name) for name in names}
        if any(found.values()):
            values = {name: middle(repeats) for name, repeats in found.items()}
            flags = flags_of(record for repeats in found.values() for record in repeats)
            rows.append({**swept_cells(mine, swept), **values, "flags": ", ".join(flags)})
    columns = (
        *swept,
        shown.seconds("idle_latency", "Idle latency", "Latency with the load threads parked"),
        shown.bandwidth("peak_bandwidth", "Peak BW", "Highest bus bandwidth of any level"),
        shown.bandwidth("knee_bandwidth", "Knee BW", "The point at which bandwidth / latency is highest"),
        shown.seconds("knee_latency", "Latency at the knee"),
        shown.seconds("latency_at_80", "Latency at 80 % of peak", "Interpolated between the adjacent levels"),
        shown.bandwidth(
            "bandwidth_at_115", "BW at 115 % of idle latency", "The latency stays above beyond this bandwidth"
        ),
        Column("flags", "Flags", format="text"),
    )
    flags = flags_of(record for record in records if record.metric in names)
    return Table("summary", "Summary of the loaded latency curve", columns, tuple(rows), flags=flags)
