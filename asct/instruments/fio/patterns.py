"""Access patterns set against one another: what random access, writing and mixing cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.rows import Row
from asct.sdk.figure import Column, Table
from asct.sdk.record import Scalar

_PAIRS: Final = (
    ("writes against reads, sequential", "write", "read"),
    ("writes against reads, random", "randwrite", "randread"),
    ("random against sequential reads", "randread", "read"),
    ("random against sequential writes", "randwrite", "write"),
    ("mixed against reads, sequential", "rw", "read"),
    ("mixed against reads, random", "randrw", "randread"),
)
_QUANTITIES: Final = {"rate": "iops", "latency": "latency", "tail": "clat_p99"}


def pattern_table(rows: Sequence[Row], label: str, slug: str) -> Table | None:
    """Ratios between the patterns among `rows`, which differ in `rw` alone; None when none of the pairs is there."""
    by_word = {str(row.setting("rw")): row for row in rows}
    found = [
        _cells(name, by_word[first], by_word[second])
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
    notes = ["Each figure is that of the first divided by that of the second; latency is that of completion"]
    if any(row.doubtful for row in rows):
        notes.append("Some of these points cannot be trusted: see the flags of their rows")
    title = "Access patterns against one another" + (f", {label}" if label else "")
    return Table(f"{slug}-patterns", title, columns, tuple(found), tuple(notes))


def _cells(name: str, first: Row, second: Row) -> dict[str, Scalar | None]:
    cells: dict[str, Scalar | None] = {"compared": name, "reads": _reads(first)}
    cells |= {key: _ratio(first.value(metric), second.value(metric)) for key, metric in _QUANTITIES.items()}
    cells["rate_range"] = _range(first, second)
    return cells


def _range(first: Row, second: Row) -> str | None:
    """The lowest and highest ratio that the repeats allow."""
    (low, high), (least, most) = first.interval("iops"), second.interval("iops")
    if len(first.repeats) < 2 or len(second.repeats) < 2 or None in (low, high, least, most):
        return None
    ends = (_ratio(low, most), _ratio(high, least))
    return None if None in ends else " to ".join(f"{end:.2f}" for end in ends if end is not None)


def _reads(row: Row) -> float | None:
    reads, writes = row.value("read_ios"), row.value("write_ios")
    return None if reads is None or writes is None else 100.0 * reads / (reads + writes)


def _ratio(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None
