"""Search the earlier runs in a results folder for measured points, starting with the newest run (`--reuse`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock

from asct.errors import StoreError
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record, is_invalid
from asct.store.checksums import changed_file
from asct.store.documents import current, inside, load, parse_object, read_text, store_error
from asct.store.find import list_runs
from asct.store.layout import RepeatKey, repeat_key
from asct.store.model import Run, Status
from asct.store.reader import StoredRun, parsed, real_folders


@dataclass(frozen=True, slots=True)
class EarlierRepeat:
    """One complete repeat in an earlier run. `folder` contains its raw files."""

    folder: Path
    raw: str
    """The folder, as written in the run's documents."""
    status: Status
    records: Sequence[Record]


@dataclass(slots=True)
class _Run:
    """An earlier run. Its records and journal are read when the first of its points is reused, and cached from then
    on."""

    stored: StoredRun
    name: str
    lock: Lock = field(default_factory=Lock)
    lines: dict[RepeatKey, list[str]] | None = None
    ends: dict[RepeatKey, str] = field(default_factory=dict)

    def read(self) -> dict[RepeatKey, list[str]]:
        """Return the lines of records.jsonl, keyed by repeat. Raises StoreError if the run is damaged."""
        with self.lock:
            if self.lines is None:
                self.ends = self.stored.ends()
                self.lines = _lines(self.stored)
            return self.lines


@dataclass(frozen=True, slots=True)
class EarlierPoint:
    """A point in an earlier run. All of its repeats are complete according to their status files."""

    run: _Run
    host: str
    job_id: str
    point_id: str
    statuses: tuple[Status, ...]

    @property
    def name(self) -> str:
        """The name of the run, `<plan>/<run id>`."""
        return self.run.name

    @property
    def measured_at(self) -> str:
        """The time at which the first repeat of the point started."""
        return min(status.started_at for status in self.statuses)

    def facts(self) -> HostFacts | None:
        """Return the facts of the host in that run, or None if they cannot be read."""
        layout = self.run.stored.layout
        try:
            return load(HostFacts, "facts", self.run.stored.inside(layout.facts(self.host)))
        except StoreError:
            return None

    def repeats(self) -> list[EarlierRepeat]:
        """Return the repeats with their records. Raises StoreError (E508, E510, E512, E513) if a repeat is
        incomplete."""
        lines = self.run.read()
        return [self._repeat(status, lines) for status in self.statuses]

    def _repeat(self, status: Status, lines: dict[RepeatKey, list[str]]) -> EarlierRepeat:
        stored, key = self.run.stored, (self.host, self.job_id, self.point_id, status.repeat)
        folder = stored.layout.repeat(*key)
        own = lines.get(key, ())
        agrees = self.run.ends.get(key) == status.status and status.has_all([f"{line}\n" for line in own])
        if not agrees or status.command is None:
            raise store_error("E513", f"{folder}: status.json disagrees with the run's journal or records")
        for row in status.steps:
            if not inside(stored.layout.root, str(row["folder"])).is_dir():
                raise store_error("E512", f"{folder}: raw files that status.json refers to are missing")
        if changed := changed_file(folder, status.files or {}):
            raise store_error("E517", f"{folder}/{changed}: missing, or changed since the run wrote it")
        place = str(stored.layout.records)
        records = [parsed(Record, "record", line, place) for line in own]
        return EarlierRepeat(folder, stored.layout.relative(folder), status, records)


class EarlierRuns:
    """The runs below `results` that may contain measurements made at or after `since`. Thread-safe."""

    def __init__(self, results: Path, since: datetime, leave_out: Path | None = None, newest: int = 0) -> None:
        """Search the runs that are no older than `since`. `newest` limits the search to that many of the newest runs; 0
        means all."""
        self._results = results
        self._since = since
        self._leave_out = leave_out.resolve() if leave_out is not None else None
        self._newest = newest
        self._lock = Lock()
        self._runs: list[_Run] | None = None

    def of(self, host: str, point_id: str, repeats: int, accepted: Sequence[str]) -> Iterator[EarlierPoint]:
        """Yield the point from each earlier job that contains all repeats of the point, starting with the newest run.
        The status of every repeat must be in `accepted`. Only status files are read.
        """
        for run in self._all():
            for job in real_folders(run.stored.layout.root / "jobs" / host):
                statuses = self._statuses(run.stored, job / point_id, repeats, accepted)
                if statuses is not None:
                    yield EarlierPoint(run, host, job.name, point_id, statuses)

    def newest_facts(self, host: str) -> HostFacts | None:
        """Return the facts of `host` from the newest run that contains them, or None if no run does."""
        for run in self._all():
            facts = EarlierPoint(run, host, "", "", ()).facts()
            if facts is not None:
                return facts
        return None

    def _all(self) -> list[_Run]:
        with self._lock:
            if self._runs is None:
                listed = [
                    (item.layout, item.run) for item in list_runs(self._results, self._newest) if item.run is not None
                ]
                listed.sort(key=lambda item: item[1].started_at, reverse=True)
                self._runs = [
                    _Run(StoredRun(layout, run), f"{layout.root.parent.name}/{layout.root.name}")
                    for layout, run in listed
                    if self._in_time(run) and layout.root.resolve() != self._leave_out
                ]
            return self._runs

    def _in_time(self, run: Run) -> bool:
        """Return whether a run may be recent enough. If the process of a run was killed, the run has no recorded end
        and is assumed to be recent enough."""
        return run.ended_at is None or self._is_recent(run.ended_at)

    def _is_recent(self, moment: str) -> bool:
        try:
            return datetime.fromisoformat(moment) >= self._since
        except (ValueError, TypeError):
            return False

    def _statuses(
        self, stored: StoredRun, point: Path, repeats: int, accepted: Sequence[str]
    ) -> tuple[Status, ...] | None:
        found = []
        for number in range(1, repeats + 1):
            status = stored.status_if_readable(point / f"r{number}")
            if status is None or not self._usable(status, accepted):
                return None
            found.append(status)
        return tuple(found)

    def _usable(self, status: Status, accepted: Sequence[str]) -> bool:
        state = status.host_state.state if status.host_state is not None else "unknown"
        noisy = state == "noisy" and "noisy" not in accepted
        return (
            status.status in accepted and not (is_invalid(status.flags) or noisy) and self._is_recent(status.started_at)
        )


def _lines(stored: StoredRun) -> dict[RepeatKey, list[str]]:
    """Return the lines of records.jsonl, keyed by repeat. The lines are not parsed, because usually only a few of them
    are reused."""
    path = stored.layout.records
    found: dict[RepeatKey, list[str]] = {}
    for number, line in enumerate(read_text(stored.inside(path)).split("\n")[:-1], start=1):
        place = f"{path}:{number}"
        body = current(parse_object(line, place), "record", place)
        try:
            found.setdefault(repeat_key(body), []).append(line)
        except (KeyError, TypeError) as error:
            raise store_error("E508", f"{place}: the line does not identify the repeat to which it belongs") from error
    return found
