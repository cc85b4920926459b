"""The figures of a drive qualification: convergence, verification of the steady state, and averages by block size and
mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from asct.instruments.fio.rows import MOST_PANELS, MOST_SERIES, capped
from asct.instruments.qualification.settings import size_name
from asct.instruments.qualification.tables import UNITS, QualificationView, Variable, WorkloadKey, phase_label, views
from asct.sdk.figure import Axis, Band, Detail, Figure, Heatmap, Line, Rated, Series
from asct.sdk.record import Record
from asct.sdk.rows import at, flags_of, point_label, series_of
from asct.statistics.steady import window_of

TITLES: Final = {
    "iops": "IOPS", "bandwidth": "Bandwidth", "latency": "Mean latency", "latency_max": "Maximum latency",
}  # fmt: skip
_VERIFIED: Final = {"iops": "IOPS", "bandwidth": "bandwidth", "latency": "mean latency"}
"""The names of the quantities of dependent variables, as used within titles."""
_WINDOW: Final = "measurement window"


@dataclass(frozen=True, slots=True)
class Course:
    """All rounds of a workload, and the first and last rounds in its measurement window, or None if it has no
    window."""

    name: str
    rounds: Sequence[Record]
    window: tuple[int, int] | None

    def numbers(self, relative: bool) -> list[int]:
        """Return the numbers of the rounds. If `relative` is set, the first round in the window has the number 1."""
        before = self.window[0] - 1 if relative and self.window is not None else 0
        return [round_of(record) - before for record in self.rounds]

    @property
    def in_window(self) -> list[Record]:
        """The rounds in the window."""
        first, last = self.window or (1, 0)
        return [record for record in self.rounds if first <= round_of(record) <= last]


def round_of(record: Record) -> int:
    """Return the number of the round that a value comes from."""
    return int(record.coords["round"])


def phase_figures(records: Sequence[Record], quantity: str, metrics: Sequence[str]) -> Sequence[Figure]:
    """Return the figures of each point: the convergence of `quantity` and its rounds in the window, with lines for
    every mix; a verification of each dependent variable; and the averages of each of `metrics`, both as lines and as a
    map."""
    found: list[Figure] = []
    for view in views(records):
        mixes = mixes_of(view)
        found += [*_courses(view, quantity, mixes), *(_verification(view, what, mixes) for what in view.variables())]
        for metric in metrics:
            values = view.cells(metric)
            if len(values) > 1:
                found += [_averages(view, metric, values, mixes), _heatmap(view, metric, values, mixes)]
    return tuple(found)


def mixes_of(view: QualificationView) -> dict[int, str]:
    """Return the name of each mix: the percentages of reads and writes, or the direction if nothing is mixed."""
    shares = dict.fromkeys(int(record.coords["rwmixread"]) for record in at(view.records, "iops"))
    pure = {100: "reads", 0: "writes"}
    return {reads: pure[reads] if set(shares) <= set(pure) else f"{reads}/{100 - reads}" for reads in shares}


def _courses(view: QualificationView, quantity: str, mixes: Mapping[int, str]) -> list[Figure]:
    """Return a figure of all rounds and a figure of the rounds in the window, with a line for each mix and block size.
    The result is empty if no workload has rounds."""
    courses = view.courses(quantity)
    reads, mix_note = capped([one for one in mixes if any(mix == one for _, mix in courses)], MOST_PANELS, "mixes")
    sizes, size_note = capped(sorted({size for size, _ in courses}, reverse=True), MOST_SERIES, "block sizes")
    curves = [
        Course(f"{mixes[mix]}, {size_name(size)}", tuple(courses[size, mix].values()), _window_rounds(view, size))
        for mix in reads
        for size in sizes
        if (size, mix) in courses
    ]
    if not curves:
        return []
    title = TITLES[quantity]
    convergence = course_figure(
        f"convergence-{quantity}{view.slug}",
        f"Steady state convergence{view.suffix}",
        f"{title} for each block size and each mix of reads and writes (given as percentages) over all rounds."
        f"{mix_note}{size_note}",
        Axis(title, UNITS[quantity], "log10", better=better(quantity)), curves, len(view.phases) > 1,
    )  # fmt: skip
    series = tuple(map(_window_course, curves))
    half = 100.0 * _half(view, view.phases[0])
    window = Line(
        f"window-{quantity}{view.slug}",
        f"Steady state by mix{view.suffix}",
        f"{title} in each round of the {_WINDOW}, relative to the average of the window. Only the dependent variables "
        f"decide whether the drive is steady.{mix_note}{size_note}",
        Axis("Round of the window", counts=True), Axis("Difference from the average", "%", from_zero=False), series,
        bands=(Band(-half, half, 1.0, float(max(len(line.x) for line in series)), f"± {half:g} %"),),
    )  # fmt: skip
    return [convergence, window]


def _window_rounds(view: QualificationView, size: int) -> tuple[int, int]:
    """Return the first and last rounds in the window of the phase that contains a block size."""
    tracking = [what.phase for what in view.variables() if what.place[0] == size]
    return view.window_rounds((tracking or view.phases)[0])


def course_figure(
    slug: str, title: str, caption: str, y: Axis, courses: Sequence[Course], relative: bool = False
) -> Line:
    """Return a figure of all rounds of several workloads, in which the measurement window is shaded.

    If `relative` is set, the workloads have different windows, so rounds are counted from the window. Otherwise, all
    of them have the same window.
    """
    window = courses[0].window
    bands: tuple[Band, ...] = ()
    if window is not None:
        first, last = (1, window[1] - window[0] + 1) if relative else window
        bands = (Band(None, None, first, last, _WINDOW),)
        start = f"Round 1 is the first round of the {_WINDOW}, which is shaded."
        caption = f"{caption} {start if relative else f'The {_WINDOW} is shaded.'}"
    series = tuple(
        series_of(course.name, course.numbers(relative), [[one] for one in course.rounds]) for course in courses
    )
    x = Axis("Round relative to the window" if relative else "Round", counts=True)
    return Line(slug, title, caption, x, y, series, bands=bands)


def _window_course(course: Course) -> Series:
    """Return the rounds of a workload in the window, as percentage differences from their average, so that workloads
    whose values differ by orders of magnitude share an axis."""
    rounds = course.in_window
    mean = sum(record.value for record in rounds) / len(rounds) if rounds else 0.0
    return Series(
        course.name,
        tuple(range(1, len(rounds) + 1)),
        tuple(100.0 * (record.value / mean - 1.0) if mean else None for record in rounds),
        details=tuple(Detail((), flags=flags_of([record]), setting=point_label(record, "")) for record in rounds),
    )


def _half(view: QualificationView, phase: str) -> float:
    """Return half of the excursion that the steady state permits, as a fraction of the average."""
    excursion = view.run(phase)["excursion"]
    return float(excursion) / 200.0 if isinstance(excursion, int | float) else 0.0


def _verification(view: QualificationView, what: Variable, mixes: Mapping[int, str]) -> Figure:
    """Return a figure that shows the values in the window, their average, the fitted line, and the range around the
    average in which the values must lie."""
    name = f"{_VERIFIED[what.quantity]} of {size_name(what.place[0])} {mixes[what.place[1]]}"
    place = f"{phase_label(what.phase)}-{what.quantity}-{size_name(what.place[0])}-r{what.place[1]}".strip("-")
    return verification_figure(
        f"verification-{place}{view.slug}", f"Steady state verification, {name}{view.suffix}",
        list(view.window(what).values()), _half(view, what.phase), what.quantity,
    )  # fmt: skip


def verification_figure(slug: str, title: str, rounds: Sequence[Record], half: float, quantity: str) -> Figure:
    """Return a figure that shows the `rounds` in a window, their average, the fitted line, and the range that extends
    `half` (a fraction of the average) above and below the average."""
    numbers = [round_of(record) for record in rounds]
    window = window_of([record.value for record in rounds])
    line = window.line()
    return Line(
        slug,
        title,
        f"The rounds in the {_WINDOW}. Relative to the average, the excursion is {100 * window.excursion:.1f} %, and "
        f"the change in the fitted line is {100 * window.drift:.1f} %.",
        Axis("Round", counts=True),
        Axis(TITLES[quantity], UNITS[quantity], from_zero=False, better=better(quantity)),
        (
            series_of("Values", numbers, [[record] for record in rounds]),
            Series("Fitted line", (numbers[0], numbers[-1]), (line[0], line[-1])),
        ),
        rated=(Rated(window.mean, "average"),),
        bands=(
            Band(
                window.mean * (1.0 - half), window.mean * (1.0 + half), float(numbers[0]), float(numbers[-1]),
                f"average ± {100 * half:g} %",
            ),
        ),
    )  # fmt: skip


def _averages(
    view: QualificationView, metric: str, values: Mapping[WorkloadKey, float], mixes: Mapping[int, str]
) -> Figure:
    """Return a figure of the averages, plotted against the block size, with one line per mix."""
    series = [mix_series(mixes[reads], view, metric, reads) for reads in dict.fromkeys(reads for _, reads in values)]
    return Line(
        f"measurement-{metric.replace('_', '-')}{view.slug}",
        f"{TITLES[metric]} by block size and mix{view.suffix}",
        f"{over_window(metric)}, with a line for each mix of reads and writes (given as percentages).",
        Axis("Block size", "B", "log2"),
        Axis(TITLES[metric], UNITS[metric], "log10", better=better(metric)), tuple(series),
    )  # fmt: skip


def mix_series(name: str, view: QualificationView, metric: str, reads: int) -> Series:
    """Return the averages of one mix, plotted against the block size."""
    sizes = sorted(size for size, mix in view.cells(metric) if mix == reads)
    repeats = [at(view.records, metric, block_size=size, rwmixread=reads) for size in sizes]
    return series_of(name, sizes, repeats)


def _heatmap(
    view: QualificationView, metric: str, values: Mapping[WorkloadKey, float], mixes: Mapping[int, str]
) -> Figure:
    """Return the averages as a heat map. Unlike in a 3D bar chart, values cannot hide one another."""
    shares = list(dict.fromkeys(reads for _, reads in values))
    sizes = sorted({size for size, _ in values}, reverse=True)
    columns = tuple(mixes[reads] for reads in shares)
    series = tuple(
        series_of(
            size_name(size), columns, [at(view.records, metric, block_size=size, rwmixread=reads) for reads in shares]
        )
        for size in sizes
    )
    return Heatmap(
        f"matrix-{metric.replace('_', '-')}{view.slug}",
        f"{TITLES[metric]}, matrix{view.suffix}",
        f"{over_window(metric)}.",
        "Reads/writes (%)" if any("/" in name for name in mixes.values()) else "Direction", "Block size",
        columns, tuple(row.name for row in series), tuple(row.y for row in series),
        UNITS[metric], better=better(metric), logarithmic=True, series=series,
    )  # fmt: skip


def over_window(metric: str) -> str:
    """Return a phrase that says how a value summarizes the rounds in the measurement window."""
    return f"The slowest request in the {_WINDOW}" if metric == "latency_max" else f"Averages over the {_WINDOW}"


def better(metric: str) -> Literal["lower", "higher"]:
    """Return whether lower or higher values of a metric are better."""
    return "lower" if metric.startswith("latency") else "higher"
