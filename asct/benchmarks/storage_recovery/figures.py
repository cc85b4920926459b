"""Figures: bursts by pause, spells over time, rate and latency by demand, response times of the operating points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.qualification.responses import response_figure
from asct.sdk.figure import Axis, Figure, Heatmap, Line, Series
from asct.sdk.record import Record
from asct.sdk.rows import at, by_point, middle, point_label

_RATE: Final = Axis("IOPS", "ops/s")


def recovery_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """The figures of the tests that were run, for each point; empty without records."""
    points = by_point(records)
    several = len(points) > 1
    found: list[Figure] = []
    for number, mine in enumerate(points, 1):
        label = f", {point_label(mine[0], '')}" if several and point_label(mine[0], "") else ""
        slug = f"-{number}" if several else ""
        found += [*_bursts(mine, label, slug), *_spells(mine, label, slug), *_demand(mine, label, slug)]
    return tuple(found)


def _first(mine: Sequence[Record]) -> list[Record]:
    """The records of one repeat."""
    lowest = min(record.repeat for record in mine)
    return [record for record in mine if record.repeat == lowest]


def _bursts(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    found: dict[float, list[tuple[int, float]]] = {}
    for record in at(_first(mine), "burst_iops"):
        found.setdefault(float(record.coords["wait"]), []).append((int(record.coords["burst"]), record.value))
    if not found:
        return []
    series = [
        Series(f"{wait:g} s pause", tuple(number for number, _ in sorted(pairs)), tuple(y for _, y in sorted(pairs)))
        for wait, pairs in found.items()
    ]
    longest = max(len(one.x) for one in series)
    for record in at(_first(mine), "baseline_iops"):
        name = f"without pauses, after {float(record.coords['wait']):g} s"
        series.append(Series(name, (1, longest), (record.value, record.value)))
    caption = "IOPS of each burst after a pause, and of the subsequent writes without pauses."
    return [
        Line(
            f"idle-bursts{slug}", f"Bursts after pauses{label}", caption, Axis("Burst"), _RATE, tuple(series),
            better="higher",
        )
    ]  # fmt: skip


def _spells(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    lines = {
        metric: [
            Series(spell, times, values)
            for spell in ("before", "between", "after")
            for times, values in [_course(mine, metric, spell)]
            if times
        ]
        for metric in ("spell_bandwidth", "spell_latency", "spell_latency_max")
    }
    if not lines["spell_bandwidth"]:
        return []
    time = Axis("Time under load", "s")
    latencies = [
        Series(f"{one.name}, {word}", one.x, one.y)
        for word, metric in (("mean", "spell_latency"), ("highest", "spell_latency_max"))
        for one in lines[metric]
    ]
    return [
        Line(
            f"stimulus-throughput{slug}", f"Throughput by phase{label}",
            "Bytes per second of each round: sequential writes, random writes, sequential writes again.", time,
            Axis("Bandwidth", "B/s"), tuple(lines["spell_bandwidth"]), better="higher",
        ),
        Line(
            f"stimulus-latency{slug}", f"Latency by phase{label}",
            "Mean and maximum latency in each round.", time, Axis("Latency", "s", "log10"),
            tuple(latencies), better="lower",
        ),
    ]  # fmt: skip


def _course(mine: Sequence[Record], metric: str, spell: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Times and values of the rounds of a spell."""
    records = _first(mine)
    times = {record.coords["round"]: record.value for record in at(records, "spell_time", spell=spell)}
    values = {record.coords["round"]: record.value for record in at(records, metric, spell=spell)}
    numbers = sorted(values, key=float)
    return tuple(times[number] for number in numbers), tuple(values[number] for number in numbers)


def _demand(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    cells = {(int(record.coords["numjobs"]), int(record.coords["iodepth"])) for record in at(mine, "demand_iops")}
    if not cells:
        return []
    jobs, depths = sorted({one for one, _ in cells}), sorted({one for _, one in cells})
    rates = {cell: middle(at(mine, "demand_iops", numjobs=cell[0], iodepth=cell[1])) for cell in cells}
    times = {cell: middle(at(mine, "demand_latency", numjobs=cell[0], iodepth=cell[1])) for cell in cells}
    curves = [
        Series(
            f"{count} jobs",
            tuple(rates[count, depth] or 0.0 for depth in depths if (count, depth) in cells),
            tuple(times[count, depth] for depth in depths if (count, depth) in cells),
        )
        for count in jobs
    ]
    histogram = response_figure(_responses(mine), f"demand-responses{slug}", f"Response times by demand{label}")
    return [
        Line(
            f"demand-intensity{slug}", f"Demand intensity{label}",
            "Mean latency over IOPS; one line for each number of jobs, with rising queue depth.",
            Axis("IOPS", "ops/s"), Axis("Mean latency", "s", "log10"), tuple(curves), better="lower",
        ),
        Heatmap(
            f"demand-variation{slug}", f"Demand variation{label}", "IOPS at each load.",
            "Queue depth per job", "Jobs", tuple(map(str, depths)), tuple(map(str, jobs)),
            tuple(tuple(rates.get((count, depth)) for depth in depths) for count in jobs), "ops/s", better="higher",
        ),
        *(() if histogram is None else (histogram,)),
    ]  # fmt: skip


def _responses(mine: Sequence[Record]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for record in at(mine, "response_share"):
        found.setdefault(str(record.coords["point"]), []).append((float(record.coords["latency"]), record.value))
    return found
