"""The table of a storage benchmark: the columns of ASCT, then percentiles and flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.sdk.figure import Column, Table
from asct.sdk.fio.metrics import CONTEXT
from asct.sdk.fio.rows import SIZES, Row, gather, shown, swept_names
from asct.sdk.record import Record, Scalar

AXIS_TITLES: Final = {
    "iodepth": "IODepth", "block_size": "BlockSize", "numjobs": "ProcessCount", "rw": "AccessPattern",
    "rwmixread": "RWMixRead", "iodepth_batch": "IODepthBatch", "engine": "Engine", "direct": "Direct",
    "filesize": "FileSize", "duration": "Duration (s)", "file_names": "File",
}  # fmt: skip
_US: Final = 1e-6
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
    Column("cpu_usr", "CPU usr (%)", kept=True),
    Column("cpu_sys", "CPU sys (%)", kept=True),
    Column("cpu_iowait", "CPU iowait (%)", help="idle with requests pending", kept=True),
)
_PERCENTILES: Final = (
    Column("clat_p50", "p50 (us)", _US, help="completion latency"),
    Column("clat_p90", "p90 (us)", _US),
    Column("clat_p99", "p99 (us)", _US),
    Column("clat_p99_9", "p99.9 (us)", _US),
    Column("clat_p99_99", "p99.99 (us)", _US),
)
_ABSENT_IS_ZERO: Final = frozenset({"read_bandwidth", "write_bandwidth", "read_iops", "write_iops"})


def sweep_table(records: Sequence[Record], slug: str, title: str, axis: str | None) -> Sequence[Table]:
    """One row per point. `axis` is the setting the benchmark is named for; None: whatever was swept."""
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis) or ["rw", "block_size", "iodepth", "numjobs"]
    columns = (
        *(_axis_column(name, rows) for name in names),
        *_RATES, *_LATENCIES, *_CPU, *_PERCENTILES,
        Column("flags", "Flags", format="text"),
    )  # fmt: skip
    flags = tuple(dict.fromkeys(flag for row in rows for flag in row.flags))
    cells = tuple(_cells(row, columns, names) for row in rows)
    return (Table(slug, title, columns, cells, tuple(_notes(rows, names)), flags),)


def _axis_column(name: str, rows: Sequence[Row]) -> Column:
    title = AXIS_TITLES.get(name, name)
    values = [row.setting(name) for row in rows]
    if name in SIZES and all(isinstance(value, int) for value in values):
        return Column(name, title, format="size")
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Column(name, title, format="integer")
    return Column(name, title, format="text")


def _cells(row: Row, columns: Sequence[Column], names: Sequence[str]) -> dict[str, Scalar | None]:
    cells: dict[str, Scalar | None] = {}
    for column in columns:
        if column.key in names:
            cells[column.key] = row.setting(column.key)
        elif column.key == "flags":
            cells[column.key] = ", ".join(row.flags)
        else:
            value = row.value(column.key)
            cells[column.key] = 0.0 if value is None and column.key in _ABSENT_IS_ZERO else value
    return cells


def _notes(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    notes = [
        "MB = 1,000,000 bytes. Lat. is the mean completion latency; percentiles are of completion latency, all jobs"
    ]
    fixed = [
        f"{name} {shown(name, rows[0].setting(name))}"
        for name in CONTEXT
        if name not in names and len({row.setting(name) for row in rows}) == 1 and _matters(name, rows)
    ]
    if fixed:
        notes.append("All rows: " + ", ".join(fixed))
    if all(row.value("cpu_usr") is None for row in rows):
        notes.append("No CPU figures: mpstat (package sysstat) was not there, or no sample of it lies within a run")
    for row in rows:
        if "littles-law" in row.flags:
            place = ", ".join(f"{name} {shown(name, row.setting(name))}" for name in names)
            notes.append(
                f"{place}: {_figure(row, 'in_flight')} requests in flight instead of {_figure(row, 'queue_depth')}"
            )
    return notes


def _matters(name: str, rows: Sequence[Row]) -> bool:
    """The share of reads says something of mixed patterns only."""
    return rows[0].setting(name) is not None and (
        name != "rwmixread" or any(row.setting("rw") in ("rw", "randrw") for row in rows)
    )


def _figure(row: Row, metric: str) -> str:
    value = row.value(metric)
    return "-" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")
