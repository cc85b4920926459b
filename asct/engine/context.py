"""The context that hosts, jobs and repeats of a run share, and results from before it started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asct.engine.events import EventBus
from asct.engine.services import Services
from asct.engine.stop import StopRequest
from asct.planner.model import ResolvedPlan
from asct.sdk.record import Scalar
from asct.store.earlier import EarlierRuns
from asct.store.model import HostVerdict
from asct.store.reader import RepeatKey
from asct.store.writer import RunWriter


@dataclass(frozen=True, slots=True)
class RunContext:
    """The run that a host, job or repeat belongs to: its plan, where results and events go, whether it must end."""

    plan: ResolvedPlan
    services: Services
    writer: RunWriter
    events: EventBus
    stop: StopRequest

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.writer.run.run


@dataclass(frozen=True, slots=True)
class MeasuredRepeat:
    """A repeat that is not measured again. `source` is `<plan>/<run id>` of the run that it is reused from, empty for a
    repeat of an earlier part of this run."""

    status: str
    measured_at: str
    source: str = ""
    telemetry: HostVerdict | None = None


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """Earlier results: from an earlier part of a resumed run, and from earlier runs (`--reuse`)."""

    repeats: Mapping[RepeatKey, MeasuredRepeat] = field(default_factory=dict)
    exports: Mapping[tuple[str, str], Mapping[str, Scalar]] = field(default_factory=dict)
    """(host, job id) to the results of that job for others, by path."""
    ends: Mapping[RepeatKey, int] = field(default_factory=dict)
    """How often the journal has the end of a repeat."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Host to the work folder of its last session, which may still exist there."""
    runs: EarlierRuns | None = None
    """Runs that `--reuse` searches; None without that option."""


def plan_folder(plan: ResolvedPlan) -> Path:
    """The folder from which relative paths of the plan are resolved."""
    return Path(plan.path or ".").resolve().parent
