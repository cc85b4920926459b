"""The tables of a drive qualification: averages by block size and mix, and the steady state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.results import BURST
from asct.instruments.qualification.settings import Workload, size_name
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import FLAGS_COLUMN, Row, at, by_point, flags_of, middle, point_label
from asct.values.duration import format_duration
from asct.values.quantity import format_alike
from asct.values.size import about_size
from asct.values.text import counted

WorkloadKey = tuple[int, int]
"""Block size and percentage of reads."""
_SINGLE: Final = "test"


@dataclass(frozen=True, slots=True)
class Variable:
    """A dependent variable: a quantity of one workload that must become steady in a phase."""

    phase: str
    place: WorkloadKey
    quantity: str


@dataclass(frozen=True, slots=True)
class QualificationView:
    """The records of a point. Averages are medians over the repeats, whereas rounds come from the first repeat only."""

    records: Sequence[Record]
    label: str
    slug: str

    @property
    def suffix(self) -> str:
        """A suffix for titles: the profile (unless it is `pts`), followed by the label."""
        profile = self.run(self.phases[0])["profile"]
        return ("" if profile == "pts" else f" ({profile})") + (f", {self.label}" if self.label else "")

    @property
    def first_repeat(self) -> Sequence[Record]:
        return first_repeat(self.records)

    @property
    def phases(self) -> list[str]:
        """The names of the phases, in the order in which they ran."""
        return list(dict.fromkeys(str(record.coords["phase"]) for record in at(self.records, "rounds")))

    def run(self, phase: str) -> dict[str, Scalar]:
        """Return the settings for a phase, keyed by name."""
        return at(self.first_repeat, "rounds", phase=phase)[0].coords

    def window_rounds(self, phase: str) -> tuple[int, int]:
        """Return the numbers of the first and last rounds in the window."""
        record = at(self.first_repeat, "rounds", phase=phase)[0]
        window = record.coords["window"]
        return round(record.value) - (window if isinstance(window, int) else 0) + 1, round(record.value)

    def steady(self, phase: str) -> bool:
        """Return whether the steady state was reached in every repeat."""
        return all(record.value == 1.0 for record in at(self.records, "steady", phase=phase))

    def amount(self, metric: str, **coords: Scalar) -> float | None:
        """Return the median of a value over the repeats, or None if there is none."""
        return middle(at(self.records, metric, **coords))

    def cells(self, metric: str) -> dict[WorkloadKey, float]:
        """Return the values of a metric by block size and mix."""
        keys = dict.fromkeys(_key(record) for record in at(self.records, metric))
        found = {key: self.amount(metric, block_size=key[0], rwmixread=key[1]) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def variables(self) -> list[Variable]:
        """Return the dependent variables of all phases."""
        records = at(self.first_repeat, "window_slope")
        return [Variable(str(one.coords["phase"]), _key(one), str(one.coords["quantity"])) for one in records]

    def courses(self, quantity: str) -> dict[WorkloadKey, dict[int, Record]]:
        """Return the record of each round, keyed by workload and round number."""
        found: dict[WorkloadKey, dict[int, Record]] = {}
        records = at(self.first_repeat, f"round_{quantity}")
        for record in sorted(records, key=lambda one: int(one.coords["round"])):
            found.setdefault(_key(record), {})[int(record.coords["round"])] = record
        return found

    def window(self, what: Variable) -> dict[int, Record]:
        """Return the rounds in a dependent variable's window, keyed by round number."""
        first, last = self.window_rounds(what.phase)
        rounds = self.courses(what.quantity).get(what.place, {})
        return {number: record for number, record in rounds.items() if first <= number <= last}

    def flags(self, metric: str, **coords: Scalar) -> tuple[str, ...]:
        """Return the flags of all values that a metric has at these coordinates."""
        return flags_of(at(self.records, metric, **coords))


def first_repeat(records: Sequence[Record]) -> list[Record]:
    lowest = min(record.repeat for record in records)
    return [record for record in records if record.repeat == lowest]


def views(records: Sequence[Record]) -> list[QualificationView]:
    """Return a view of each point that has rounds. Labels and slug suffixes are empty if there is only one point."""
    points = [mine for mine in by_point(records) if at(mine, "rounds")]
    labels = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    slugs = [f"-{number}" if len(points) > 1 else "" for number in range(1, len(points) + 1)]
    return [QualificationView(*parts) for parts in zip(points, labels, slugs, strict=True)]


