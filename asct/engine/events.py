"""The events of a run, and the bus that passes them to the journal, `--json` and the progress display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from threading import Lock
from typing import Any, ClassVar, Literal

from asct.diagnostics.model import Diagnostic
from asct.store.model import PointStatus
from asct.store.writer import RunWriter
from asct.values.timestamp import stamp


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events. `t` is the event's kind in JSON."""

    t: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object (schema `asct.event/1`)."""
        body: dict[str, Any] = {"schema": "asct.event/1", "t": self.t}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Diagnostic):
                body[item.name] = value.to_json()
            elif isinstance(value, Mapping):
                body[item.name] = dict(value)
            elif value is not None or item.name != "diagnostic":
                body[item.name] = value
        return body


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The run starts. `measurements` is the total number of planned measurements, `per_host` contains their number per
    host, and `estimated_s` contains the estimated duration per host."""

    t: ClassVar[str] = "run-started"
    run: str
    plan: str
    folder: str
    hosts: tuple[str, ...]
    jobs: int
    measurements: int
    estimated_s: Mapping[str, float] = field(default_factory=dict)
    per_host: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MeasuringAgain(Event):
    """Points whose values seem to have regressed are measured again. The fields have the same meaning as in
    `RunStarted`."""

    t: ClassVar[str] = "measuring-again"
    points: int
    hosts: tuple[str, ...]
    measurements: int
    estimated_s: Mapping[str, float] = field(default_factory=dict)
    per_host: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostOpening(Event):
    """A host is about to be opened. `session` identifies the run's session on the host, so that `asct resume` finds the
    session even if the run ends before the host is ready."""

    t: ClassVar[str] = "host-opening"
    host: str
    session: str


@dataclass(frozen=True, slots=True)
class HostReady(Event):
    """A host is open and its facts have been read. `text` is a one-line description of the host; `work` is the path of
    the work folder."""

    t: ClassVar[str] = "host-ready"
    host: str
    text: str = ""
    work: str = ""


@dataclass(frozen=True, slots=True)
class KernelBuilt(Event):
    """A measurement kernel was built for the host, or taken from the build cache (`cached`)."""

    t: ClassVar[str] = "kernel-built"
    host: str
    kernel: str
    compiler: str
    cached: bool
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JobStarted(Event):
    """The first point of a job starts."""

    t: ClassVar[str] = "job-started"
    host: str
    id: str
    benchmark: str
    measurements: int
    estimated_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RepeatEvent(Event):
    """Base class for events about one repeat. Repeats are numbered from 1; warm-ups are numbered 0, -1, ..."""

    host: str
    id: str
    point_id: str
    repeat: int


@dataclass(frozen=True, slots=True)
class PointStarted(RepeatEvent):
    """A repeat of a point starts. Repeats are numbered from 1; warm-ups are numbered 0, -1, ..."""

    t: ClassVar[str] = "point-started"
    label: str = ""
    estimated_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StepStarted(RepeatEvent):
    """A step of a long repeat starts. Steps are numbered from 1. This event is not written to the journal."""

    t: ClassVar[str] = "step-started"
    number: int
    label: str


@dataclass(frozen=True, slots=True)
class DriveRates(RepeatEvent):
    """Transfer rates of the drives that underlie the targets, averaged over the last second, in B/s and requests/s.
    This event is not written to the journal."""

    t: ClassVar[str] = "drive-rates"
    read_bandwidth: float
    write_bandwidth: float
    read_iops: float
    write_iops: float


@dataclass(frozen=True, slots=True)
class PointEnded(RepeatEvent):
    """A repeat ended, and its files are on disk."""

    t: ClassVar[str] = "point-ended"
    status: PointStatus
    elapsed_s: float
    headline: str = ""
    diagnostic: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class JobEnded(Event):
    """A job ended: all of its points were measured or skipped."""

    t: ClassVar[str] = "job-ended"
    host: str
    id: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A diagnostic about a host or the whole run."""

    t: ClassVar[str] = "notice"
    host: str | None
    diagnostic: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run ended. `reports` maps each format to the path of its report."""

    t: ClassVar[str] = "run-ended"
    run: str
    status: Literal["complete", "incomplete", "interrupted"]
    exit_code: int
    elapsed_s: float
    reports: Mapping[str, str] = field(default_factory=dict)


Listener = Callable[[Event], None]


class EventBus:
    """Passes each event first to the journal and then to the listeners.

    The bus handles one event at a time, so that all receivers get the events in the same order. Thread-safe.
    """

    def __init__(
        self,
        writer: RunWriter,
        listeners: Iterable[Listener],
        reword: Callable[[Diagnostic], Diagnostic] = lambda item: item,
    ) -> None:
        self.reword = reword
        """Rewords diagnostics to fit the command that the user typed; see `asct.diagnostics.wording`."""
        self._writer = writer
        self._listeners = tuple(listeners)
        self._mutex = Lock()
        self.findings: list[tuple[str | None, Diagnostic]] = []
        """All diagnostics passed to `notice`, each with its host name (None for the whole run)."""

    def emit(self, event: Event) -> None:
        """Write an event to the journal and pass it to the listeners. Raises StoreError if the journal cannot be
        written.

        The token of a session is flushed to disk before the host is changed, and the end of a job together with the
        ends of all its points. A resumed run needs no other event.
        """
        with self._mutex:
            force = isinstance(event, HostOpening | JobEnded)
            self._writer.journal(stamped(event), sync=isinstance(event, PointEnded), force=force)
            self._distribute(event)

    def broadcast(self, event: Event) -> None:
        """Pass an event only to live displays, without writing it to the journal."""
        with self._mutex:
            self._distribute(event)

    def notice(self, host: str | None, diagnostic: Diagnostic) -> None:
        """Emit a diagnostic about a host, or about the run if `host` is None.

        The diagnostic is kept for run.json even if the journal cannot be written.
        """
        diagnostic = self.reword(diagnostic)
        event = Notice(host, diagnostic)
        with self._mutex:
            self.findings.append((host, diagnostic))
            if self._writer.failure is None:
                self._writer.journal(stamped(event), sync=True)
            self._distribute(event)

    def notices(self, host: str | None, diagnostics: Iterable[Diagnostic]) -> None:
        """Emit a notice for each diagnostic."""
        for diagnostic in diagnostics:
            self.notice(host, diagnostic)

    def emit_last(self, event: Event) -> None:
        """Emit the last event in a run, even if the journal cannot be written."""
        with self._mutex:
            self._writer.journal_last(stamped(event))
            self._distribute(event)

    def _distribute(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def stamped(event: Event) -> dict[str, object]:
    """Return the content of an event's journal line, including the time."""
    body = event.to_json()
    return {"schema": body.pop("schema"), "t": body.pop("t"), "at": now(), **body}


def now() -> str:
    """Return the current time in the format used in documents: ISO 8601, UTC, with milliseconds."""
    return stamp(datetime.now(UTC), "milliseconds")
