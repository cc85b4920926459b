"""The tables and the figure of loaded-latency: the levels (as in Arm's ASCT), a summary of the curve, and target
bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.benchmarks.loaded_latency.measure import NO_LOAD
from asct.instruments.memory.sizes import working_set_note
from asct.instruments.memory.stream import IN_CYCLES, IN_TIME
from asct.sdk.figure import Axis, Column, Line, Marker, Series, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flag_cell,
    flags_of,
    interval_text,
    middle,
    over_measured,
    point_label,
    point_rows,
    series_of,
)
from asct.statistics.robust import median
from asct.values.quantity import format_quantity

COUNTING: Final = (
    "Bandwidth is the bus bandwidth of all load threads together: their loads and stores, plus the lines that a "
    "normal store is assumed to read first (some cores avoid this). Useful BW excludes those lines. Neither includes "
    "the loads of the chain."
)


@dataclass(frozen=True, slots=True)
class TableUnits:
    """The units of a table: the suffix of latency metrics, and the unit and scale of latency and of bandwidth."""

    suffix: str
    unit: str
    scale: float
    rate: str
    rate_scale: float

    @classmethod
    def of(cls, records: Sequence[Record], cycles: bool) -> TableUnits:
        """Return the units nanoseconds and GB/s or, if `cycle_base` is set, cycles and bytes per cycle."""
        if not cycles:
            return cls("", "ns", 1e-9, IN_TIME.unit, IN_TIME.scale)
        clock_hz = median([record.value for record in at(records, "core_clock")])
        return cls("_cycles", "cycle", 1.0, IN_CYCLES.unit, clock_hz)

    def latency(self, key: str, title: str) -> Column:
        """Return a column for the latency metric `key`, with the unit in its title."""
        return Column(key, f"{title} [{self.unit}]", self.scale)

    def seconds(self, key: str, title: str, help: str = "") -> Column:
        """Return a column of latencies that have no metric in cycles. If the table shows cycles, the latencies are
        converted with the median core clock."""
        return Column(key, f"{title} [{self.unit}]", 1.0 / self.rate_scale if self.suffix else self.scale, help=help)

    def bandwidth(self, key: str, title: str, help: str = "") -> Column:
        """Return a column for the bandwidth metric `key`, with the unit in its title."""
        return Column(key, f"{title} [{self.rate}]", self.rate_scale, help=help)


def all_tables(records: Sequence[Record], cycles: bool) -> tuple[Table, ...]:
    """Return the levels, the summary of the curve, and the targets, omitting empty tables."""
    units = TableUnits.of(records, cycles)
    tables = (_levels(records, units), _summary(records, units), _targets(records, units))
    return tuple(table for table in tables if table.rows)


def _levels(records: Sequence[Record], units: TableUnits) -> Table:
    def rows(mine: Sequence[Record]) -> list[Row]:
        delays = sorted({int(record.coords["delay"]) for record in mine if "delay" in record.coords}, reverse=True)
        return [{"delay": delay, **_row(mine, units, "delay", delay)} for delay in delays]

    columns = (Column("delay", "Injected NOPs", format="integer"), *_columns(units))
    title = "Loaded latency with background memory activity"
    flags = flags_of(record for record in records if "delay" in record.coords)
    notes = (COUNTING, *working_set_note(records, "Latency"))
    return Table("loaded-latency", title, *point_rows(records, columns, rows), notes, flags)


def _targets(records: Sequence[Record], units: TableUnits) -> Table:
    def rows(mine: Sequence[Record]) -> list[Row]:
        targets = sorted({record.coords["target_bandwidth"] for record in at(mine, "nops")}, key=float)
        return [
            {
                "target": target,
                "nops": middle(at(mine, "nops", target_bandwidth=target)),
                **_row(mine, units, "target_bandwidth", target),
            }
            for target in targets
        ]

    columns = (
        Column("target", "Target BW [GB/s]", 1e9, help="Useful bytes of all load threads together"),
        Column("nops", "Injected NOPs", digits=0, help="Found by the search"),
        *_columns(units),
    )
    flags = flags_of(record for record in records if "target_bandwidth" in record.coords)
    return Table("targets", "Latency at target bandwidths", *point_rows(records, columns, rows), flags=flags)


def _columns(units: TableUnits) -> tuple[Column, ...]:
    return (
        units.latency("latency", "Loaded latency"),
        units.bandwidth("bandwidth", "Bandwidth"),
        units.bandwidth("useful", "Useful BW"),
        Column("share", "% of Peak Theoretical BW"),
        Column("workload", "Workload [s]", digits=3, help="Run time of the command under this load"),
        Column(
            "interval",
            f"95 % interval [{units.unit}]",
            format="text",
            help="Interval for the latency; if there are several repeats, the range of their values",
        ),
        FLAGS_COLUMN,
    )


def _row(mine: Sequence[Record], units: TableUnits, key: str, value: Scalar) -> Row:
    here = {name: at(mine, name, **{key: value}) for name in _SHOWN_METRICS}
    latency = here[f"latency{units.suffix}"]
    bus, useful = middle(here["bus_bandwidth"]), middle(here["bandwidth"])
    return {
        "latency": middle(latency),
        "bandwidth": bus,
        "useful": None if useful == bus else useful,
        "share": middle(here["share_of_theoretical"]),
        "workload": middle(here["workload_time"]),
        "interval": interval_text(latency, units.scale, 1),
        **flag_cell(record for records in here.values() for record in records),
    }


_SHOWN_METRICS: Final = (
    "latency", "latency_cycles", "bandwidth", "bus_bandwidth", "share_of_theoretical", "workload_time",
)  # fmt: skip


def _summary(records: Sequence[Record], units: TableUnits) -> Table:
    columns = (
        units.seconds("idle_latency", "Idle latency", "Latency with the load threads idle"),
        units.bandwidth("peak_bandwidth", "Peak BW", "Highest bus bandwidth of any level"),
        units.bandwidth("knee_bandwidth", "Knee BW", "The point at which bandwidth / latency is highest"),
        units.seconds("knee_latency", "Latency at the knee"),
        units.seconds("latency_at_80", "Latency at 80 % of peak", "Interpolated between the adjacent levels"),
        units.bandwidth(
            "bandwidth_at_115",
            "BW at 115 % of idle latency",
            "At higher bandwidths, the latency stays above 115 % of the idle latency",
        ),
    )
    names = [column.key for column in columns]

    def rows(mine: Sequence[Record]) -> list[Row]:
        found = {name: at(mine, name) for name in names}
        values: Row = {name: middle(repeats) for name, repeats in found.items()}
        flags = flag_cell(record for repeats in found.values() for record in repeats)
        return [values | flags] if any(found.values()) else []

    flags = flags_of(record for record in records if record.metric in names)
    all_columns, found = point_rows(records, (*columns, FLAGS_COLUMN), rows)
    return Table("summary", "Summary of the loaded latency curve", all_columns, found, flags=flags)


def load_curve(records: Sequence[Record], cycles: bool) -> Line | None:
    """Return one line per point, from the lowest to the highest load, or None unless both latency and bandwidth were
    measured."""
    units = TableUnits.of(records, cycles)
    metric = f"latency{units.suffix}"
    points = by_point(records)
    series = [one for mine in points if (one := _series(mine, metric)) is not None]
    if not series:
        return None
    return Line(
        slug="loaded-latency",
        title="Latency under load",
        caption=(
            "Latency of one dependent load against the bandwidth of the other CPUs on the memory bus, in order of "
            "increasing load: medians with 95 % intervals. The numbers beside the marks are the NOPs that each load "
            "thread executes between its accesses. Bandwidth / latency is highest at the knee."
        ),
        x=Axis("Bandwidth", "B/s", better="higher"),
        y=Axis("Latency", "cycles" if units.suffix else "s", better="lower"),
        series=tuple(series),
        markers=(*(_knee(records) if len(points) == 1 else ()), *_theoretical(records, series)),
    )


def _series(mine: Sequence[Record], metric: str) -> Series | None:
    """Return the points in order of increasing load, not of bandwidth, because after saturation, more load may result
    in less bandwidth.

    Levels whose load was never present are not part of the curve.
    """
    mine = [record for record in mine if NO_LOAD not in record.flags]
    delays = sorted(
        {int(record.coords["delay"]) for record in at(mine, metric) if "delay" in record.coords}, reverse=True
    )
    levels = [(delay, at(mine, "bus_bandwidth", delay=delay), at(mine, metric, delay=delay)) for delay in delays]
    both = [(delay, bandwidth, latency) for delay, bandwidth, latency in levels if bandwidth and latency]
    if not both:
        return None
    x = [middle(bandwidth) or 0.0 for _, bandwidth, _ in both]
    series = series_of(point_label(mine[0], "latency"), x, [latency for _, _, latency in both])
    series = over_measured(series, [bandwidth for _, bandwidth, _ in both])
    return replace(series, labels=tuple(f"{delay}" for delay, _, _ in both), labels_name="NOPs")


def _theoretical(records: Sequence[Record], series: Sequence[Series]) -> tuple[Marker, ...]:
    """Return a line at the theoretical peak, unless it is so far away that the curve would be hard to read."""
    peak, highest = middle(at(records, "theoretical_bandwidth")), max(float(x) for one in series for x in one.x)
    if peak is None or peak > 2 * highest:
        return ()
    return (Marker(peak, "theoretical peak", "hint", format_quantity(peak, "B/s")),)


def _knee(records: Sequence[Record]) -> tuple[Marker, ...]:
    bandwidth, latency = middle(at(records, "knee_bandwidth")), middle(at(records, "knee_latency"))
    if bandwidth is None or latency is None:
        return ()
    return (Marker(bandwidth, "knee:", value=format_quantity(latency, "s")),)
