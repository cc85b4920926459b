"""The tables of a drive qualification: averages by block size and mix, the steady state, and the settings that were
used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.settings import cell_label, size_name
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, point_label
from asct.values.duration import format_duration
from asct.values.quantity import format_quantity
from asct.values.size import about_size

WorkloadKey = tuple[int, int]
"""Block size and percent of reads."""
_SINGLE: Final = "test"


@dataclass(frozen=True, slots=True)
class Variable:
    """A dependent variable of a phase."""

    phase: str
    place: WorkloadKey
    quantity: str


@dataclass(frozen=True, slots=True)
class QualificationView:
    """All records of a point. Averages are medians over the repeats; rounds are taken from the first repeat."""

    records: Sequence[Record]
    label: str
    slug: str

    @property
    def suffix(self) -> str:
        """The label as a suffix for titles."""
        return f", {self.label}" if self.label else ""

    @property
    def first_repeat(self) -> Sequence[Record]:
        """The records of one repeat."""
        lowest = min(record.repeat for record in self.records)
        return [record for record in self.records if record.repeat == lowest]

    @property
    def phases(self) -> list[str]:
        """Names of the phases in their order."""
        return list(dict.fromkeys(str(record.coords["phase"]) for record in at(self.records, "rounds")))

    def run(self, phase: str) -> dict[str, Scalar]:
        """The settings that were used in a phase, by name."""
        return at(self.first_repeat, "rounds", phase=phase)[0].coords

    def last_round(self, phase: str) -> int:
        """Number of the last round, which ends the window."""
        return round(at(self.first_repeat, "rounds", phase=phase)[0].value)

    def first_round(self, phase: str) -> int:
        """Number of the first round of the window."""
        window = self.run(phase)["window"]
        return self.last_round(phase) - (window if isinstance(window, int) else 0) + 1

    def steady(self, phase: str) -> bool:
        """Whether the steady state was reached, in every repeat."""
        return all(record.value == 1.0 for record in at(self.records, "steady", phase=phase))

    def method(self, phase: str) -> str:
        """The purge method of the target; `none` if it was not purged."""
        return str(at(self.first_repeat, "purged", phase=phase)[0].coords["method"])

    def amount(self, metric: str, **coords: Scalar) -> float | None:
        """A value at a place: the median over the repeats; None without one."""
        return middle(at(self.records, metric, **coords))

    @property
    def left_out(self) -> list[int]:
        """Block sizes that the target does not take."""
        return sorted({round(record.value) for record in at(self.records, "left_out")})

    def cells(self, metric: str) -> dict[WorkloadKey, float]:
        """A metric by block size and mix."""
        places = dict.fromkeys(_place(record) for record in at(self.records, metric))
        found = {one: self.amount(metric, block_size=one[0], rwmixread=one[1]) for one in places}
        return {one: value for one, value in found.items() if value is not None}

    def variables(self) -> list[Variable]:
        """The dependent variables of all phases."""
        records = at(self.first_repeat, "window_slope")
        return [Variable(str(one.coords["phase"]), _place(one), str(one.coords["quantity"])) for one in records]

    def share(self, metric: str, what: Variable) -> float | None:
        """Excursion or slope of a variable."""
        size, reads = what.place
        return self.amount(metric, phase=what.phase, block_size=size, rwmixread=reads, quantity=what.quantity)

    def rounds(self, quantity: str, place: WorkloadKey) -> list[tuple[int, float]]:
        """Number and value of each round of a workload."""
        records = at(self.first_repeat, f"round_{quantity}", block_size=place[0], rwmixread=place[1])
        return sorted((_number(record), record.value) for record in records)

    def window(self, what: Variable) -> list[tuple[int, float]]:
        """The rounds of the window of a variable."""
        first, last = self.first_round(what.phase), self.last_round(what.phase)
        return [(number, value) for number, value in self.rounds(what.quantity, what.place) if first <= number <= last]

    def flags(self, metric: str, **coords: Scalar) -> tuple[str, ...]:
        """The flags of all values of a metric at these coordinates."""
        return flags_of(at(self.records, metric, **coords))


def views(records: Sequence[Record]) -> list[QualificationView]:
    """One for each point that has rounds."""
    points = [mine for mine in by_point(records) if at(mine, "rounds")]
    labels = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    slugs = [f"-{number}" if len(points) > 1 else "" for number in range(1, len(points) + 1)]
    return [QualificationView(*parts) for parts in zip(points, labels, slugs, strict=True)]


def phase_label(phase: str) -> str:
    """The phase as shown in titles; empty for a test with a single phase."""
    return "" if phase == _SINGLE else phase


def _place(record: Record) -> WorkloadKey:
    size, reads = record.coords["block_size"], record.coords["rwmixread"]
    return (int(size), int(reads))


def _number(record: Record) -> int:
    return int(record.coords["round"])


UNITS: Final = {"iops": "ops/s", "bandwidth": "B/s", "latency": "s"}
_MATRICES: Final = {
    "iops": ("Average IOPS", 1.0, 1),
    "bandwidth": ("Average Bandwidth (MB/s)", 1e6, 3),
    "latency": ("Average Latency (ms)", 1e-3, 3),
    "latency_p99_999": ("99.999 % Latency (ms)", 1e-3, 3),
    "latency_max": ("Max Latency (ms)", 1e-3, 3),
}
"""Metric to title, scale and decimals."""
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
    """One table for each metric that has values, then the steady-state table and the drive table."""
    found = [_matrix(view, slug, metric) for view in views(records) for metric in metrics if view.cells(metric)]
    return (*found, *steady_table(records, slug), *device_table(records, slug))


def _matrix(view: QualificationView, slug: str, metric: str) -> Table:
    """A row for each block size and a column for each mix; latencies in the opposite order, as reports have them."""
    title, scale, digits = _MATRICES[metric]
    values = view.cells(metric)
    mixes = list(dict.fromkeys(reads for _, reads in values))
    sizes = sorted({size for size, _ in values})
    if metric.startswith("latency"):
        mixes, sizes = mixes[::-1], sizes[::-1]
    columns = (
        Column("block_size", "Block Size", format="text"),
        *(Column(f"r{reads}", f"{reads}/{100 - reads}", scale, digits, kept=True) for reads in mixes),
        Column("flags", "Flags", format="text"),
    )
    rows = tuple(_matrix_row(view, metric, size, mixes) for size in sizes)
    name = f"{title} vs. Block Size and R/W Mix %{profile_label(view)}{view.suffix}"
    return Table(
        f"{slug}-{metric}{view.slug}".replace("_", "-"), name, columns, rows, notes_of(view), view.flags(metric)
    )


def _matrix_row(view: QualificationView, metric: str, size: int, mixes: Sequence[int]) -> dict[str, Scalar | None]:
    row: dict[str, Scalar | None] = {"block_size": size_name(size)}
    row |= {f"r{reads}": view.amount(metric, block_size=size, rwmixread=reads) for reads in mixes}
    return row | {"flags": ", ".join(view.flags(metric, block_size=size))}


def profile_label(view: QualificationView) -> str:
    """The profile as shown in titles; empty for the profile of the specification."""
    profile = view.run(view.phases[0])["profile"]
    return "" if profile == "pts" else f" ({profile})"


def notes_of(view: QualificationView) -> tuple[str, ...]:
    """Notes on the settings that were used, taken from the records."""
    notes = dict.fromkeys(note for phase in view.phases for note in _phase_notes(view, phase))
    size = view.amount("active_range")
    found = list(notes)
    if size is not None:
        found.append(f"Active range: {about_size(round(size))}")
    if view.left_out:
        sizes = ", ".join(size_name(one) for one in view.left_out)
        found.append(f"Skipped: {sizes}, smaller than a logical block of the target")
    return tuple(found)


def _phase_notes(view: QualificationView, phase: str) -> list[str]:
    run = view.run(phase)
    seconds = format_duration(float(run["round_time"]))
    load = f"{run['numjobs']} jobs of queue depth {run['iodepth']}, engine {run['engine']}, direct"
    where = f"{phase_label(phase)}: " if phase_label(phase) else ""
    first, last = view.first_round(phase), view.last_round(phase)
    if run["profile"] == "fast":
        how = (
            f"Profile fast: the tracked workloads {seconds} per round until steady (rounds {first} to {last}), "
            f"then each workload once, until its rate settled or for at most {seconds}; not comparable with "
            "profile pts"
        )
    else:
        how = f"Averages of rounds {first} to {last}, each workload {seconds} per round"
    notes = [f"{where}{how}; {load}"]
    if not view.steady(phase):
        notes.append(f"{where}The steady state was NOT reached: the values are still changing")
    method = view.method(phase)
    purged = "NOT purged" if method == "none" else f"Purged by {method}"
    notes.append(f"{where}{purged}, then written {run['precondition']} times before the rounds")
    return notes


def steady_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """Each dependent variable: reached or not, in which rounds, with which values."""
    shown = views(records)
    rows = tuple(_steady_row(view, what) for view in shown for what in view.variables())
    if not rows:
        return ()
    notes = tuple(dict.fromkeys(_rule(view.run(phase)) for view in shown for phase in view.phases))
    flags = tuple(dict.fromkeys(flag for view in shown for flag in view.flags("steady")))
    return (Table(f"{slug}-steady-state", "Steady State Information", _STEADY, rows, notes, flags),)


def _rule(run: dict[str, Scalar]) -> str:
    """The rule as it was applied."""
    return (
        f"Steady: over {run['window']} rounds, the values differ by at most {run['excursion']:g} % and the fitted "
        f"line changes by at most {run['slope']:g} % of the average, after {run['steady_volume']:g} times the "
        f"active range was written since the purge or the rate fell by half; at most {run['rounds_max']} rounds"
    )


def _steady_row(view: QualificationView, what: Variable) -> dict[str, Scalar | None]:
    values = [value for _, value in view.window(what)]
    unit = UNITS[what.quantity]
    return {
        "point": view.label or None,
        "phase": phase_label(what.phase) or None,
        "variable": f"{what.quantity} {cell_label(*what.place)}",
        "reached": "reached" if view.steady(what.phase) else "NOT reached",
        "rounds": f"{view.first_round(what.phase)} to {view.last_round(what.phase)}",
        "values": ", ".join(format_quantity(value, unit, 4) for value in values),
        "average": format_quantity(sum(values) / len(values), unit, 4) if values else None,
        "excursion": view.share("window_excursion", what),
        "slope": view.share("window_slope", what),
        "written": view.amount("written_volume", phase=what.phase),
    }
