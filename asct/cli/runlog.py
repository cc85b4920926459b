"""The log of a run: what happened, in plain lines with the time, in asct.log and in `--log-file`."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from asct.cli.options import PROGRAM
from asct.cli.progress import describe
from asct.diagnostics.render import printable
from asct.engine import events

_FORMAT = "%(asctime)s %(levelname)s %(message)s"
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}


class RunLog(AbstractContextManager["RunLog"]):
    """A listener that logs every event; asct.log opens with the run and closes with the context."""

    def __init__(self, level: str) -> None:
        self._log = logging.getLogger(PROGRAM)
        self._before = self._log.level
        self._log.setLevel(level.upper())
        self._handler: logging.Handler | None = None

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            self._open(Path(event.folder) / "asct.log")
        diagnostic = getattr(event, "diagnostic", None)
        if diagnostic is not None:
            host = getattr(event, "host", None) or "run"
            hint = f" ({diagnostic.hint})" if diagnostic.hint else ""
            text = f"{host}: {diagnostic.code} {diagnostic.message}{hint}"
            self._say(_LEVELS[diagnostic.severity], text.replace("\n", " "))
        elif isinstance(event, events.PointEnded):
            place = f"{event.host}/{event.id} {event.point_id} repeat {event.repeat}"
            self._say(logging.DEBUG, f"{place}: {event.status} in {event.elapsed_s:.3f} s {event.headline}")
        elif isinstance(event, events.RunEnded):
            self._say(logging.INFO, f"{event.status}, exit code {event.exit_code}, {event.elapsed_s:.1f} s")
        elif text := describe(event):
            self._say(logging.INFO, text)

    def _say(self, level: int, text: str) -> None:
        """One line without control characters: words of a host must not forge lines, or steer who looks at them."""
        self._log.log(level, "%s", printable(text))

    def _open(self, place: Path) -> None:
        try:
            self._handler = logging.FileHandler(place, encoding="utf-8")
        except OSError:
            return  # the journal has the same facts, and a full disk is reported by the store
        self._handler.setFormatter(logging.Formatter(_FORMAT))
        self._log.addHandler(self._handler)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            self._log.removeHandler(self._handler)
            self._handler.close()
        self._log.setLevel(self._before)
