"""The tables of a storage benchmark: all points, operating points, access patterns, sections and targets, and changes
during a run. The first columns are the same as in Arm's ASCT."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.instruments.fio.metrics import CONTEXT, STAGE
from asct.instruments.fio.operating import curves, limit_note, limits, operating_table
from asct.instruments.fio.rows import AXIS_TITLES, SIZES, PointRow, gather, settings_text, swept_names, text_of, varying
from asct.instruments.fio.timeline import LevelChange, change_note, changes_table, level_changes
from asct.instruments.fio.verdict import CHANGED
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import FLAGS_COLUMN, Row, interval

_US: Final = 1e-6
_COLUMNS: Final = (
    Column("point", "Point", format="text"),
    Column("part", "Part", format="text"),
    Column("direction", "Direction", format="text"),
    Column("iops", "Thruput (kops)", 1e3),
    Column("bandwidth", "BW (MB/s)", 1e6),
    Column("latency", "Lat. (us)", _US, help="mean completion latency"),
    Column("clat_p99", "p99 (us)", _US),
)
_KINDS: Final = {"section": "section", "target": "path"}
"""The metric prefix for sections and for targets, and the coordinate that identifies each of them."""
_NOTE: Final = (
    "Values for sections come from fio, and values for targets from the counters of their drives; all are means over "
    "the repeats"
)


def part_table(rows: Sequence[PointRow], names: Sequence[str], slug: str) -> Sequence[Table]:
    """Return a table of sections and targets, or an empty sequence if every point has a single section and target."""
    cells = [line for row in rows for line in _part_rows(row, names)]
    return (Table(f"{slug}-parts", "Sections and targets", _COLUMNS, tuple(cells), (_NOTE,)),) if cells else ()


def _part_rows(row: PointRow, names: Sequence[str]) -> list[Row]:
    label = settings_text(row, [name for name in names if name in row.swept]) or None
    found: dict[tuple[str, Scalar, Scalar], dict[str, list[Record]]] = {}
    for metric, records in row.samples.items():
        kind, _, quantity = metric.partition("_")
        for record in records if kind in _KINDS else []:
            key = (kind, record.coords[_KINDS[kind]], record.coords["direction"])
            found.setdefault(key, {}).setdefault(quantity, []).append(record)
    return [
        {column.key: None for column in _COLUMNS}
        | {"point": label, "part": part, "direction": direction}
        | {name: sum(one.value for one in values) / len(values) for name, values in quantities.items()}
        for (_, part, direction), quantities in found.items()
    ]


_PAIRS: Final = (
    ("sequential: writes relative to reads", "write", "read"),
    ("random: writes relative to reads", "randwrite", "randread"),
    ("reads: random relative to sequential", "randread", "read"),
    ("writes: random relative to sequential", "randwrite", "write"),
    ("sequential: mixed relative to reads", "rw", "read"),
    ("random: mixed relative to reads", "randrw", "randread"),
)
_QUANTITIES: Final = {"rate": "iops", "latency": "latency", "tail": "clat_p99"}


def pattern_table(rows: Sequence[PointRow], names: Sequence[str], slug: str) -> tuple[Table, ...]:
    """Return a table of ratios between access patterns, if the points differ only in `rw` and both patterns of a pair
    were measured."""
    by_name = {str(row.setting("rw")): row for row in rows}
    found = [
        _pattern_cells(name, by_name[first], by_name[second])
        for name, first, second in _PAIRS
        if first in by_name and second in by_name
    ]
    if not found or varying(rows, names) != ["rw"]:
        return ()
    columns = (
        Column("compared", "Comparison", format="text"),
        Column("rate", "Rate (x)", digits=2),
        Column("rate_range", "Rate over repeats (x)", format="text"),
        Column("latency", "Mean latency (x)", digits=2),
        Column("tail", "p99 (x)", digits=2),
        Column("reads", "Reads in the mix (%)"),
    )
    notes = ["Each value is the ratio of the first pattern to the second; latencies are completion latencies"]
    if any(row.doubtful for row in rows):
        notes.append("Some of these points are unreliable: see their flags")
    return (Table(f"{slug}-patterns", "Comparison of access patterns", columns, tuple(found), tuple(notes)),)


def _pattern_cells(name: str, first: PointRow, second: PointRow) -> Row:
    reads, writes = first.value("read_ios"), first.value("write_ios")
    share = None if reads is None or writes is None else 100.0 * reads / (reads + writes)
    ratios = {key: _ratio(first.value(metric), second.value(metric)) for key, metric in _QUANTITIES.items()}
    return {"compared": name, "reads": share, "rate_range": _range(first, second), **ratios}


def _range(first: PointRow, second: PointRow) -> str | None:
    """Return the lowest and the highest ratio between any repeats of the two points, as text. Return None unless both
    points have several repeats."""
    mine, other = (interval(row.samples.get("iops", ())) for row in (first, second))
    if mine is None or other is None or len(first.repeats) < 2 or len(second.repeats) < 2:
        return None
    ends = [end for end in (_ratio(mine[0], other[1]), _ratio(mine[1], other[0])) if end is not None]
    return " to ".join(f"{end:.2f}" for end in ends) if len(ends) == 2 else None


def _ratio(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None


_RATES: Final = (
    Column("read_bandwidth", "Read BW (MB/s)", 1e6),
    Column("write_bandwidth", "Write BW (MB/s)", 1e6),
    Column("bandwidth", "Total BW (MB/s)", 1e6),
    Column("read_iops", "Read Thruput (kops)", 1e3),
    Column("write_iops", "Write Thruput (kops)", 1e3),
    Column("iops", "Thruput (kops)", 1e3),
)
_LATENCIES: Final = (
    Column("read_latency", "Read Lat. (us)", _US, help="mean completion latency", kept=True),
    Column("write_latency", "Write Lat. (us)", _US, help="mean completion latency", kept=True),
    Column("latency", "Lat. (us)", _US, help="mean completion latency", kept=True),
)
_CPU: Final = (
    ("usr", "in user space", True), ("sys", "in the Linux kernel", True),
    ("iowait", "idle with I/O requests pending", True), ("irq", "in hardware interrupts", False),
    ("soft", "in software interrupts", False),
)  # fmt: skip
_PERCENTILES: Final = (
    Column("clat_p50", "p50 (us)", _US, help="completion latency"),
    Column("clat_p90", "p90 (us)", _US),
    Column("clat_p99", "p99 (us)", _US),
    Column("clat_p99_9", "p99.9 (us)", _US),
    Column("clat_p99_99", "p99.99 (us)", _US),
)
_COST: Final = (
    Column(
        "spread", "Spread (%)", help="half the difference between the highest and lowest repeat, relative to the median"
    ),
    Column("cpu_time_per_io", "CPU per I/O (us)", _US, 2, help="CPU time of fio and its kernel threads"),
    Column("host_cpu_time_per_io", "Host CPU per I/O (us)", _US, 2, help="CPU time of the whole host"),
    Column("iops_per_core", "Per core (kops)", 1e3, help="requests per CPU-second"),
)
_ABSENT_IS_ZERO: Final = frozenset({"read_bandwidth", "write_bandwidth", "read_iops", "write_iops"})
_TOLD_CHANGES: Final = 8
_LOAD: Final = ("rw", "block_size", "iodepth", "numjobs")
"""The settings that a table shows if a job file has several stages, or if no setting is swept."""


def sweep_table(records: Sequence[Record], slug: str, title: str, axis: str | None) -> Sequence[Table]:
    """Return a table with one row per point, followed by the tables that combine points.

    `axis` is the setting that the benchmark sweeps, or None if no particular setting is swept.
    """
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis) or list(_LOAD)
    found = [turn for row in rows for turn in level_changes(row)]
    columns = _columns(rows, (*names, *_LOAD) if STAGE in names else names)
    changed = {id(turn.row) for turn in found}
    flags = [tuple(dict.fromkeys((*row.flags, *[CHANGED][: id(row) in changed]))) for row in rows]
    cells = tuple(_cells(row, columns, own) for row, own in zip(rows, flags, strict=True))
    limited = [
        limit_note(limits(curve.rows, curve.over), curve.over, curve.label) for curve in curves(rows, names, axis)
    ]
    notes = (*_notes(rows, names), *filter(None, limited), *_doubts(rows, names, found))
    return (
        Table(slug, title, columns, cells, notes, tuple(dict.fromkeys(chain.from_iterable(flags)))),
        *operating_table(rows, names, slug, axis),
        *pattern_table(rows, names, slug),
        *part_table(rows, names, slug),
        *changes_table(found, names, slug),
        *device_table(records, slug),
    )


def _columns(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Column, ...]:
    prefix = _cpu_prefix(rows)
    cpu = [Column(f"{prefix}_{kind}", f"CPU {kind} (%)", help=text, kept=kept) for kind, text, kept in _CPU]
    axes = [_axis_column(name, rows) for name in names]
    return (*axes, *_RATES, *_LATENCIES, *cpu, *_PERCENTILES, *_COST, FLAGS_COLUMN)


def _axis_column(name: str, rows: Sequence[PointRow]) -> Column:
    title = AXIS_TITLES.get(name, name)
    values = [row.setting(name) for row in rows]
    if name in SIZES and all(isinstance(value, int) for value in values):
        return Column(name, title, format="size")
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Column(name, title, format="integer")
    return Column(name, title, format="text")


def _cpu_prefix(rows: Sequence[PointRow]) -> str:
    """Return the prefix of the CPU metrics to show: those of the CPUs that the jobs use, as in Arm's ASCT, or those of
    all CPUs."""
    return "used_cpu" if any(row.value("used_cpu_usr") is not None for row in rows) else "cpu"


def _cells(row: PointRow, columns: Sequence[Column], flags: Sequence[str]) -> Row:
    values = {column.key: row.value(column.key) for column in columns}
    cells = {key: row.setting(key) if value is None else value for key, value in values.items()}
    texts = {column.key for column in columns if column.format == "text"}
    cells |= {key: text_of(key, row.setting(key)) for key in SIZES & texts}
    cells |= {key: values[key] or 0.0 for key in _ABSENT_IS_ZERO}
    return cells | {"spread": _spread(row), "flags": ", ".join(flags)}


def _spread(row: PointRow) -> float | None:
    """Return the spread of the rate over the repeats as a percentage, or None for a single repeat."""
    ends, middle = interval(row.samples.get("iops", ())), row.value("iops")
    return 50.0 * (ends[1] - ends[0]) / middle if len(row.repeats) > 1 and ends and middle else None


def _notes(rows: Sequence[PointRow], names: Sequence[str]) -> list[str]:
    notes = [
        "MB = 1,000,000 bytes. Lat. is the mean completion latency; percentiles refer to the completion latency "
        "of all jobs"
    ]
    fixed = [
        f"{name} {text_of(name, rows[0].setting(name))}"
        for name in CONTEXT
        if name not in names and len({row.setting(name) for row in rows}) == 1 and rows[0].setting(name) is not None
        if name != "rwmixread" or any(row.setting("rw") in ("rw", "randrw") for row in rows)
    ]
    if fixed:
        notes.append("All rows: " + ", ".join(fixed))
    cpu = _cpu_prefix(rows)
    if all(row.value(f"{cpu}_usr") is None for row in rows):
        unknown = "mpstat (package sysstat) is not installed, or it recorded no sample during a run"
        if all("imported" in row.flags for row in rows):
            unknown = "imported fio results do not contain it"
        return [*notes, f"CPU utilization is unknown: {unknown}"]
    where = "the CPUs that the jobs use" if cpu == "used_cpu" else "all online CPUs"
    return [*notes, f"CPU utilization of {where}; iowait is idle time, not load"]


def _doubts(rows: Sequence[PointRow], names: Sequence[str], found: Sequence[LevelChange]) -> list[str]:
    """Return notes about changes during a run, and about points whose queue depth was not maintained."""
    notes = [change_note(turn, names) for turn in found[:_TOLD_CHANGES]]
    for row in rows:
        if "littles-law" in row.flags:
            flight, depth = (_figure(row.value(metric)) for metric in ("in_flight", "queue_depth"))
            notes.append(f"{settings_text(row, names)}: {flight} requests in flight instead of {depth}")
    return notes


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")
