"""Disturbances of measurements on a host (asct.disturbances/1), each with the metrics it affects, its fix and undo."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from asct.sdk.benchmark import Benchmark

EVERYTHING: Final = "*"
"""Stands in `touches` for every value of every benchmark."""
_FAMILIES: Final = {"memory": "memory", "storage": "storage", "ssd": "storage", "hdd": "storage"}
"""Keyword of a benchmark to the family that it belongs to."""
_QUANTITIES: Final = {
    "s": "latency", "cycles": "latency", "B/s": "bandwidth", "B/cycle": "bandwidth", "ops/s": "iops", "%": "cpu",
}  # fmt: skip
"""Unit of a metric to what it tells of."""

Certainty = Literal["certain", "likely", "possible"]
CERTAINTIES: Final[tuple[Certainty, ...]] = ("certain", "likely", "possible")
"""The surest first."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False, defer_build=True)


class Setting(_Part):
    """A file in /proc or /sys: the value to write, and the value that was found.

    `{}` in the path stands for each of `numbers`.
    """

    path: str
    value: str
    was: str
    numbers: list[int] = Field(default_factory=list)


class Disturbance(_Part):
    """A disturbance. `title` is short enough for a list, `seen` has the value that was found, `effect` says
    which values suffer and in which direction, `sure` how sure that is and `why`.

    `fix` and `undo` are lines for a shell of root; the undo restores what was seen. With `scripted` they may run
    unattended, one by one; without, `advice` or the lines are for a person. `touches` lists families of benchmarks
    (`memory`) or what they measure (`storage.iops`); `*` is everything, nothing at all that no value suffers.
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
        """`touches` for people: `memory latency, storage`."""
        if EVERYTHING in self.touches:
            return "everything"
        return ", ".join(_worded(item) for item in self.touches) or "no value"

    def about(self, subjects: Collection[str]) -> bool:
        """Whether it affects any of these subjects."""
        return any(item in subjects for item in self.touches)


def _worded(item: str) -> str:
    return item.replace(".", " ").replace("iops", "IOPS").replace("cpu", "CPU")


class Unseen(_Part):
    """A check that was not possible, and the reason."""

    what: str
    why: str


class Disturbances(_Part):
    """disturbances/<host>.json of a run: the findings on a host before measuring, most certain first."""

    schema_: Literal["asct.disturbances/1"] = Field("asct.disturbances/1", alias="schema")
    host: str
    findings: list[Disturbance] = Field(default_factory=list)
    unseen: list[Unseen] = Field(default_factory=list)

    def touching(self, words: Collection[str]) -> list[Disturbance]:
        """The findings that are more than possible and touch something with these subjects."""
        return [item for item in self.findings if item.sure != "possible" and item.about(words)]


def subjects(benchmark: Benchmark[Any]) -> frozenset[str]:
    """The subjects of a benchmark, in the terms of `touches`: its family, and the quantities of its metrics."""
    families = {_FAMILIES[word] for word in benchmark.keywords if word in _FAMILIES}
    told = {_QUANTITIES[metric.unit] for metric in benchmark.metrics if metric.unit in _QUANTITIES}
    return frozenset({EVERYTHING, *families, *(f"{family}.{what}" for family in families for what in told)})
