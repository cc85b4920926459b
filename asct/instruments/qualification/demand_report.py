"""The report of a demand test: tables of the operating points, the matrix and the steady states, and figures of rounds,
loads and response times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.qualification.demand import NOISY
from asct.instruments.qualification.figures import Course, course_figure, round_of, verification_figure
from asct.instruments.qualification.responses import PERCENTILES, response_figure
from asct.instruments.qualification.tables import first_repeat, window_row, windows_table
from asct.sdk.figure import Axis, Column, Figure, Heatmap, Line, Series, Table
from asct.sdk.record import Record
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flag_cell,
    flags_of,
    middle,
    over_measured,
    rows_by,
    series_of,
)
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity
from asct.values.text import counted

_US: Final = 1e-6
_POINTS: Final = (
    Column("point", "Point", format="text"),
    Column("numjobs", "Jobs", format="integer"),
    Column("iodepth", "Depth", format="integer"),
    Column("point_iops", "IOPS", digits=0),
    Column("point_latency", "Mean lat. (us)", _US),
    *(Column(f"response_{name}", f"p{percent:g} (us)", _US) for name, percent in PERCENTILES.items()),
    Column("response_max", "Max lat. (us)", _US),
)
_MATRIX: Final = (
    Column("numjobs", "Jobs", format="integer"),
    Column("iodepth", "Depth", format="integer"),
    Column("demand_iops", "IOPS", digits=0),
    Column("demand_latency", "Mean lat. (us)", _US),
)
_ROUNDS: Final = (
    Column("stage", "Stage", format="text"),
    Column("numjobs", "Jobs", format="integer"),
    Column("iodepth", "Depth", format="integer"),
    Column("round", "Round", format="integer"),
    Column("round_iops", "IOPS"),
)
_STAGES: Final = {"writes": "writes before the matrix", "matrix": "highest load in the matrix"}
Load = tuple[int, int]
"""The number of jobs and the queue depth per job."""


def demand_tables(records: Sequence[Record], slug: str, form: str) -> Sequence[Table]:
    """Return the tables of operating points, loads in the matrix, steady states and, for exports, all rounds.

    `form` is a suffix for titles. Tables can be empty.
    """
    loads = rows_of(records, ("numjobs", "iodepth"), _MATRIX)
    rounds = rows_of(records, ("stage", "numjobs", "iodepth", "round"), _ROUNDS)
    flags = flags_of(at(records, "demand_iops"))
    return (
        _point_table(records, slug, form),
        Table(f"{slug}-demand", f"Demand by jobs and depth{form}", (*_MATRIX, FLAGS_COLUMN), loads, flags=flags),
        _steady_table(records, slug, form),
        Table(f"{slug}-demand-rounds", "Every round of the demand test", (*_ROUNDS, FLAGS_COLUMN), rounds, bulk=True),
    )


def rows_of(records: Sequence[Record], keys: Sequence[str], columns: Sequence[Column]) -> tuple[Row, ...]:
    """Return a row for each point and each combination of values of the coordinates `keys`. `columns` selects the
    metrics."""
    return tuple(row for mine in by_point(records) for row in rows_by(mine, keys, columns))


def _point_table(records: Sequence[Record], slug: str, form: str) -> Table:
    rows: list[Row] = []
    for mine in by_point(records):
        for name in dict.fromkeys(str(record.coords["point"]) for record in at(mine, "point_iops")):
            rates = at(mine, "point_iops", point=name)
            cells: Row = {column.key: middle(at(mine, column.key, point=name)) for column in _POINTS}
            cells |= {"point": name, **{key: rates[0].coords.get(key) for key in ("numjobs", "iodepth")}}
            rows.append(cells | flag_cell(rates))
    note = (
        "`max`, `mid` and `min`: the highest, middle and lowest IOPS among the workloads whose mean latency is "
        "within the limit"
    )
    title = f"Operating points and their response times{form}"
    flags = flags_of(at(records, "point_iops"))
    return Table(f"{slug}-points", title, (*_POINTS, FLAGS_COLUMN), tuple(rows), (note,), flags)


def _steady_table(records: Sequence[Record], slug: str, form: str) -> Table:
    """Return a table with a row for each stage that has a measurement window."""
    rows: list[Row] = []
    for mine in by_point(records):
        for stage, label in _STAGES.items():
            window = _window(mine, stage)
            if window:
                shares: Row = {key: middle(at(mine, key, stage=stage)) for key in ("window_excursion", "window_slope")}
                rows.append(window_row(label, _reached(mine, stage), window) | shares)
    return windows_table(slug, form, rows)


def _reached(mine: Sequence[Record], stage: str) -> bool:
    if stage == "writes":
        return all(record.value == 1.0 for record in at(mine, "steady"))
    return not any(NOISY in record.flags for record in at(mine, "matrix_rounds"))


def _load_of(record: Record) -> Load:
    return int(record.coords["numjobs"]), int(record.coords["iodepth"])


def _courses(mine: Sequence[Record], stage: str) -> dict[Load, list[Record]]:
    """Return the rounds of the first repeat at each load with the highest number of jobs, highest load first."""
    rounds = sorted(at(first_repeat(mine), "round_iops", stage=stage), key=round_of)
    found = grouped(rounds, _load_of)
    most = max((jobs for jobs, _ in found), default=0)
    return {load: found[load] for load in sorted(found, reverse=True) if load[0] == most}


def _window(mine: Sequence[Record], stage: str) -> list[Record]:
    """Return the rounds in the measurement window for the highest load, or an empty list if there is no window."""
    first = first_repeat(mine)
    sizes = at(first, "window_excursion", stage=stage)
    rounds = next(iter(_courses(mine, stage).values()), [])
    return rounds[-int(sizes[0].coords["window"]) :] if sizes else []


def demand_figures(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    """Return the figures of a demand test, or an empty list if there was none. `label` and `slug` are suffixes that
    identify the point."""
    loads = set(map(_load_of, at(mine, "demand_iops")))
    if not loads:
        return []
    histogram = response_figure(
        grouped(at(mine, "response_share"), lambda one: str(one.coords["point"])),
        f"demand-responses{slug}",
        f"Response times by demand{label}",
        "".join(_summary(mine, str(record.coords["point"])) for record in at(first_repeat(mine), "response_mean")),
    )
    return [
        *_rounds(mine, label, slug),
        *_matrix(mine, loads, label, slug),
        *(() if histogram is None else (histogram,)),
    ]


def _summary(mine: Sequence[Record], point: str) -> str:
    """Return the mean, the 99.999th percentile (if there is one) and the maximum of the response times at an operating
    point."""
    names = {"mean": "response_mean", "99.999 %": "response_p99_999", "maximum": "response_max"}
    values = {name: middle(at(mine, metric, point=point)) for name, metric in names.items()}
    known = [f"{name} {format_quantity(value, 's')}" for name, value in values.items() if value is not None]
    return f" {point}: {', '.join(known)}."


def _rounds(mine: Sequence[Record], label: str, slug: str) -> list[Figure]:
    """Return the rounds of the writes and of the matrix, each followed by its measurement window."""
    found: list[Figure] = []
    for stage, name in _STAGES.items():
        window = _window(mine, stage)
        ends = (round_of(window[0]), round_of(window[-1])) if window else None
        courses = [
            Course(f"{counted(jobs, 'job')}, depth {depth}", rounds, ends)
            for (jobs, depth), rounds in _courses(mine, stage).items()
        ]
        if any(len(course.rounds) > 1 for course in courses):
            title = "Rounds before the matrix" if stage == "writes" else "Rounds of the matrix"
            found.append(
                course_figure(f"demand-rounds-{stage}{slug}", f"{title}{label}", _CAPTIONS[stage], _RATE, courses)
            )
        if window:
            half = float(at(first_repeat(mine), "window_excursion", stage=stage)[0].coords["excursion"]) / 200.0
            title = f"Steady state verification, {name}{label}"
            found.append(verification_figure(f"demand-window-{stage}{slug}", title, window, half, "iops"))
    return found


_RATE: Final = Axis("IOPS", "ops/s", better="higher")
_CAPTIONS: Final = {
    "writes": "IOPS in each round of writes at the highest load, until the steady state is reached.",
    "matrix": "IOPS in each round of the matrix at the highest number of jobs, with one line for each queue depth.",
}


def _matrix(mine: Sequence[Record], loads: set[Load], label: str, slug: str) -> list[Figure]:
    """Return three figures: the demand variation, the demand intensity, and a map of the matrix."""
    jobs, depths = sorted({one for one, _ in loads}), sorted({one for _, one in loads})
    rates = {load: at(mine, "demand_iops", numjobs=load[0], iodepth=load[1]) for load in loads}
    variation: list[Series] = []
    intensity: list[Series] = []
    for count in jobs:
        known = [depth for depth in depths if (count, depth) in loads]
        latencies = [at(mine, "demand_latency", numjobs=count, iodepth=depth) for depth in known]
        own = [rates[count, depth] for depth in known]
        variation.append(series_of(counted(count, "job"), known, own))
        curve = over_measured(series_of(counted(count, "job"), [middle(one) or 0.0 for one in own], latencies), own)
        intensity.append(replace(curve, labels=tuple(map(str, known)), labels_name="depth"))
    columns = tuple(map(str, depths))
    cells = tuple(series_of(str(count), columns, [rates.get((count, depth), ()) for depth in depths]) for count in jobs)
    return [
        Line(
            f"demand-variation{slug}", f"Demand variation{label}",
            "IOPS against the queue depth per job, with one line for each number of jobs.",
            Axis("Queue depth per job", "", "log2", counts=True), _RATE, tuple(variation),
        ),
        Line(
            f"demand-intensity{slug}", f"Demand intensity{label}",
            "Mean latency against IOPS, with one line for each number of jobs; the number beside a mark is the "
            "queue depth per job.",
            _RATE, Axis("Mean latency", "s", "log10", better="lower"), tuple(intensity),
        ),
        Heatmap(
            f"demand-matrix{slug}", f"Demand matrix{label}", "IOPS at each load.",
            "Queue depth per job", "Jobs", columns, tuple(row.name for row in cells), tuple(row.y for row in cells),
            "ops/s", better="higher", series=cells,
        ),
    ]  # fmt: skip
