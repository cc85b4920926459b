"""The records of one point of a qualification, as tables and figures ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, point_label

Place = tuple[int, int]
"""Block size and percent of reads."""
_SINGLE: Final = "test"


@dataclass(frozen=True, slots=True)
class Variable:
    """A dependent variable of a phase."""

    phase: str
    place: Place
    quantity: str


@dataclass(frozen=True, slots=True)
class View:
    """All records of a point. Averages are medians over the repeats; rounds are those of the first repeat."""

    records: Sequence[Record]
    label: str
    slug: str

    @property
    def suffix(self) -> str:
        """For titles."""
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
        """What was really run in a phase: settings by their names."""
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
        """How the target was purged; `none` if it was not."""
        return str(at(self.first_repeat, "purged", phase=phase)[0].coords["method"])

    def amount(self, metric: str, **coords: Scalar) -> float | None:
        """A value at a place: the median over the repeats; None without one."""
        return middle(at(self.records, metric, **coords))

    @property
    def left_out(self) -> list[int]:
        """Block sizes that the target does not take."""
        return sorted({round(record.value) for record in at(self.records, "left_out")})

    def cells(self, metric: str) -> dict[Place, float]:
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

    def rounds(self, quantity: str, place: Place) -> list[tuple[int, float]]:
        """Number and value of each round of a cell."""
        records = at(self.first_repeat, f"round_{quantity}", block_size=place[0], rwmixread=place[1])
        return sorted((_number(record), record.value) for record in records)

    def window(self, what: Variable) -> list[tuple[int, float]]:
        """The rounds of the window of a variable."""
        first, last = self.first_round(what.phase), self.last_round(what.phase)
        return [(number, value) for number, value in self.rounds(what.quantity, what.place) if first <= number <= last]

    def flags(self, metric: str, **coords: Scalar) -> tuple[str, ...]:
        """Of all values of a metric at a place."""
        return flags_of(at(self.records, metric, **coords))


def views(records: Sequence[Record]) -> list[View]:
    """One for each point that has rounds."""
    points = [mine for mine in by_point(records) if at(mine, "rounds")]
    labels = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    slugs = [f"-{number}" if len(points) > 1 else "" for number in range(1, len(points) + 1)]
    return [View(*parts) for parts in zip(points, labels, slugs, strict=True)]


def phase_label(phase: str) -> str:
    """For titles: nothing for a test of one phase."""
    return "" if phase == _SINGLE else phase


def _place(record: Record) -> Place:
    size, reads = record.coords["block_size"], record.coords["rwmixread"]
    return (int(size), int(reads))


def _number(record: Record) -> int:
    return int(record.coords["round"])
