"""The tables of a storage benchmark: the columns of ASCT, then percentiles, spread, cost and flags; operating points,
patterns, parts, and changes during a run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.instruments.fio.metrics import CONTEXT
from asct.instruments.fio.operating import curves, limit_note, limits, operating_table
from asct.instruments.fio.rows import AXIS_TITLES, SIZES, PointRow, gather, grouped, place, shown, swept_names, varying
from asct.instruments.fio.timeline import CHANGED, LevelChange, change_note, changes_table, level_changes
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar

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
"""How the metrics of a part begin, and the coordinate that names the part."""
_NOTE: Final = "Sections as measured by fio, targets from the counters of their drives; mean over the repeats"


def part_table(rows: Sequence[PointRow], names: Sequence[str], slug: str) -> Sequence[Table]:
    """A row for each part and direction of each point; nothing where points are not made of parts."""
    cells = [line for row in rows for line in _lines(row, names)]
    return (Table(f"{slug}-parts", "Sections and targets", _COLUMNS, tuple(cells), (_NOTE,)),) if cells else ()


def _lines(row: PointRow, names: Sequence[str]) -> list[dict[str, Scalar | None]]:
    label = place(row, [name for name in names if name in row.swept]) or None
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
    ("writes relative to reads, sequential", "write", "read"),
    ("writes relative to reads, random", "randwrite", "randread"),
    ("random relative to sequential reads", "randread", "read"),
    ("random relative to sequential writes", "randwrite", "write"),
    ("mixed relative to reads, sequential", "rw", "read"),
    ("mixed relative to reads, random", "randrw", "randread"),
)
_QUANTITIES: Final = {"rate": "iops", "latency": "latency", "tail": "clat_p99"}


def pattern_table(rows: Sequence[PointRow], label: str, slug: str) -> Table | None:
    """Ratios between the patterns among `rows`, which differ only in `rw`; None if no pair is complete."""
    by_word = {str(row.setting("rw")): row for row in rows}
    found = [
        _pattern_cells(name, by_word[first], by_word[second])
        for name, first, second in _PAIRS
        if first in by_word and second in by_word
    ]
    if not found:
        return None
    columns = (
        Column("compared", "Compared", format="text"),
        Column("rate", "Rate (x)", digits=2),
        Column("rate_range", "Rate over repeats (x)", format="text"),
        Column("latency", "Mean latency (x)", digits=2),
        Column("tail", "p99 (x)", digits=2),
        Column("reads", "Reads in the mix (%)"),
    )
    notes = ["Each value is the ratio of the first pattern to the second; latency is completion latency"]
    if any(row.doubtful for row in rows):
        notes.append("Some of these points are unreliable: see the flags of their rows")
    title = "Comparison of access patterns" + (f", {label}" if label else "")
    return Table(f"{slug}-patterns", title, columns, tuple(found), tuple(notes))


def _pattern_cells(name: str, first: PointRow, second: PointRow) -> dict[str, Scalar | None]:
    cells: dict[str, Scalar | None] = {"compared": name, "reads": _reads(first)}
    cells |= {key: _ratio(first.value(metric), second.value(metric)) for key, metric in _QUANTITIES.items()}
    cells["rate_range"] = _range(first, second)
    return cells


def _range(first: PointRow, second: PointRow) -> str | None:
    """The lowest and highest ratio that the repeats allow."""
    (low, high), (least, most) = first.interval("iops"), second.interval("iops")
    if len(first.repeats) < 2 or len(second.repeats) < 2 or None in (low, high, least, most):
        return None
    ends = (_ratio(low, most), _ratio(high, least))
    return None if None in ends else " to ".join(f"{end:.2f}" for end in ends if end is not None)


def _reads(row: PointRow) -> float | None:
    reads, writes = row.value("read_ios"), row.value("write_ios")
    return None if reads is None or writes is None else 100.0 * reads / (reads + writes)


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
    ("usr", "in user space", True), ("sys", "in the kernel", True), ("iowait", "idle with pending requests", True),
    ("irq", "in hardware interrupts", False), ("soft", "in software interrupts", False),
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
    Column("iops_per_core", "Per core (kops)", 1e3, help="requests per second of CPU time"),
)
_ABSENT_IS_ZERO: Final = frozenset({"read_bandwidth", "write_bandwidth", "read_iops", "write_iops"})
_TOLD_CHANGES: Final = 8


def sweep_table(records: Sequence[Record], slug: str, title: str, axis: str | None) -> Sequence[Table]:
    """One row per point, then the tables that combine points. `axis` is the setting that the benchmark is named for;
    None: the swept settings."""
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis) or ["rw", "block_size", "iodepth", "numjobs"]
    found = [turn for row in rows for turn in level_changes(row)]
    columns = _columns(rows, names)
    flags = [_flags(row, found) for row in rows]
    cells = tuple(_cells(row, columns, own) for row, own in zip(rows, flags, strict=True))
    notes = (*_notes(rows, names), *_limit_notes(rows, names, axis), *_doubts(rows, names, found))
    return (
        Table(slug, title, columns, cells, notes, tuple(dict.fromkeys(chain.from_iterable(flags)))),
        *operating_table(rows, names, slug, axis),
        *_pattern_tables(rows, names, slug),
        *part_table(rows, names, slug),
        *changes_table(found, names, slug),
        *device_table(records, slug),
    )


def _columns(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Column, ...]:
    return (
        *(_axis_column(name, rows) for name in names),
        *_RATES, *_LATENCIES, *_cpu_columns(rows), *_PERCENTILES, *_COST,
        Column("flags", "Flags", format="text"),
    )  # fmt: skip


def _pattern_tables(rows: Sequence[PointRow], names: Sequence[str], slug: str) -> list[Table]:
    if "rw" not in varying(rows, names):
        return []
    others = [name for name in varying(rows, names) if name != "rw"]
    groups = grouped(rows, others)
    found = [pattern_table(part, label, slug) for label, part in groups.items()] if len(groups) <= 1 else []
    return [table for table in found if table is not None]


def _axis_column(name: str, rows: Sequence[PointRow]) -> Column:
    title = AXIS_TITLES.get(name, name)
    values = [row.setting(name) for row in rows]
    if name in SIZES and all(isinstance(value, int) for value in values):
        return Column(name, title, format="size")
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Column(name, title, format="integer")
    return Column(name, title, format="text")


def _cpu_prefix(rows: Sequence[PointRow]) -> str:
    """The CPUs that the jobs run on, as in ASCT, where these are known; else all."""
    return "used_cpu" if any(row.value("used_cpu_usr") is not None for row in rows) else "cpu"


def _cpu_columns(rows: Sequence[PointRow]) -> tuple[Column, ...]:
    prefix = _cpu_prefix(rows)
    return tuple(Column(f"{prefix}_{kind}", f"CPU {kind} (%)", help=text, kept=kept) for kind, text, kept in _CPU)


def _flags(row: PointRow, found: Sequence[LevelChange]) -> tuple[str, ...]:
    return (*row.flags, CHANGED) if any(turn.row is row for turn in found) else row.flags


def _cells(row: PointRow, columns: Sequence[Column], flags: Sequence[str]) -> dict[str, Scalar | None]:
    cells: dict[str, Scalar | None] = {}
    for column in columns:
        if column.key == "flags":
            cells[column.key] = ", ".join(flags)
        elif column.key == "spread":
            cells[column.key] = _spread(row)
        elif column.key in _ABSENT_IS_ZERO:
            cells[column.key] = row.value(column.key) or 0.0
        else:
            value = row.value(column.key)
            cells[column.key] = row.setting(column.key) if value is None else value
    return cells


def _spread(row: PointRow) -> float | None:
    """Of the rate over the repeats; None for a single one."""
    low, high = row.interval("iops")
    middle = row.value("iops")
    if len(row.repeats) < 2 or low is None or high is None or not middle:
        return None
    return 50.0 * (high - low) / middle


def _notes(rows: Sequence[PointRow], names: Sequence[str]) -> list[str]:
    notes = [
        "MB = 1,000,000 bytes. Lat. is the mean completion latency; percentiles refer to the completion latency "
        "of all jobs"
    ]
    fixed = [
        f"{name} {shown(name, rows[0].setting(name))}"
        for name in CONTEXT
        if name not in names and len({row.setting(name) for row in rows}) == 1 and _matters(name, rows)
    ]
    if fixed:
        notes.append("All rows: " + ", ".join(fixed))
    return [*notes, _cpu_note(rows)]


def _doubts(rows: Sequence[PointRow], names: Sequence[str], found: Sequence[LevelChange]) -> list[str]:
    """Changes during a run, and points whose requests in flight differ from the requested number."""
    notes = [change_note(turn, names) for turn in found[:_TOLD_CHANGES]]
    for row in rows:
        if "littles-law" in row.flags:
            flight, depth = _figure(row, "in_flight"), _figure(row, "queue_depth")
            notes.append(f"{place(row, names)}: {flight} requests in flight instead of {depth}")
    return notes


def _cpu_note(rows: Sequence[PointRow]) -> str:
    if all(row.value(f"{_cpu_prefix(rows)}_usr") is None for row in rows):
        return "No CPU utilization: mpstat (package sysstat) is not installed, or has no sample within a run"
    where = "the CPUs that the jobs use" if _cpu_prefix(rows) == "used_cpu" else "all online CPUs"
    return f"CPU utilization of {where}; iowait is idle time, not load"


def _limit_notes(rows: Sequence[PointRow], names: Sequence[str], axis: str | None) -> list[str]:
    notes = [limit_note(limits(curve.rows, curve.over), curve.over, curve.label) for curve in curves(rows, names, axis)]
    return [note for note in notes if note]


def _matters(name: str, rows: Sequence[PointRow]) -> bool:
    """The share of reads matters for mixed patterns only."""
    return rows[0].setting(name) is not None and (
        name != "rwmixread" or any(row.setting("rw") in ("rw", "randrw") for row in rows)
    )


def _figure(row: PointRow, metric: str) -> str:
    value = row.value(metric)
    return "-" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")
