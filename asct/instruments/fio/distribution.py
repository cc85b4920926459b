"""How the latencies of a point are distributed: which share of the requests took at most how long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.rows import Row, label, place, varying
from asct.instruments.fio.views import sample
from asct.sdk.figure import Axis, Figure, Line, Series

_PERCENTILE: Final = re.compile(r"(read|write)_clat_p([0-9]+)(?:_([0-9]+))?")


def distributions(rows: Sequence[Row], names: Sequence[str]) -> tuple[Figure, ...]:
    """A figure for reads and one for writes, a line a point; of more than eight points, those of `sample`."""
    found = []
    for side, word in (("read", "Read"), ("write", "Write")):
        able = [row for row in rows if row.value(f"{side}_iops") is not None]
        chosen = sample(able, names)
        vary = varying(chosen, names)
        series = [_series(label(row, vary) or word.lower() + "s", side, row) for row in chosen]
        drawn = tuple(line for line in series if len(line.x) > 1)
        if drawn:
            caption = (
                "Share of the requests that completed within this time. A line ends where fewer than 10 are slower."
            )
            if len(chosen) < len(able):
                fixed = place(chosen[0], [name for name in varying(able, names) if name not in vary])
                caption += f" {len(chosen)} of {len(able)} points" + (f": {fixed}." if fixed else ".")
            title = f"{word} latency distribution"
            axes = Axis("Completion latency", "s", "log10"), Axis("Requests", "%")
            found.append(Line(f"{side}-latency-distribution", title, caption, *axes, drawn))
    return tuple(found)


def _series(name: str, side: str, row: Row) -> Series:
    """The percentiles that the point has, from low to high."""
    known = sorted(
        (float(f"{match[2]}.{match[3] or 0}"), value)
        for metric in row.samples
        if (match := _PERCENTILE.fullmatch(metric)) and match[1] == side and (value := row.value(metric))
    )
    return Series(name, tuple(value for _, value in known), tuple(percent for percent, _ in known))
