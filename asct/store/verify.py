"""Check a run: every document against its schema, the raw files of the records, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.store.documents import current, parse_object, read_text
from asct.store.layout import repeat_key
from asct.store.model import Status
from asct.store.reader import StoredRun, torn_line
from asct.store.schemas import violations

_HOST_KNOWN = (
    "restore the file from a copy; the values do not depend on it, and status.json also contains the host state"
)
_LIMIT = 50
"""Maximum number of findings of one kind."""


def verify(stored: StoredRun) -> list[Diagnostic]:
    """Return all findings about the run, the most severe kinds first; empty for a complete run."""
    layout = stored.layout
    findings = _document(layout.run, "run", stored)
    findings += _document(layout.resolved, "", stored)
    for host in stored.run.hosts:
        path = layout.root / "facts" / f"{host.name}.json"
        if host.status == "ok" or path.exists():
            findings += _document(path, "facts", stored)
        disturbances = layout.root / "disturbances" / f"{host.name}.json"
        findings += _document(disturbances, "disturbances", stored) if disturbances.exists() else []
    findings += list(_audits(stored))[:_LIMIT]
    findings += list(_repeats(stored))[:_LIMIT]
    records, damaged = _lines(stored, layout.records, "record")
    events, torn = _lines(stored, layout.journal, "event")
    findings += damaged[:_LIMIT] + torn[:_LIMIT]
    folders = sorted({str(record["raw"]) for record in records})
    findings += [item for raw in folders for item in _raw_folder(stored, raw, "status.json")][:_LIMIT]
    findings += _counts(stored, records, events)
    return findings + [note for note in stored.notes if note not in findings]


def _document(path: Path, kind: str, stored: StoredRun) -> list[Diagnostic]:
    """Return the findings about a document. `kind` is empty if the document has no schema."""
    try:
        body = parse_object(read_text(stored.inside(path)), str(path))
        return violations(kind, current(body, kind, str(path)), str(path)) if kind else []
    except StoreError as error:
        return list(error.diagnostics)
    except ValueError as error:
        return [Diagnostic("E510", str(error))]


def _audits(stored: StoredRun) -> Iterator[Diagnostic]:
    """Yield findings about the audits of written targets, and about the output of guard that they refer to."""
    for path in sorted(stored.layout.root.glob("jobs/*/*/audit.json")):
        found = _document(path, "audit", stored)
        yield from found
        if not found:
            for look in parse_object(read_text(path), str(path))["looks"]:
                yield from _raw_folder(stored, look["raw"], "stdout") if look["raw"] else ()


def _repeats(stored: StoredRun) -> Iterator[Diagnostic]:
    for folder in stored.repeats():
        path = stored.layout.status(folder)
        if path.exists():
            found = _document(path, "status", stored)
            yield from found
            yield from _document(stored.layout.command(folder), "command", stored)
            telemetry = stored.layout.telemetry(folder)
            if telemetry.exists() or (not found and parse_object(read_text(path), str(path)).get("telemetry")):
                yield from (replace(item, hint=_HOST_KNOWN) for item in _document(telemetry, "telemetry", stored))
            if stored.layout.steps(folder).exists():
                yield from _lines(stored, stored.layout.steps(folder), "step")[1]
        elif stored.run.status == "complete":
            message = f"{folder}: there is no status.json although the run is complete"
            yield Diagnostic("E513", message, hint="`asct resume` measures it again")


def _lines(stored: StoredRun, path: Path, kind: str) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    bodies: list[dict[str, Any]] = []
    findings: list[Diagnostic] = []
    try:
        lines = read_text(stored.inside(path)).split("\n")
    except StoreError as error:
        return bodies, list(error.diagnostics)
    if lines.pop():
        findings.append(torn_line(path, len(lines) + 1))
    for number, line in enumerate(lines, start=1):
        place = f"{path}:{number}"
        try:
            body = current(parse_object(line, place), kind, place)
        except StoreError as error:
            findings += error.diagnostics
            continue
        problems = violations(kind, body, place, limit=1)
        findings += problems
        bodies += [] if problems else [body]
    return bodies, findings


def _raw_folder(stored: StoredRun, raw: str, file: str) -> Iterator[Diagnostic]:
    """Yield a finding if the folder `raw`, which a document refers to, does not contain `file`."""
    if Path(raw).is_absolute():
        yield Diagnostic(
            "E510", f"`{raw}` is outside the run's folder", hint="the results tree was modified outside asct"
        )
        return
    try:
        folder = stored.inside(stored.layout.root / raw)
    except StoreError as error:
        yield from error.diagnostics
        return
    if not (folder / file).exists():
        yield Diagnostic("E512", f"{folder}: raw files that records refer to are missing")


def _counts(stored: StoredRun, records: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[Diagnostic]:
    """Compare run.json with the status files, and the records with their repeats."""
    findings = []
    if other := next((record["run"] for record in records if record["run"] != stored.run.run), None):
        findings.append(Diagnostic("E507", f"{stored.layout.records}: contains records of another run, {other}"))
    if stored.run.status == "running":
        message = f"{stored.layout.run}: the run has not ended (its process was killed, or is still running)"
        return [*findings, Diagnostic("E513", message, hint="`asct resume` completes it", severity="warning")]
    on_disk = Counter(status.status for _, status in _statuses(stored))
    for name in ("ok", "noisy", "failed", "timeout"):
        counted = stored.run.counts.get(name, 0)
        if counted != on_disk[name]:
            message = f"{stored.layout.run}: counts {counted} repeats as `{name}`, but the status files {on_disk[name]}"
            findings.append(Diagnostic("E513", message))
    findings += _cut(stored, records)[:_LIMIT]
    strangers = {repeat_key(record) for record in records}
    strangers -= {repeat_key(event) for event in events if event["t"] == "point-ended"}
    if strangers:
        first = "/".join(str(part) for part in sorted(strangers)[0])
        message = f"{stored.layout.records}: {len(strangers)} repeats have records but no end in the journal ({first})"
        findings.append(Diagnostic("E513", message))
    return findings


def _cut(stored: StoredRun, records: list[dict[str, Any]]) -> list[Diagnostic]:
    """Return a finding for each repeat for which status.json and records.jsonl contain different numbers of records."""
    there = Counter(str(record["raw"]) for record in records)
    findings = []
    for folder, status in _statuses(stored):
        found = there[stored.layout.relative(folder)]
        if status.records not in (None, found):
            message = (
                f"{folder}: has {status.records} records, but {stored.layout.records.name} contains {found} of them"
            )
            findings.append(Diagnostic("E513", message, hint="`asct resume` measures it again"))
    return findings


def _statuses(stored: StoredRun) -> Iterator[tuple[Path, Status]]:
    for folder in stored.repeats():
        if (status := stored.status_if_readable(folder)) is not None:
            yield folder, status
