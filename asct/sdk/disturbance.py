"""Disturbances on a host (asct.disturbances/1). Each disturbance has a list of the metrics that it affects, a fix and
an undo."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from asct.sdk.benchmark import Benchmark

EVERYTHING: Final = "*"
"""Item in `touches` that stands for all values of all benchmarks."""
_FAMILIES: Final = {"memory": "memory", "storage": "storage", "ssd": "storage", "hdd": "storage"}
"""Maps benchmark keywords to families."""
_QUANTITIES: Final = {
    "s": "latency", "cycles": "latency", "B/s": "bandwidth", "B/cycle": "bandwidth", "ops/s": "iops", "%": "cpu",
}  # fmt: skip
"""Maps metric units to the quantities that are measured in them."""

Certainty = Literal["certain", "likely", "possible"]
CERTAINTIES: Final[tuple[Certainty, ...]] = ("certain", "likely", "possible")
"""All degrees of certainty, most certain first."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False, defer_build=True)


class Setting(_Part):
    """A file in /proc or /sys, the value to write to it, and its original value. `{}` in the path stands for each of
    `numbers` in turn."""

    path: str
    value: str
    was: str
    numbers: list[int] = Field(default_factory=list)


class Disturbance(_Part):
    """A disturbance. `title` is short enough for a list. `seen` contains the value that the host reported. `effect`
    says which values change and in which direction. `sure` is the degree of certainty, and `why` is the reason for it.

    `fix` and `undo` are shell commands for root; `undo` restores the original state. If `scripted` is set, they can run
    unattended, one after the other; otherwise, the user must follow `advice` or run the commands. `touches` lists the
    affected benchmark families (`memory`) or the quantities that they measure (`storage.iops`); `*` means all values,
    and an empty list means none.
    """

    name: str
    title: str
    seen: str
    effect: str
    touches: list[str]
    sure: Certainty
    why: str
    fix: list[str] = Field(default_factory=list)
    undo: list[str] = Field(default_factory=list)
    advice: str = ""
    scripted: bool = False
    settings: list[Setting] = Field(default_factory=list)
    source: str

    @property
    def touched(self) -> str:
        """`touches` as text, such as `memory latency, storage`."""
        if EVERYTHING in self.touches:
            return "everything"
        return ", ".join(_worded(item) for item in self.touches) or "no value"

    def about(self, subjects: Collection[str]) -> bool:
        """Return whether the disturbance affects any of these subjects."""
        return any(item in subjects for item in self.touches)


def _worded(item: str) -> str:
    return item.replace(".", " ").replace("iops", "IOPS").replace("cpu", "CPU")


class Unseen(_Part):
    """A check that could not be performed, and the reason."""

    what: str
    why: str


class Disturbances(_Part):
    """The content of a run's disturbances/<host>.json: what was found on the host before the first measurement, most
    certain findings first."""

    schema_: Literal["asct.disturbances/1"] = Field("asct.disturbances/1", alias="schema")
    host: str
    findings: list[Disturbance] = Field(default_factory=list)
    unseen: list[Unseen] = Field(default_factory=list)

    def touching(self, subjects: Collection[str]) -> list[Disturbance]:
        """Return the likely and certain findings that affect one of these subjects."""
        return [item for item in self.findings if item.sure != "possible" and item.about(subjects)]


def family_of(benchmark: Benchmark[Any]) -> str:
    """Return the family of a benchmark, such as `memory`, or an empty string if none of its keywords belongs to a
    family."""
    return next((_FAMILIES[word] for word in benchmark.keywords if word in _FAMILIES), "")


def subject_text(family: str, unit: str) -> str:
    """Return the subject of a value as text, such as `memory latency` or `storage IOPS`. If the unit implies no
    quantity, return only the family."""
    return _worded(".".join(filter(None, (family, _QUANTITIES.get(unit, "")))))


def subjects(benchmark: Benchmark[Any]) -> frozenset[str]:
    """Return the subjects of a benchmark in the form used in `touches`: its family, and the quantities of its
    metrics."""
    families = {_FAMILIES[word] for word in benchmark.keywords if word in _FAMILIES}
    quantities = {_QUANTITIES[metric.unit] for metric in benchmark.metrics if metric.unit in _QUANTITIES}
    return frozenset({EVERYTHING, *families, *(f"{family}.{what}" for family in families for what in quantities)})
