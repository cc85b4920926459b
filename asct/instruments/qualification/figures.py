"""The figures of a drive qualification: convergence, verification of the steady state, and averages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from asct.instruments.qualification.settings import cell_label, size_name
from asct.instruments.qualification.tables import UNITS, QualificationView, Variable, phase_label, views
from asct.sdk.figure import Axis, Figure, Heatmap, Line, Series
from asct.sdk.record import Record
from asct.statistics.steady import window_of

TITLES: Final = {"iops": "IOPS", "bandwidth": "Bandwidth", "latency": "Mean latency"}
_BETTER: Final[dict[str, Literal["lower", "higher"]]] = {"iops": "higher", "bandwidth": "higher", "latency": "lower"}
_MOST_LINES: Final = 12


def phase_figures(records: Sequence[Record], quantity: str) -> Sequence[Figure]:
    """Return the convergence of `quantity`, the verification of each variable, and averages for each point."""
    found: list[Figure] = []
    for view in views(records):
        found += [*_convergence(view, quantity), *(_verification(view, what) for what in view.variables())]
        if len(view.cells(quantity)) > 1:
            found += [_averages(view, quantity), _matrix(view, quantity)]
    return tuple(found)


def _convergence(view: QualificationView, quantity: str) -> list[Figure]:
    """Return the values of all block sizes over the rounds, in a figure for each mix with a dependent variable."""
    found: list[Figure] = []
    for reads in dict.fromkeys(what.place[1] for what in view.variables()):
        places = sorted({place for place in view.cells(quantity) if place[1] == reads}, reverse=True)
        lines = [(place, view.rounds(quantity, place)) for place in places[:_MOST_LINES]]
        series = tuple(
            Series(size_name(place[0]), tuple(number for number, _ in values), tuple(value for _, value in values))
            for place, values in lines
            if values
        )
        if series:
            mix = f"{reads}/{100 - reads}"
            found.append(
                Line(
                    f"convergence-{quantity}-r{reads}{view.slug}",
                    f"Steady state convergence, {mix}{view.suffix}",
                    f"{TITLES[quantity]} of each block size with {mix} % reads and writes, over all rounds.",
                    Axis("Round"), Axis(TITLES[quantity], UNITS[quantity], "log10"), series, better=_BETTER[quantity],
                )
            )  # fmt: skip
    return found


def _verification(view: QualificationView, what: Variable) -> Figure:
    """Return the values of the window with their average, the fitted line, and the bounds of the excursion."""
    numbers = tuple(number for number, _ in view.window(what))
    window = window_of([value for _, value in view.window(what)])
    excursion = view.run(what.phase)["excursion"]
    half = float(excursion) / 200.0 if isinstance(excursion, int | float) else 0.0
    level = len(numbers) * (window.mean,)
    series = (
        Series("Values", numbers, window.values),
        Series("Average", numbers, level),
        Series("Fitted line", numbers, window.line()),
        Series(f"Average + {100 * half:g} %", numbers, tuple(value * (1.0 + half) for value in level)),
        Series(f"Average - {100 * half:g} %", numbers, tuple(value * (1.0 - half) for value in level)),
    )
    name = f"{what.quantity} {cell_label(*what.place)}"
    place = f"{phase_label(what.phase)}-{what.quantity}-{size_name(what.place[0])}-r{what.place[1]}".strip("-")
    return Line(
        f"verification-{place}{view.slug}",
        f"Steady state verification, {name}{view.suffix}",
        f"The rounds of the measurement window: excursion {100 * window.excursion:.1f} %, change of the fitted line "
        f"{100 * window.drift:.1f} % of the average.",
        Axis("Round"), Axis(TITLES[what.quantity], UNITS[what.quantity]), series, better=_BETTER[what.quantity],
    )  # fmt: skip


def _averages(view: QualificationView, quantity: str) -> Figure:
    """Return the averages over the block sizes, with a line for each mix."""
    values = view.cells(quantity)
    series = []
    for reads in dict.fromkeys(reads for _, reads in values):
        sizes = tuple(sorted(size for size, mix in values if mix == reads))
        series.append(Series(f"{reads}/{100 - reads}", sizes, tuple(values[size, reads] for size in sizes)))
    return Line(
        f"measurement-{quantity}{view.slug}",
        f"{TITLES[quantity]} by block size and mix{view.suffix}",
        "Averages of the measurement window, with a line for each mix of reads and writes in percent.",
        Axis("Block size", "B", "log2"), Axis(TITLES[quantity], UNITS[quantity], "log10"), tuple(series),
        better=_BETTER[quantity],
    )  # fmt: skip


def _matrix(view: QualificationView, quantity: str) -> Figure:
    """Return the averages as a heat map, in which no value hides another as in a 3D bar chart."""
    values = view.cells(quantity)
    mixes = list(dict.fromkeys(reads for _, reads in values))
    sizes = sorted({size for size, _ in values}, reverse=True)
    return Heatmap(
        f"matrix-{quantity}{view.slug}",
        f"{TITLES[quantity]}, matrix{view.suffix}",
        "Averages of the measurement window.",
        "Reads/writes (%)", "Block size",
        tuple(f"{reads}/{100 - reads}" for reads in mixes),
        tuple(size_name(size) for size in sizes),
        tuple(tuple(values.get((size, reads)) for reads in mixes) for size in sizes),
        UNITS[quantity], better=_BETTER[quantity],
    )  # fmt: skip
