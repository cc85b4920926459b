"""Measured values: a benchmark returns them as Measurements, and the results tree stores them as Records
(asct.record/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

Scalar = str | int | float | bool

REUSED: Final = "reused"
NOISY_HOST: Final = "noisy-host"
INVALID_HOST: Final = "invalid-host"
DISAGREES: Final = "disagrees"
"""The part of the flag that precedes the colon. The name of the other value follows the colon."""
COMMON_FLAGS: Final[Mapping[str, str]] = {
    REUSED: "reused from an earlier run on the same host under the same conditions (`--reuse`); status.json "
    "identifies the run and the time",
    NOISY_HOST: "other activity on the host may have disturbed the repeat: see `telemetry` in its status.json",
    INVALID_HOST: "the host did not reach its full performance during the repeat (thermal throttling, a CPU "
    "quota, a CPU or clock that changed, a drive warning); see `telemetry` in its status.json",
    DISAGREES: "another value of the same quantity in this run (named after the colon) differs by more than 5 %, and "
    "the intervals of the two values do not overlap",
}
"""Flags that the values of any benchmark can have, and their meanings."""
_MOST_DOUBTFUL: Final = 0.1


def _unknown(value: object) -> bool:
    return value is None


class ValueState(BaseModel):
    """One of two values between which visits alternate: the median of its visits, and their share of all visits."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    value: float
    share: float


class Stats(BaseModel):
    """The distribution of a value's samples, in the unit of the value. `ci95` is None if there are fewer than 6
    independent samples or visits.

    If a value comes from several visits (processes with fresh memory), `visits` is their number, `between` the sample
    variance of their medians, and `within` the mean of the variances within them (both in the unit squared). `states`
    contains the two groups into which the visits fall, if any, and `moved` is the number of visits in which a virtual
    CPU moved. `visit_values` contains the medians of the visits in chronological order; comparisons of runs use them in
    statistical tests. `runs` is the number of runs, including this one, whose spread `ci95` takes into account. If
    `runs` is not set, `ci95` reflects only the spread of the visits. `dropped` is the number of samples that were
    dropped because a thread was descheduled, in addition to the `n` samples; it is not set if there were none. Dropped
    samples widen the interval over visits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    n: int
    median: float
    mad: float
    ci95: tuple[float, float] | None = None
    min: float
    max: float
    visits: int | None = Field(None, exclude_if=_unknown)
    visit_values: tuple[float, ...] | None = Field(None, exclude_if=_unknown)
    between: float | None = Field(None, exclude_if=_unknown)
    within: float | None = Field(None, exclude_if=_unknown)
    states: tuple[ValueState, ...] | None = Field(None, exclude_if=_unknown)
    moved: int | None = Field(None, exclude_if=_unknown)
    dropped: int | None = Field(None, exclude_if=_unknown)
    runs: int | None = Field(None, exclude_if=_unknown)

    def scaled(self, factor: float) -> Stats:
        """Return the same statistics in a different unit; `factor` must be positive."""
        changed = {
            "median": self.median * factor,
            "mad": self.mad * factor,
            "ci95": self.ci95 and (self.ci95[0] * factor, self.ci95[1] * factor),
            "min": self.min * factor,
            "max": self.max * factor,
            "visit_values": self.visit_values and tuple(value * factor for value in self.visit_values),
            "between": None if self.between is None else self.between * factor**2,
            "within": None if self.within is None else self.within * factor**2,
            "states": self.states
            and tuple(ValueState(value=state.value * factor, share=state.share) for state in self.states),
        }
        return Stats(**{**dict(self), **changed})


def is_invalid(flags: Iterable[str]) -> bool:
    """Return whether one of the flags marks its value as invalid: `invalid`, or a flag with this prefix."""
    return any(flag.startswith("invalid") for flag in flags)


def doubtful(flag: str) -> bool:
    """Return whether a flag marks a value as doubtful: `noisy`, `invalid` or `disagrees`, or a flag with one of these
    prefixes."""
    return flag.partition(":")[0].partition("-")[0] in ("noisy", "invalid", DISAGREES)


def many_doubtful(parts: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return the flags of all doubtful parts of a value if more than a tenth of its parts are doubtful. Otherwise,
    return an empty sequence."""
    found = [flags for flags in parts if any(map(doubtful, flags))]
    return found if len(found) > _MOST_DOUBTFUL * len(parts) else ()


def shared_flags(parts: Sequence[Sequence[str]], noisy: str) -> tuple[str, ...]:
    """Return the flags that all parts of a value share.

    If none of these marks the value as doubtful but more than a tenth of the parts are doubtful, append `noisy`.
    """
    shared = set(parts[0]).intersection(*parts)
    found = tuple(flag for flag in parts[0] if flag in shared)
    return (*found, noisy) if many_doubtful(parts) and not any(map(doubtful, found)) else found


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value of one metric. `coords` identify the value within the repeat; `flags` say why it is doubtful, or
    explain it.

    If `detail` is set, another value of the same repeat summarizes this value and many others. An example is the
    latency at one size on a curve with levels. The flags of a detail apply only to the detail: if it is noisy, the
    repeat is not.
    """

    metric: str
    value: float
    coords: dict[str, Scalar] = field(default_factory=dict)
    stats: Stats | None = None
    flags: tuple[str, ...] = ()
    detail: bool = False


class Record(BaseModel):
    """One line of records.jsonl: a value with all its coordinates (asct.record/1)."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True)

    schema_: Literal["asct.record/1"] = Field("asct.record/1", alias="schema")
    run: str
    plan: str
    host: str
    benchmark: str
    id: str
    version: str
    point: dict[str, Scalar | list[Scalar] | None]
    coords: dict[str, Scalar]
    point_id: str
    repeat: int
    metric: str
    value: float
    unit: str
    better: Literal["lower", "higher", "neither"]
    stats: Stats | None = None
    flags: list[str] = Field(default_factory=list)
    raw: str


def matches(coords: Mapping[str, Scalar], at: Mapping[str, Scalar | None]) -> bool:
    """Return whether coordinates match those in `at`, where None stands for any value."""
    return coords.keys() == at.keys() and all(value in (None, coords[key]) for key, value in at.items())
