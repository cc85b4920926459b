"""Tables: the test as a whole, and every round for exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, swept_cells, swept_columns
from asct.values.duration import format_duration
from asct.values.size import format_size

_US: Final = 1e-6
_GB: Final = 1e9
_SUMMARY: Final = (
    Column("iops", "IOPS at the end", digits=0, help="last rounds of the test"),
    Column("bandwidth", "BW (MB/s)", 1e6),
    Column("latency", "Mean lat. (us)", _US),
    Column("response_p99_99", "p99.99 (us)", _US, help="in the run for the histogram"),
    Column("response_max", "Max lat. (us)", _US, help="in the run for the histogram"),
    Column("burst_iops", "IOPS before the cliff", digits=0),
    Column("cliff_written", "Cliff at (GB)", _GB, digits=2, help="written when the rate fell by half"),
    Column("cliff_ratio", "Fall (times)", digits=2),
    Column("written", "Written (GB)", _GB, digits=2),
    Column("drive_fills", "Drive fills", digits=2),
    Column("rounds", "Rounds", digits=0),
    Column("load_time", "Time (s)", digits=0),
)
_ROUND: Final = (
    Column("round_iops", "IOPS"),
    Column("round_bandwidth", "BW (MB/s)", 1e6),
    Column("round_latency", "Mean lat. (us)", _US),
    Column("round_latency_p99_9", "p99.9 (us)", _US),
    Column("round_latency_max", "Max lat. (us)", _US),
    Column("round_written", "Written (GB)", _GB, digits=3),
    Column("round_time", "Time (s)", digits=1),
)
_ENDS: Final = {
    "volume": "the volume of volume_factor was written",
    "time": "time_cap was reached before the volume was written",
    "steady": "the samples were steady",
}


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """One row per point, and one per round; empty without records."""
    swept = swept_columns(records)
    rows: list[dict[str, Scalar | None]] = []
    notes: dict[str, None] = dict.fromkeys(("GB = 1,000,000,000 bytes, MB = 1,000,000 bytes",))
    for mine in by_point(records):
        cells = {column.key: middle(at(mine, column.key)) for column in _SUMMARY}
        flags = ", ".join(flags_of(at(mine, "iops")))
        rows.append({**swept_cells(mine, swept), **cells, "flags": flags})
        notes |= dict.fromkeys(_what(record) for record in at(mine, "rounds"))
        ends = dict.fromkeys(str(record.coords["ended_by"]) for record in at(mine, "rounds"))
        notes |= dict.fromkeys(f"The test ended because {_ENDS[end]}" for end in ends)
        if not any(record.value for record in at(mine, "cliffs")):
            notes["The rate never fell by half: there is no cliff"] = None
    if not rows:
        return ()
    columns = (*swept, *_SUMMARY, Column("flags", "Flags", format="text"))
    whole = Table("storage-write-saturation", "Write saturation", columns, tuple(rows), tuple(notes), flags_of(records))
    return (whole, _rounds(records, swept), *device_table(records, "storage-write-saturation"))


def _what(record: Record) -> str:
    """The settings of each round."""
    run = record.coords
    mix = f" with {run['rwmixread']} % reads" if run["rw"] in ("randrw", "rw") else ""
    each, size = format_duration(float(run["round_time"])), format_size(int(run["block_size"]))
    load = f"{run['numjobs']} jobs of queue depth {run['iodepth']}"
    return f"Rounds of {each}: {run['rw']} of {size}{mix}, {load}, direct"


def _rounds(records: Sequence[Record], swept: Sequence[Column]) -> Table:
    """The median over the repeats of every round."""
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        values: dict[tuple[str, int], list[Record]] = {}
        for record in mine:
            if "round" in record.coords:
                values.setdefault((record.metric, int(record.coords["round"])), []).append(record)
        for number in sorted({number for _, number in values}):
            here = {column.key: values.get((column.key, number), []) for column in _ROUND}
            flags = ", ".join(flags_of(record for found in here.values() for record in found))
            cells = {key: middle(found) for key, found in here.items()}
            rows.append({**swept_cells(mine, swept), "round": number, **cells, "flags": flags})
    columns = (*swept, Column("round", "Round", format="integer"), *_ROUND, Column("flags", "Flags", format="text"))
    return Table("storage-write-saturation-rounds", "Every round", columns, tuple(rows), bulk=True)
