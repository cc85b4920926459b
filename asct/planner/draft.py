"""A job in the making: what an entry is on one host, before needs are joined and the plan is hashed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asct.plan.model import Entry
from asct.planner.model import Origin, Point
from asct.sdk.benchmark import Benchmark

NAMED = "named in the plan"


@dataclass(frozen=True, slots=True)
class Points:
    """The points of one entry on one host. `swept` names what varies, in order; `explicit` what someone gave a value
    other than the default; `aliases` the needs that templates read; `pinned` the swept settings fixed by --set."""

    points: tuple[Point, ...]
    swept: tuple[str, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    explicit: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry on a host with its points."""

    entry: Entry
    host: str
    benchmark: Benchmark[Any]
    made: Points
    reason: str = NAMED

    @property
    def id(self) -> str:
        """The id of the job."""
        return self.entry.id