def phase_label(phase: str) -> str:
    """Return the name of a phase for use in titles, or an empty string if it is the test's only phase."""
    return "" if phase == _SINGLE else phase


def _key(record: Record) -> WorkloadKey:
    return int(record.coords["block_size"]), int(record.coords["rwmixread"])


UNITS: Final = {"iops": "ops/s", "bandwidth": "B/s", "latency": "s", "latency_max": "s"}
MATRICES: Final = {
    "iops": ("Average IOPS", 1.0, 1),
    "bandwidth": ("Average Bandwidth (MB/s)", 1e6, 3),
    "latency": ("Average Latency (ms)", 1e-3, 3),
    "latency_p99_999": ("99.999 % Latency (ms)", 1e-3, 3),
    "latency_max": ("Max Latency (ms)", 1e-3, 3),
}
"""The title, scale and decimals of each metric."""
_STEADY: Final = (
    Column("point", "Point", format="text"),
    Column("phase", "Phase", format="text"),
    Column("variable", "Dependent Variable", format="text"),
    Column("reached", "Steady State", format="text"),
    Column("rounds", "Rounds", format="text"),
    Column("values", "Values in Window", format="text"),
    Column("average", "Average", format="text"),
    Column("excursion", "Excursion (%)"),
    Column("slope", "Slope (%)"),
    Column("written", "Written (GB)", 1e9, help="from the purge to the end of the rounds"),
)


def phase_tables(records: Sequence[Record], slug: str, metrics: Sequence[str]) -> Sequence[Table]:
    """Return a table for each metric that has values, followed by the tables of the steady state and of the drive."""
    found = [_matrix(view, slug, metric) for view in views(records) for metric in metrics if view.cells(metric)]
    return (*found, *steady_table(records, slug), *device_table(records, slug))


def _matrix(view: QualificationView, slug: str, metric: str) -> Table:
    """Return a table by block size and mix.

    Latency tables are in the reverse order, as is usual in drive reports.
    """
    title, scale, digits = MATRICES[metric]
    values = view.cells(metric)
    mixes = list(dict.fromkeys(reads for _, reads in values))
    sizes = sorted({size for size, _ in values})
    if metric.startswith("latency"):
        mixes, sizes = mixes[::-1], sizes[::-1]
    columns = (
        Column("block_size", "Block Size", format="text"),
        *(Column(f"r{reads}", f"{reads}/{100 - reads}", scale, digits, kept=True) for reads in mixes),
        FLAGS_COLUMN,
    )
    rows = tuple(_matrix_row(view, metric, size, mixes) for size in sizes)
    name = f"{title} vs. Block Size and R/W Mix %{view.suffix}"
    return Table(
        f"{slug}-{metric}{view.slug}".replace("_", "-"), name, columns, rows, notes_of(view), view.flags(metric)
    )


def _matrix_row(view: QualificationView, metric: str, size: int, mixes: Sequence[int]) -> Row:
    row: Row = {"block_size": size_name(size)}
    row |= {f"r{reads}": view.amount(metric, block_size=size, rwmixread=reads) for reads in mixes}
    return row | {"flags": ", ".join(view.flags(metric, block_size=size))}


def notes_of(view: QualificationView) -> tuple[str, ...]:
    """Return notes about the phases, the active range, and the skipped block sizes. A note that does not apply to all
    phases begins with those to which it applies."""
    phases: dict[str, list[str]] = {}
    for phase in view.phases:
        for note in _phase_notes(view, phase):
            phases.setdefault(note, []).append(phase)
    found = [
        note if len(names) == len(view.phases) else f"{', '.join(names)}: {note}" for note, names in phases.items()
    ]
    size = view.amount("active_range")
    if size is not None:
        found.append(f"Active range: {about_size(round(size))}")
    skipped = sorted({round(record.value) for record in at(view.records, "left_out")})
    if skipped:
        found.append(f"Skipped: {', '.join(map(size_name, skipped))} (smaller than a logical block of the target)")
    return tuple(found)


