"""Check a run: the checksums of all files, the schema of every document, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.sdk.record import Record
from asct.store.checksums import EMPTY, STATUS, TreeScan, checksum, is_evidence, read_sums, repeat_of, scan
from asct.store.documents import current, parse_object, read_text, unreadable, way_out
from asct.store.layout import RepeatKey, repeat_key
from asct.store.model import Status
from asct.store.reader import StoredRun, parsed, torn_line
from asct.store.schemas import violations
from asct.values.text import counted

_HOST_KNOWN = "restore the file from a backup; no value depends on it, because status.json also contains the host state"
_MODIFIED = "the results tree was modified outside asct"
_REBUILD = way_out("records.jsonl")
_LIMIT = 20
"""Maximum number of findings of one kind."""


@dataclass(slots=True)
class _Check:
    """The state of one verification: the files in the tree, and what its documents say about them."""

    stored: StoredRun
    tree: TreeScan
    listed: dict[str, str] = field(default_factory=dict)
    """The checksums in SHA256SUMS and in the status files, keyed by path."""
    intact: set[str] = field(default_factory=set)
    unlisted: list[str] = field(default_factory=list)
    """The folders ("" is the whole run) whose list of files is missing or damaged. Files in them are not reported as
    unlisted."""
    statuses: dict[str, Status] = field(default_factory=dict)
    """The readable statuses of repeats, keyed by folder; warm-ups and earlier attempts are excluded."""
    lines: dict[str, list[str]] = field(default_factory=dict)
    """The lines of records.jsonl, keyed by the folder of the repeat to which they belong."""
    records: dict[RepeatKey, str] = field(default_factory=dict)
    """The name of the run to which each repeat belongs, according to the repeat's records."""
    ends: set[RepeatKey] | None = None
    """The repeats whose ends are recorded in the journal, or None if the journal is damaged."""

    def relative(self, path: Path) -> str:
        return self.stored.layout.relative(path)

    def reported(self, path: Path) -> bool:
        """Return whether a file is missing and `_checksums` has already reported this."""
        return self.relative(path) in self.listed and not path.exists()


def verify(stored: StoredRun) -> list[Diagnostic]:
    """Return all findings about the run, or an empty list if the run is complete and intact."""
    check = _Check(stored, scan(stored.layout.root))
    kinds: list[Iterable[Diagnostic]] = [
        _strangers(check), _sums(check), _status_files(check), _checksums(check), _unlisted(check),
        _documents(check), _audits(check), _journal(check), _records(check), _references(check), _counts(check),
    ]  # fmt: skip
    findings = [finding for kind in kinds for finding in _limited(kind)]
    return findings + [note for note in stored.notes if note not in findings]


def unexpected(stored: StoredRun) -> list[Diagnostic]:
    """Return the findings about files that the run did not write, and about damage that could hide such files. The
    contents of the files are not checked. Without checksums, as in runs from older versions, only links are found."""
    check = _Check(stored, scan(stored.layout.root))
    kinds = (_strangers, _sums, _status_files, _unlisted)
    return [finding for kind in kinds for finding in kind(check)]


