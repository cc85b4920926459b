"""Figures: rate and latency over rounds, time and bytes written; the final histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.qualification.responses import response_figure
from asct.sdk.figure import Axis, Figure, Line, Marker, Series
from asct.sdk.record import Record
from asct.sdk.rows import at, by_point, middle, point_label

_RATE: Final = Axis("IOPS", "ops/s")
_LATENCY: Final = Axis("Latency", "s", "log10")
_LATENCIES: Final = {
    "mean": "round_latency", "p99.9": "round_latency_p99_9", "highest": "round_latency_max",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgressAxis:
    """An axis of the test: the metric that locates a round on it, and the one that locates the cliff."""

    slug: str
    words: str
    axis: Axis
    metric: str
    cliff: str
    scale: float = 1.0


_OVER: Final = (
    ProgressAxis("round", "rounds", Axis("Round"), "", ""),
    ProgressAxis("time", "time", Axis("Time under load", "s"), "round_time", "cliff_time"),
    ProgressAxis("written", "GB written", Axis("Written", "B"), "round_written", "cliff_written"),
    ProgressAxis("fills", "drive fills", Axis("Drive fills"), "round_written", "cliff_fills"),
)


def course_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """The course over each axis, then the histogram; nothing without records."""
    points = [mine for mine in by_point(records) if at(mine, "round_iops")]
    if not points:
        return ()
    names = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    values = [_Progress(name, mine) for name, mine in zip(names, points, strict=True)]
    rates = [_rate(over, values) for over in _OVER]
    latencies = [_latency(over, values) for over in (_OVER[0], _OVER[2])]
    pairs = {
        name or "all requests": [
            (float(record.coords["latency"]), record.value) for record in at(mine, "response_share")
        ]
        for name, mine in zip(names, points, strict=True)
    }
    histogram = response_figure(pairs, "response-histogram", "Response times at the end")
    return (*rates, *latencies, *(() if histogram is None else (histogram,)))


class _Progress:
    """The rounds of one point, medians over the repeats."""

    def __init__(self, name: str, mine: Sequence[Record]) -> None:
        self.name = name
        found: dict[str, dict[int, list[Record]]] = {}
        for record in mine:
            if "round" in record.coords:
                found.setdefault(record.metric, {}).setdefault(int(record.coords["round"]), []).append(record)
        self.values: Mapping[str, Mapping[int, float | None]] = {
            metric: {number: middle(repeats) for number, repeats in rounds.items()} for metric, rounds in found.items()
        }
        self.numbers = sorted(self.values["round_iops"])
        fills, written = middle(at(mine, "drive_fills")), middle(at(mine, "written"))
        self.span = written / fills if written and fills else 1.0
        self.mine = mine

    def places(self, over: ProgressAxis) -> tuple[float, ...]:
        """The end of each round on the axis."""
        if not over.metric:
            return tuple(float(number) for number in self.numbers)
        scale = self.span if over.slug == "fills" else 1.0
        return tuple((self.values[over.metric][number] or 0.0) / scale for number in self.numbers)

    def series(self, over: ProgressAxis, metric: str, name: str) -> Series:
        """One line."""
        rounds = self.values.get(metric, {})
        label = ", ".join(part for part in (self.name, name) if part)
        return Series(label, self.places(over), tuple(rounds.get(number) for number in self.numbers))


def _rate(over: ProgressAxis, courses: Sequence[_Progress]) -> Figure:
    lines = tuple(course.series(over, "round_iops", "" if course.name else "rounds") for course in courses)
    cliff = middle(at(courses[0].mine, over.cliff)) if over.cliff and len(courses) == 1 else None
    markers = () if cliff is None else (Marker(cliff, "cliff"),)
    caption = f"IOPS of each round over {over.words}. The cliff is where the rate first fell by half."
    return Line(
        f"iops-over-{over.slug}", f"IOPS over {over.words}", caption, over.axis, _RATE, lines, markers, better="higher"
    )


def _latency(over: ProgressAxis, courses: Sequence[_Progress]) -> Figure:
    lines = tuple(course.series(over, metric, name) for course in courses for name, metric in _LATENCIES.items())
    caption = f"Total latency of the requests in each round over {over.words}."
    return Line(
        f"latency-over-{over.slug}", f"Latency over {over.words}", caption, over.axis, _LATENCY, lines, better="lower"
    )