def _phase_notes(view: QualificationView, phase: str) -> list[str]:
    run = view.run(phase)
    seconds = format_duration(float(run["round_time"]))
    load = f"{counted(int(run['numjobs']), 'job')} at queue depth {run['iodepth']}, engine {run['engine']}, direct I/O"
    first, last = view.window_rounds(phase)
    if run["profile"] == "fast":
        how = (
            f"Fast profile: the tracked workloads ran for {seconds} per round until they were steady (rounds "
            f"{first} to {last}). Then each workload ran once until its rate settled, for at most {seconds}. These "
            f"values are not comparable with results from the `pts` profile"
        )
    else:
        how = f"Averages of rounds {first} to {last}; each workload ran for {seconds} per round"
    notes = [f"{how}; {load}"]
    if not view.steady(phase):
        notes.append("Steady state was NOT reached: the values are still changing")
    elif any(BURST in record.flags for record in at(view.first_repeat, "steady", phase=phase)):
        notes.append("The rate has not fallen by half since the purge: the values may come from a long burst")
    purge = at(view.first_repeat, "purged", phase=phase)[0].coords
    purged = "NOT purged" if purge["method"] == "none" else f"Purged by {purge['method']}"
    failed = purge.get("failed", "none")  # runs from older versions do not state it
    why = "" if failed == "none" else f" ({failed})"
    notes.append(f"{purged}{why}, then written {_times(run['precondition'])} before the rounds")
    return notes


def _times(number: Scalar) -> str:
    return f"{number:g} {'time' if number == 1 else 'times'}"


def steady_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """Return a table of the result, the rounds and the values of each dependent variable."""
    points = views(records)
    rows = tuple(_steady_row(view, what) for view in points for what in view.variables())
    if not rows:
        return ()
    notes = tuple(dict.fromkeys(_rule(view.run(phase)) for view in points for phase in view.phases))
    flags = tuple(dict.fromkeys(flag for view in points for flag in view.flags("steady")))
    return (Table(f"{slug}-steady-state", "Steady State Information", _STEADY, rows, notes, flags),)


def _rule(run: dict[str, Scalar]) -> str:
    """Describe the rule that defines the steady state."""
    return (
        f"A workload is steady if, over {run['window']} rounds, its values differ by at most {run['excursion']:g} % "
        f"and the fitted line changes by at most {run['slope']:g} % of the average. Before that, the active range must "
        f"have been written {_times(run['steady_volume'])} since the purge, or the rate must have fallen by half. The "
        f"test ends after at most {run['rounds_max']} rounds"
    )


_WINDOWS: Final = (
    Column("stage", "Stage", format="text"),
    Column("reached", "Steady State", format="text"),
    Column("rounds", "Rounds", format="text"),
    Column("values", "IOPS in Window", format="text"),
    Column("average", "Average", digits=0),
    Column("window_excursion", "Excursion (%)"),
    Column("window_slope", "Slope (%)"),
)


def windows_table(slug: str, suffix: str, rows: Sequence[Row]) -> Table:
    """Return the table of steady states for a test whose workloads are not distinguished by block size and mix."""
    return Table(f"{slug}-steady-state", f"Steady State Information{suffix}", _WINDOWS, tuple(rows))


def window_row(stage: str, reached: bool, window: Sequence[Record]) -> Row:
    """Return the table row for a steady state, excluding the excursion and slope. `window` contains the rounds in the
    window."""
    values = [record.value for record in window]
    return {
        "stage": stage,
        "reached": "reached" if reached else "NOT reached",
        "rounds": f"{window[0].coords['round']} to {window[-1].coords['round']}",
        "values": ", ".join(f"{value:.0f}" for value in values),
        "average": sum(values) / len(values),
    }


def _steady_row(view: QualificationView, what: Variable) -> Row:
    values = [record.value for record in view.window(what).values()]
    mean = [sum(values) / len(values)] if values else []
    unit, (size, reads) = UNITS[what.quantity], what.place
    change = {
        name: view.amount(f"window_{name}", phase=what.phase, block_size=size, rwmixread=reads, quantity=what.quantity)
        for name in ("excursion", "slope")
    }
    texts = format_alike([*values, *mean], unit, 4)
    return {
        "point": view.label or None,
        "phase": phase_label(what.phase) or None,
        "variable": f"{what.quantity} {Workload(*what.place).label}",
        "reached": "reached" if view.steady(what.phase) else "NOT reached",
        "rounds": "{} to {}".format(*view.window_rounds(what.phase)),
        "values": ", ".join(texts[: len(values)]),
        "average": texts[-1] if values else None,
        **change,
        "written": view.amount("written_volume", phase=what.phase),
    }
