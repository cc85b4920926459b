"""Read runs without writing anything, and report damaged or unknown files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record
from asct.store.checksums import checksum
from asct.store.documents import current, inside, load, parse_object, read_text, store_error, validated, way_out
from asct.store.layout import RepeatKey, RunLayout, repeat_key, safe_name
from asct.store.model import CommandDocument, Run, Status, StepNote, Telemetry

M = TypeVar("M", bound=BaseModel)
_REPEAT = re.compile(r"r[0-9]{1,9}")
PARTS: Mapping[str, type[BaseModel]] = {"command": CommandDocument, "telemetry": Telemetry}
"""The parts of a status that older asct versions wrote to separate files, keyed by file name."""


@dataclass(slots=True)
class StoredRun:
    """A run on disk. The methods that read it raise StoreError. `notes` lists incomplete lines that were ignored."""

    layout: RunLayout
    run: Run
    notes: list[Diagnostic] = field(default_factory=list)

    def records(self) -> list[Record]:
        """Return all lines of records.jsonl. An incomplete last line is omitted and mentioned in `notes`."""
        return [parsed(Record, "record", line, place) for line, place in self._lines(self.layout.records)]

    def looks(self) -> tuple[list[Record], list[Record]]:
        """Return the records of the planned repeats and, separately, the records of the repeats that measured values
        again."""
        most = self.run.planned_repeats()
        first: list[Record] = []
        again: list[Record] = []
        for record in self.records():
            planned = most.get((record.host, record.id), record.repeat)
            (first if record.repeat <= planned else again).append(record)
        return first, again

    def journal(self) -> list[dict[str, Any]]:
        """Return all events, oldest first. An incomplete last line is omitted and mentioned in `notes`."""
        lines = self._lines(self.layout.journal)
        return [current(parse_object(line, place), "event", place) for line, place in lines]

    def ends(self) -> dict[RepeatKey, str]:
        """Return the status of each repeat according to the journal. If a repeat ended several times, its last status
        counts."""
        return {repeat_key(event): event["status"] for event in self.journal() if event.get("t") == "point-ended"}

    def torn(self) -> bool:
        """Return whether the last line of the journal or of the records is incomplete. Resuming the run repairs such a
        line."""
        paths = (self.layout.journal, self.layout.records)
        return any(path.exists() and read_text(self.inside(path))[-1:] not in ("", "\n") for path in paths)

    def facts(self) -> dict[str, HostFacts]:
        """Return the facts, keyed by host; hosts without facts are omitted."""
        return self._of_hosts(HostFacts, "facts", self.layout.facts)

    def disturbances(self) -> dict[str, Disturbances]:
        """Return the disturbances, keyed by host, or an empty dictionary for runs recorded by older asct versions."""
        return self._of_hosts(Disturbances, "disturbances", self.layout.disturbances)

    def _of_hosts(self, model: type[M], kind: str, path_of: Callable[[str], Path]) -> dict[str, M]:
        paths = {host.name: path_of(_safe(host.name)) for host in self.run.hosts}
        return {host: load(model, kind, self.inside(path)) for host, path in paths.items() if path.exists()}

    def resolved(self) -> dict[str, Any]:
        """Return the content of plan.resolved.json, which the planner parses."""
        return parse_object(read_text(self.inside(self.layout.resolved)), str(self.layout.resolved))

    def status(self, repeat: Path) -> Status | None:
        """Return the status.json in a repeat's folder, or None if the repeat has not ended.

        Runs recorded by older asct versions keep the command lines and the host state in separate files. The content of
        these files is included.
        """
        path = self.layout.status(repeat)
        place = self.inside(path)
        if not os.path.exists(place):  # noqa: PTH110 - for speed
            return None
        body = parse_object(read_text(place), str(path))
        older = body.get("schema") == "asct.status/1"
        body = current(body, "status", str(path))
        return validated(Status, {**body, **self._beside(repeat, body)} if older else body, str(path))

    def _beside(self, repeat: Path, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a status that an older asct version wrote to separate files, omitting any that cannot be
        read."""
        places = {"command": self.layout.command(repeat), "telemetry": self.layout.telemetry(repeat)}
        found = {}
        for kind, path in places.items():
            with suppress(StoreError):
                document = load(PARTS[kind], kind, self.inside(path))
                found[kind] = document.model_dump(by_alias=True)
        return {kind: part for kind, part in found.items() if kind == "command" or body.get("telemetry") is not None}

    def status_if_readable(self, repeat: Path) -> Status | None:
        """Like `status`, but also return None for a damaged file."""
        try:
            return self.status(repeat)
        except StoreError:
            return None

    def repeats(self) -> Iterator[Path]:
        """Yield the folders jobs/<host>/<id>/<point>/r<k>, sorted, excluding warm-ups, earlier attempts and links."""
        jobs = f"{self.layout.root}/jobs"
        points = [
            f"{jobs}/{host}/{job}/{point}"
            for host in _folder_names(jobs)
            for job in _folder_names(f"{jobs}/{host}")
            for point in _folder_names(f"{jobs}/{host}/{job}")
        ]
        for point in points:
            found = [name for name in _folder_names(point) if _REPEAT.fullmatch(name)]
            yield from (Path(f"{point}/{name}") for name in sorted(found, key=lambda name: int(name[1:])))

    def inside(self, path: Path) -> Path:
        """Return `path`. Raises StoreError if it leads out of the run folder through a link."""
        return inside(self.layout.root, self.layout.relative(path))

    def _lines(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield each line of a file and its location. Adds a note if the last line is incomplete."""
        lines = read_text(self.inside(path)).split("\n")
        torn = lines.pop()
        for number, line in enumerate(lines, start=1):
            yield line, f"{path}:{number}"
        if torn and (note := torn_line(path, len(lines) + 1)) not in self.notes:
            self.notes.append(note)


def parsed(model: type[M], kind: str, text: str, place: str) -> M:
    """Return the document in `text`. The slower parser is used only for old or damaged documents. Raises StoreError."""
    try:
        return model.model_validate_json(text)
    except ValidationError:
        return validated(model, current(parse_object(text, place), kind, place), place)


def torn_line(path: Path, number: int) -> Diagnostic:
    """Return a warning about an incomplete last line."""
    message = f"{path}:{number}: the last line is incomplete and is ignored"
    hint = "`asct resume` repairs the file and measures the affected repeat again"
    return Diagnostic("E511", message, hint=hint, severity="warning")


def _safe(name: str) -> str:
    """Return `name` if it is safe as a folder name; otherwise raise StoreError (E510)."""
    try:
        return safe_name(name)
    except ValueError as error:
        raise store_error("E510", str(error), "the results tree was modified outside asct") from error


def real_folders(folder: Path) -> list[Path]:
    """Return the folders in `folder`, sorted and without links, or an empty list if it cannot be read."""
    return [folder / name for name in _folder_names(folder)]


def _folder_names(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def read_run(root: Path) -> StoredRun:
    """Return the run in the folder `root`.

    Raises StoreError if it does not exist, is damaged, or was written by a newer version of asct.
    """
    layout = RunLayout(root)
    if not root.is_dir():
        raise store_error("E505", f"{root}: the folder does not exist", "`asct results list` lists the runs")
    if not layout.run.exists():
        raise store_error("E505", f"{root} is not a run folder: it contains no run.json", way_out("run.json"))
    run = load(Run, "run", inside(root, "run.json"))
    for job in run.jobs:
        for name in (job.host, job.id, job.benchmark):  # these names become names of folders and report files
            _safe(name)
    return StoredRun(layout, run)


def finished_steps(layout: RunLayout, repeat: Path) -> list[StepNote]:
    """Return the notes about the finished steps of a repeat, up to the first step that is incomplete or whose files
    have changed.

    Raises StoreError (E508, E510, E515).
    """
    path = inside(layout.root, layout.relative(layout.steps(repeat)))
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(read_text(path).split("\n")[:-1], start=1):
        try:
            place = f"{path}:{number}"
            note = validated(StepNote, current(parse_object(line, place), "step", place), place)
            if hashes(inside(layout.root, note.folder), note.files) != note.files:
                break
        except (StoreError, OSError):
            break
        found.append(note)
    return found


def hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, keyed by name.

    Raises OSError, and StoreError (E510) for a name that leads outside the folder.
    """
    return {name: checksum(inside(folder, name)) for name in names}