def _limited(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the first findings, and then a finding that states how many were omitted."""
    every = list(found)
    yield from every[:_LIMIT]
    if len(every) > _LIMIT:
        message = f"and {counted(len(every) - _LIMIT, 'more finding')} {every[-1].code}"
        yield replace(every[_LIMIT - 1], message=message, hint="")


def _strangers(check: _Check) -> Iterator[Diagnostic]:
    """Report unreadable files and folders, and links and devices, which asct neither writes nor follows."""
    root = check.stored.layout.root
    for path, problem in check.tree.unreadable:
        yield from unreadable(root / path, problem).diagnostics
    for path in check.tree.strange:
        yield Diagnostic(
            "E510", f"{root / path}: this is a link or a device, which asct does not read", hint="remove it"
        )


def _sums(check: _Check) -> Iterator[Diagnostic]:
    layout = check.stored.layout
    if check.stored.run.status == "running":
        return
    if layout.sums.name not in check.tree.files:
        if check.stored.run.sealed:
            check.unlisted.append("")
            hint = "restore it from a backup; if there is none, only raw files and records can be verified"
            yield Diagnostic("E512", f"{layout.sums}: the checksums of the run are missing", hint=hint)
        return
    try:
        check.listed, damaged = read_sums(read_text(layout.sums))
    except StoreError as error:
        check.unlisted.append("")
        yield from error.diagnostics
        return
    if damaged:
        check.unlisted.append("")
    for number in damaged:
        message = f"{layout.sums}:{number}: the line is not the checksum of a file in the run"
        yield Diagnostic("E508", message, hint=way_out(str(layout.sums)))


def _status_files(check: _Check) -> Iterator[Diagnostic]:
    """Read every status.json, including those of warm-ups and earlier attempts."""
    stored, root = check.stored, check.stored.layout.root
    folders = [path[: -len(STATUS) - 1] for path in check.tree.files if path == f"{repeat_of(path)}/{STATUS}"]
    repeats = {check.relative(folder) for folder in stored.repeats()}
    for folder in folders:
        try:
            status = stored.status(root / folder)
        except StoreError as error:
            check.unlisted.append(f"{folder}/")
            yield from error.diagnostics if folder in repeats else ()
            continue
        if status is None:
            continue
        check.listed.update({f"{folder}/{name}": digest for name, digest in (status.files or {}).items()})
        if folder in repeats:
            check.statuses[folder] = status
        if status.files is None:
            yield from _older_repeat(check, root / folder, status)
    if stored.run.status == "complete":
        for folder in sorted(repeats - set(folders)):
            check.unlisted.append(f"{folder}/")
            if f"{folder}/{STATUS}" not in check.listed:
                message = f"{root / folder}: there is no status.json although the run is complete"
                yield Diagnostic("E513", message, hint="`asct resume` measures it again")


def _older_repeat(check: _Check, folder: Path, status: Status) -> Iterator[Diagnostic]:
    """Yield findings about the documents of a repeat for which older asct versions did not record checksums."""
    layout = check.stored.layout
    yield from _document(layout.command(folder), "command", check.stored)
    telemetry = layout.telemetry(folder)
    if telemetry.exists() or status.telemetry is not None:
        yield from (replace(item, hint=_HOST_KNOWN) for item in _document(telemetry, "telemetry", check.stored))
    if layout.steps(folder).exists():
        yield from _lines(check, layout.steps(folder), "step")[1]


def _checksums(check: _Check) -> Iterator[Diagnostic]:
    """Compare every listed file with its checksum."""
    root = check.stored.layout.root
    for path, expected in check.listed.items():
        place = f"{root}/{path}"
        try:
            if checksum(place) == expected:
                check.intact.add(path)
            else:
                yield Diagnostic("E517", f"{place}: changed since the run wrote it", hint=_way_out(path))
        except FileNotFoundError:
            if path.endswith(STATUS):
                check.unlisted.append(f"{repeat_of(path)}/")
            if expected != EMPTY:
                yield Diagnostic("E512", f"{place}: the file is missing", hint=_way_out(path))
        except OSError as error:
            if path not in check.tree.strange:
                yield from unreadable(Path(place), error).diagnostics


def _way_out(path: str) -> str:
    if path == "records.jsonl":
        return way_out(path)
    again = "; `asct resume` measures the repeat again" if repeat_of(path) else ""
    return f"restore the file from a backup{again}"


def _unlisted(check: _Check) -> Iterator[Diagnostic]:
    """Yield findings about files that seem to be evidence of a completed run although asct did not write them."""
    if not check.stored.run.sealed or check.stored.run.status == "running":
        return
    for path in check.tree.files:
        if is_evidence(path) and path not in check.listed and not path.startswith(tuple(check.unlisted)):
            message = f"{check.stored.layout.root / path}: not written by this run"
            yield Diagnostic("E518", message, hint="move it out of the run folder")


def _documents(check: _Check) -> Iterator[Diagnostic]:
    stored = check.stored
    layout = stored.layout
    yield from _document(layout.run, "run", stored)
    if not check.reported(layout.resolved):
        yield from _document(layout.resolved, "", stored)
    for host in stored.run.hosts:
        path = layout.root / "facts" / f"{host.name}.json"
        if path.exists() or (host.status == "ok" and not check.reported(path)):
            yield from _document(path, "facts", stored)
        disturbances = layout.root / "disturbances" / f"{host.name}.json"
        yield from _document(disturbances, "disturbances", stored) if disturbances.exists() else ()


def _document(path: Path, kind: str, stored: StoredRun) -> list[Diagnostic]:
    """Return the findings about a document. `kind` is empty if the document has no schema."""
    try:
        body = parse_object(read_text(stored.inside(path)), str(path))
        return violations(kind, current(body, kind, str(path)), str(path)) if kind else []
    except StoreError as error:
        return list(error.diagnostics)
    except ValueError as error:
        return [Diagnostic("E510", str(error))]


def _audits(check: _Check) -> Iterator[Diagnostic]:
    """Yield findings about the audits of the jobs' targets, and about the guard output to which these audits refer."""
    for path in sorted(check.stored.layout.root.glob("jobs/*/*/audit.json")):
        found = _document(path, "audit", check.stored)
        yield from found
        if not found:
            for look in parse_object(read_text(path), str(path))["looks"]:
                yield from _raw_folder(check, look["raw"], "stdout") if look["raw"] else ()


def _lines(check: _Check, path: Path, kind: str) -> tuple[list[tuple[str, dict[str, Any]]], list[Diagnostic]]:
    """Return the valid lines of a file with their parsed content, and findings about all other lines. The lines of an
    intact file are not checked against their schema, because asct itself wrote them.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    findings: list[Diagnostic] = []
    try:
        lines = read_text(check.stored.inside(path)).split("\n")
    except StoreError as error:
        return found, list(error.diagnostics)
    if lines.pop():
        findings.append(torn_line(path, len(lines) + 1))
    intact = check.relative(path) in check.intact
    for number, line in enumerate(lines, start=1):
        place = f"{path}:{number}"
        try:
            body = current(parse_object(line, place), kind, place)
            if kind == "record" and not intact:
                parsed(Record, kind, line, place)
        except StoreError as error:
            findings += error.diagnostics
            continue
        problems = [] if intact or kind == "record" else violations(kind, body, place, limit=1)
        findings += problems
        found += [] if problems else [(line, body)]
    return found, findings


def _journal(check: _Check) -> Iterator[Diagnostic]:
    if check.reported(check.stored.layout.journal):
        return
    lines, findings = _lines(check, check.stored.layout.journal, "event")
    yield from findings
    if all(finding.severity != "error" for finding in findings):
        check.ends = {repeat_key(event) for _, event in lines if event["t"] == "point-ended"}


def _records(check: _Check) -> Iterator[Diagnostic]:
    """Compare each repeat's records with the checksum in its status."""
    layout = check.stored.layout
    if check.reported(layout.records):
        return
    lines, findings = _lines(check, layout.records, "record")
    yield from (replace(item, hint=item.hint if item.code == "E511" else _REBUILD) for item in findings)
    for line, body in lines:
        check.lines.setdefault(body["raw"], []).append(f"{line}\n")
        check.records.setdefault(repeat_key(body), body["run"])
    if other := next((run for run in check.records.values() if run != check.stored.run.run), None):
        yield Diagnostic("E507", f"{layout.records}: contains records of another run, {other}")
    if check.stored.run.status == "running":
        return
    for folder, status in check.statuses.items():
        own = check.lines.get(folder, [])
        if status.records is not None and status.records != len(own):
            message = (
                f"{folder}: the repeat has {counted(status.records, 'record')}, but {layout.records.name} contains "
                f"{len(own)} of them"
            )
            yield Diagnostic("E513", message, hint=_REBUILD)
        elif status.records_sha256 and not status.has_all(own):
            message = f"{layout.records}: the records of {folder} changed since the run wrote them"
            yield Diagnostic("E517", message, hint=_REBUILD)


def _references(check: _Check) -> Iterator[Diagnostic]:
    for raw in sorted(check.lines):
        yield from _raw_folder(check, raw, STATUS)


def _raw_folder(check: _Check, raw: str, file: str) -> Iterator[Diagnostic]:
    """Yield a finding if `file` is missing from the folder `raw`, to which a document refers."""
    if f"{raw}/{file}" in check.listed or raw in check.statuses:
        return  # the file exists, or its absence has already been reported
    if Path(raw).is_absolute():
        yield Diagnostic("E510", f"`{raw}` is outside the run folder", hint=_MODIFIED)
        return
    try:
        folder = check.stored.inside(check.stored.layout.root / raw)
    except StoreError as error:
        yield from error.diagnostics
        return
    if not (folder / file).exists():
        yield Diagnostic("E512", f"{folder}: raw files that records refer to are missing")


def _counts(check: _Check) -> Iterator[Diagnostic]:
    """Compare run.json with the status files, and the records with the journal."""
    stored = check.stored
    if stored.run.status == "running":
        message = f"{stored.layout.run}: the run has not ended (its process was killed, or is still running)"
        yield Diagnostic("E513", message, hint="`asct resume` completes it", severity="warning")
        return
    if not any(check.unlisted):  # otherwise, the counts differ because of the damaged status files
        most = stored.run.planned_repeats()
        planned = [
            status
            for folder, status in check.statuses.items()
            if status.repeat <= most.get((folder.split("/")[1], folder.split("/")[2]), status.repeat)
        ]
        yield from _counted(stored.run.counts, planned, stored.layout.run)
    strangers = set() if check.ends is None else set(check.records) - check.ends
    if strangers:
        first = "/".join(str(part) for part in sorted(strangers)[0])
        message = (
            f"{stored.layout.records}: contains records of repeats whose ends are missing from the journal "
            f"({len(strangers)}; the first is {first})"
        )
        hint = "restore journal.jsonl from a backup; if there is none, `asct resume` measures these repeats again"
        yield Diagnostic("E513", message, hint=hint)


def _counted(counts: Mapping[str, int], statuses: Iterable[Status], path: Path) -> Iterator[Diagnostic]:
    on_disk = Counter(status.status for status in statuses)
    for name in ("ok", "noisy", "invalid", "failed", "timeout"):
        counted = counts.get(name, 0)
        if counted != on_disk[name]:
            message = f"{path}: counts {counted} repeats as `{name}`, but the status files contain {on_disk[name]}"
            yield Diagnostic("E513", message, hint="restore run.json from a backup")
