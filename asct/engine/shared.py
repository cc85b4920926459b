"""What all host threads of one run share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asct.engine.events import EventBus
from asct.engine.options import RunOptions
from asct.engine.services import Services
from asct.engine.stop import StopRequest
from asct.planner.model import ResolvedPlan
from asct.sdk.record import Scalar
from asct.store.earlier import EarlierRuns
from asct.store.model import HostVerdict
from asct.store.reader import RepeatKey
from asct.store.writer import RunWriter


@dataclass(frozen=True, slots=True)
class MeasuredRepeat:
    """A repeat that is not measured again. `source` is `<plan>/<run id>` of the earlier run that it was taken from;
    empty for one that an earlier part of this run measured."""

    status: str
    measured_at: str
    source: str = ""
    telemetry: HostVerdict | None = None


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """What an earlier part of a resumed run has: repeats, and results for jobs that need them."""

    done: Mapping[RepeatKey, MeasuredRepeat] = field(default_factory=dict)
    exports: Mapping[tuple[str, str], Mapping[str, Scalar]] = field(default_factory=dict)
    """(host, job id) to its results by path."""
    told: Mapping[RepeatKey, int] = field(default_factory=dict)
    """How many ends of a repeat were told."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Host to the folder of its last session, which may still be there."""


@dataclass(frozen=True, slots=True)
class Shared:
    """One run: what to do, with what, where to."""

    resolved: ResolvedPlan
    options: RunOptions
    ports: Services
    writer: RunWriter
    bus: EventBus
    stop: StopRequest
    earlier: EarlierResults = field(default_factory=EarlierResults)
    reuse: EarlierRuns | None = None
    """Where points are looked up before they are measured (`--reuse`)."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.writer.run.run

    @property
    def plan_folder(self) -> Path:
        """Where relative paths of the plan start."""
        return Path(self.resolved.path or ".").resolve().parent
