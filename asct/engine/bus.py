"""Hands events to the listeners, one at a time and in one order for all; the journal is the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import Lock

from asct.diagnostics.model import Diagnostic
from asct.engine.events import Event, Notice, PointEnded, PointStarted
from asct.store.writer import RunWriter

Listener = Callable[[Event], None]


class Bus:
    """Thread-safe: two hosts never interleave inside one listener, and all listeners see the same order."""

    def __init__(self, writer: RunWriter, listeners: Iterable[Listener]) -> None:
        self._writer = writer
        self._listeners = tuple(listeners)
        self._mutex = Lock()
        self.findings: list[tuple[str | None, Diagnostic]] = []
        """Every diagnostic told by `notice`, with its host."""

    def emit(self, event: Event) -> None:
        """Journal first, so that what a listener shows is on disk. Raises StoreError when the journal cannot grow."""
        with self._mutex:
            point = isinstance(event, PointStarted | PointEnded)
            self._writer.journal(stamped(event), sync=isinstance(event, PointEnded), force=not point)
            self._tell(event)

    def tell(self, event: Event) -> None:
        """What only those who watch need to know: it is not kept."""
        with self._mutex:
            self._tell(event)

    def notice(self, host: str | None, diagnostic: Diagnostic) -> None:
        """A finding of a host or of the run; it is kept for run.json even when the journal cannot grow."""
        event = Notice(host, diagnostic)
        with self._mutex:
            self.findings.append((host, diagnostic))
            if self._writer.failure is None:
                self._writer.journal(stamped(event), sync=True, force=True)
            self._tell(event)

    def last(self, event: Event) -> None:
        """The end of the run: told to the listeners whether or not the journal can still be written."""
        with self._mutex:
            self._writer.last_words(stamped(event))
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def stamped(event: Event) -> dict[str, object]:
    """The event as a line of the journal: with the time."""
    body = event.to_json()
    return {"schema": body.pop("schema"), "t": body.pop("t"), "at": now(), **body}


def now() -> str:
    """The time as documents write it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
