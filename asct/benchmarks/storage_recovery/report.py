"""The report of storage-recovery: tables of pauses, phases, operating points and the matrix, tables of bursts and
rounds for exports, and figures of the bursts, phases, load and response times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from asct.benchmarks.storage_recovery.params import SCATTER, STREAM
from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.demand_report import demand_figures, demand_tables, rows_of
from asct.instruments.qualification.settings import size_name
from asct.instruments.qualification.tables import first_repeat
from asct.sdk.figure import Axis, Column, Figure, Line, Series, Table
from asct.sdk.record import Record
from asct.sdk.rows import FLAGS_COLUMN, Row, at, by_point, flag_cell, flags_of, middle, point_label, series_of
from asct.values.grouping import grouped

_US: Final = 1e-6
_MB: Final = 1e6
_PAUSES: Final = (
    Column("wait", "Pause (s)", digits=1),
    Column("recovered_iops", "IOPS of bursts", digits=0),
    Column("baseline_iops", "IOPS without pauses", digits=0),
    Column("idle_gain", "Gain (x)", digits=2),
    Column("settling_time", "Settled after (s)", digits=1, help="time until the writes without pauses leveled off"),
    Column("idle_time", "Actual pause (s)", digits=2),
)
_SPELLS: Final = (
    Column("spell", "Phase", format="text"),
    Column("load", "Load", format="text"),
    Column("spell_length", "Time (s)", digits=0),
    Column("level_bandwidth", "TP at the end (MB/s)", _MB),
    Column("mean_latency", "ART (us)", _US, help="mean response time"),
    Column("max_latency", "MRT (us)", _US, help="maximum response time"),
    Column("recovered_share", "Share of first", digits=3, help="level relative to the first stream"),
    Column("recovery_time", "Recovered after (s)", digits=1),
)
_BURSTS: Final = (
    Column("wait", "Pause (s)", digits=1),
    Column("burst", "Burst", format="integer"),
    Column("burst_iops", "IOPS"),
    Column("burst_latency", "Mean lat. (us)", _US),
)
_ROUNDS: Final = (
    Column("spell", "Phase", format="text"),
    Column("round", "Round", format="integer"),
    Column("spell_time", "Time (s)"),
    Column("spell_bandwidth", "TP (MB/s)", _MB),
    Column("spell_latency", "ART (us)", _US),
    Column("spell_latency_max", "MRT (us)", _US),
)
_LOADS: Final[Mapping[str, str]] = {
    "before": f"sequential {size_name(STREAM.block_size)} writes",
    "between": f"random {size_name(SCATTER.block_size)} writes",
    "after": f"sequential {size_name(STREAM.block_size)} writes",
}
UNITS_NOTE: Final = "MB = 1,000,000 bytes"


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """Return the non-empty tables of all three tests, and the drive table."""
    fast = any("fast" in record.flags for record in records)
    form = " (fast profile)" if fast else ""
    tables = (
        _table("storage-recovery-idle", f"Host idle recovery{form}", _PAUSES, records, ("wait",)),
        _spell_table(records, form),
        *demand_tables(records, "storage-recovery", form),
        _table("storage-recovery-bursts", "Every burst", _BURSTS, records, ("wait", "burst"), bulk=True),
        _table("storage-recovery-rounds", "Every round", _ROUNDS, records, ("spell", "round"), bulk=True),
    )
    return (*(table for table in tables if table.rows), *device_table(records, "storage-recovery"))


def _table(
    slug: str, title: str, columns: Sequence[Column], records: Sequence[Record], keys: Sequence[str], bulk: bool = False
) -> Table:
    """Return a table with one row for each combination of the coordinates in `keys`. The columns specify the
    metrics."""
    rows = rows_of(records, keys, columns)
    metrics = {column.key for column in columns}
    flags = flags_of(one for one in records if one.metric in metrics and set(one.coords) == set(keys))
    return Table(slug, title, (*columns, FLAGS_COLUMN), rows, () if bulk else (UNITS_NOTE,), flags, bulk)


def _spell_table(records: Sequence[Record], form: str) -> Table:
    """Return a table with one row per phase; the last row shows the recovery."""
    rows: list[Row] = []
    notes = [UNITS_NOTE, "TP: throughput, as the median over the last rounds of a phase"]
    for mine in by_point(records):
        for spell, load in _LOADS.items():
            if not at(mine, "level_bandwidth", spell=spell):
                continue
            last = spell == "after"
            cells: Row = {"spell": spell, "load": load}
            for key in ("spell_length", "level_bandwidth", "mean_latency", "max_latency"):
                cells[key] = middle(at(mine, key, spell=spell))
            cells |= {key: middle(at(mine, key)) if last else None for key in ("recovered_share", "recovery_time")}
            rows.append(cells | flag_cell(at(mine, "level_bandwidth", spell=spell)))
        if any(record.value == 0.0 for record in at(mine, "recovered")):
            notes.append("The stream did not regain its earlier level within the last phase")
    return Table(
        "storage-recovery-stimulus", f"Cross stimulus recovery{form}", (*_SPELLS, FLAGS_COLUMN), tuple(rows),
        tuple(dict.fromkeys(notes)), flags_of(at(records, "level_bandwidth")),
    )  # fmt: skip


_RATE: Final = Axis("IOPS", "ops/s", better="higher")


def recovery_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """For each point, return the figures of the tests that were run. Return an empty sequence if there are no
    records."""
    points = by_point(records)
    several = len(points) > 1
    found: list[Figure] = []
    for number, mine in enumerate(points, 1):
        label = f", {point_label(mine[0], '')}" if several and point_label(mine[0], "") else ""
        slug = f"-{number}" if several else ""
        found += [*_bursts(mine, label, slug), *_spells(mine, label, slug), *demand_figures(mine, label, slug)]
    return tuple(found)


def _bursts(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    bursts = grouped(at(first_repeat(mine), "burst_iops"), lambda one: float(one.coords["wait"]))
    if not bursts:
        return []
    series = [_by_burst(f"{wait:g} s pause, bursts", records) for wait, records in bursts.items()]
    longest = max(len(one.x) for one in series)
    for record in at(first_repeat(mine), "baseline_iops"):
        name = f"{float(record.coords['wait']):g} s pause, then without pauses"
        series.append(series_of(name, (1, longest), [[record], [record]]))
    caption = "IOPS of each burst after a pause, and the level of the subsequent writes without pauses."
    return [
        Line(
            f"idle-bursts{slug}", f"Bursts after pauses{label}", caption, Axis("Burst", counts=True), _RATE,
            tuple(series),
        )
    ]  # fmt: skip


def _by_burst(name: str, records: Sequence[Record]) -> Series:
    """Return the values of one repeat as a series plotted against the burst number."""
    found = sorted(records, key=lambda one: int(one.coords["burst"]))
    return series_of(name, [int(one.coords["burst"]) for one in found], [[one] for one in found])


def _spells(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    lines = {
        metric: [line for spell in _LOADS if (line := _course(mine, metric, spell)).x]
        for metric in ("spell_bandwidth", "spell_latency", "spell_latency_max")
    }
    if not lines["spell_bandwidth"]:
        return []
    time = Axis("Time under load", "s")
    latencies = [
        replace(one, name=f"{one.name}, {word}")
        for word, metric in (("mean", "spell_latency"), ("maximum", "spell_latency_max"))
        for one in lines[metric]
    ]
    return [
        Line(
            f"stimulus-throughput{slug}", f"Throughput by phase{label}",
            "Bytes per second in each round: sequential writes, random writes, sequential writes again.", time,
            Axis("Bandwidth", "B/s", better="higher"), tuple(lines["spell_bandwidth"]),
        ),
        Line(
            f"stimulus-latency{slug}", f"Latency by phase{label}",
            "Mean and maximum latency in each round.", time, Axis("Latency", "s", "log10", better="lower"),
            tuple(latencies),
        ),
    ]  # fmt: skip


def _course(mine: Sequence[Record], metric: str, spell: str) -> Series:
    """Return the rounds of a phase as a series plotted against the times at which the rounds end."""
    records = first_repeat(mine)
    times = {record.coords["round"]: record.value for record in at(records, "spell_time", spell=spell)}
    rounds = sorted(at(records, metric, spell=spell), key=lambda one: int(one.coords["round"]))
    return series_of(spell, [times[one.coords["round"]] for one in rounds], [[one] for one in rounds])
