"""Which settings a figure puts on its axis, which make its lines, and which become figures of their own.

One swept setting is an axis. With more of them a figure has up to eight lines; what does not fit becomes a figure for
each value. And since a figure shows one axis only, every other setting that counts something is shown as an axis once
as well, at the largest value of the first. So the 64 points of {size} x {share of reads} x {depth} become: over the
size, one figure for each depth with a line for each share; over the depth, one figure at the largest size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.rows import Row, grouped, place, varying
from asct.sdk.record import Scalar

LOADS: Final = ("iodepth", "numjobs")
"""Settings that put more requests in flight."""
SCALES: Final = (*LOADS, "block_size", "iodepth_batch", "filesize")
"""Settings whose ratios matter: axes with powers of two."""
MOST_SERIES: Final = 8
MOST_PANELS: Final = 8
_LEAST_SECOND_AXIS: Final = 3
"""Values that a setting needs for figures of its own."""


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one figure. `over` is the setting on its axis, `fixed` says what all rows share, `suffix` tells its
    slug from that of the other views."""

    over: str
    groups: Mapping[str, Sequence[Row]]
    fixed: str = ""
    suffix: str = ""


def main_axis(rows: Sequence[Row], names: Sequence[str], axis: str | None) -> str | None:
    """The benchmark's own axis, or the scale with most values, or the first setting that varies; None if none does."""
    vary = varying(rows, names)
    if axis is not None:
        return axis
    scales = [name for name in vary if name in SCALES]
    if scales:
        return max(scales, key=lambda name: len({row.setting(name) for row in rows}))
    return vary[0] if vary else None


def views(rows: Sequence[Row], names: Sequence[str], over: str) -> list[View]:
    """Every view of `rows`; the one over `over` comes first."""
    others = [name for name in varying(rows, names) if name != over]
    found = panels(rows, over, others)
    for second in others:
        values = {row.setting(second) for row in rows}
        if second in SCALES and over in SCALES and len(values) >= _LEAST_SECOND_AXIS:
            fixed = [name for name in others if name != second]
            largest = _largest(rows, over)
            chosen = [row for row in rows if row.setting(over) == largest]
            label = place(chosen[0], [over])
            found += [
                View(second, view.groups, ", ".join(filter(None, (label, view.fixed))), f"-over-{second}{view.suffix}")
                for view in panels(chosen, second, fixed)
            ]
    return found


def panels(rows: Sequence[Row], over: str, others: Sequence[str], most: int = MOST_SERIES) -> list[View]:
    """Figures over `over` with at most `most` lines each: the settings that do not fit, counting ones first, become
    figures of their own, at most MOST_PANELS of them, evenly chosen."""
    inner = sorted(others, key=lambda name: name not in SCALES)
    outer: list[str] = []
    while len(grouped(rows, inner)) > most and inner:
        outer.append(inner.pop(0))
    inner = [name for name in others if name in inner]
    found = [(place(part[0], outer), part) for part in grouped(rows, outer).values()]
    return [View(over, grouped(part, inner), fixed, slug_of(fixed)) for fixed, part in evenly(found, MOST_PANELS)]


def evenly(items: Sequence[tuple[str, list[Row]]], most: int) -> list[tuple[str, list[Row]]]:
    """At most `most` of `items`, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def sample(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Points that fit one figure with a line each: all, or those along one setting among which the highest rate is."""
    vary = varying(rows, names)
    over = main_axis(rows, names, None)
    if len(rows) <= MOST_SERIES or over is None:
        return list(rows)
    best = max(rows, key=lambda row: row.value("iops") or 0.0)
    fixed = [name for name in vary if name != over]
    along = [row for row in rows if all(row.setting(name) == best.setting(name) for name in fixed)]
    return [row for _, [row] in evenly([("", [row]) for row in along], MOST_SERIES)]


def _largest(rows: Sequence[Row], name: str) -> Scalar | None:
    values = [row.setting(name) for row in rows]
    numbers = [value for value in values if isinstance(value, int | float)]
    return max(numbers) if numbers else values[-1]


def slug_of(label: str) -> str:
    """The part of a slug that a label makes: letters and digits behind dashes; "" for none."""
    text = "".join(mark if mark.isalnum() else "-" for mark in label).strip("-").lower()
    return f"-{text}" if text else ""
