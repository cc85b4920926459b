"""Rebuild records.jsonl from a run's raw files, and determine which repeats in the run are intact (`resume`, `results
rebuild`).

Lines in records.jsonl are kept if they match the checksum in their repeat's status. All others are parsed from the raw
files again, using the settings, steps and host state from status.json and the host's facts. A parsed line is used only
if it, too, matches the checksum. As a result, changes to the parser or the facts can never change a measured value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.values import SHAPE_ERRORS, adjusted, records_of
from asct.errors import StoreError
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.facts import HostFacts
from asct.sdk.record import REUSED, Record
from asct.sdk.step import Output, Step, Tool
from asct.store.checksums import changed_file, content, read_sums, scan, sums_text, text_checksum
from asct.store.documents import inside, read_text
from asct.store.files import write_atomic
from asct.store.folders import hold_lock
from asct.store.layout import RepeatKey, repeat_key
from asct.store.model import VALUED, CommandDocument, JobEntry, Status
from asct.store.reader import StoredRun, parsed
from asct.store.writer import line_of
from asct.values.text import counted

_IMPORTED = "import"
_NO_STATUS = "status.json is missing or damaged, or belongs to a different attempt"
_OWN = frozenset({"status.json", "command.json", "telemetry.json", "steps.jsonl"})


class _LostError(Exception):
    """Raised if the records of a repeat cannot be rebuilt. The argument is the reason."""


@dataclass(slots=True)
class RepeatSurvey:
    """The intact repeats of a run, in the order in which they ended. This order is taken from the journal."""

    done: dict[RepeatKey, Status] = field(default_factory=dict)
    lines: dict[RepeatKey, list[str]] = field(default_factory=dict)
    """The lines in records.jsonl, including line feeds, for each repeat that has values. The lines for a damaged repeat
    stay unchanged until the repeat is measured again."""
    rebuilt: list[RepeatKey] = field(default_factory=list)
    """The repeats whose lines were missing or changed. Their raw files were parsed again."""
    changed: list[Path] = field(default_factory=list)
    """The folders of the repeats whose raw files are missing or changed."""
    findings: list[Diagnostic] = field(default_factory=list)
    """One diagnostic for each kind of damage."""
    surplus: int = 0
    """Number of lines in records.jsonl that do not belong to any repeat in `lines`."""

    @property
    def text(self) -> str:
        """The content of records.jsonl."""
        return "".join(line for lines in self.lines.values() for line in lines)

    @property
    def differs(self) -> bool:
        """Whether records.jsonl must be rewritten."""
        return bool(self.rebuilt or self.surplus)

    def keep(self, keys: Collection[RepeatKey]) -> None:
        """Discard the repeats that are not in `keys`, because they will be measured again."""
        for key in set(self.lines) - set(keys):
            self.done.pop(key, None)
            self.surplus += len(self.lines.pop(key))

    def records(self) -> list[Record]:
        """Return all records of the intact repeats."""
        return [parsed(Record, "record", line, "records.jsonl") for key in self.done for line in self.lines[key]]


def survey(stored: StoredRun, catalog: Catalog) -> RepeatSurvey:
    """Read all repeats whose status says that they ended with values. Writes nothing.

    Raises StoreError if the journal cannot be read.
    """
    found = RepeatSurvey()
    builder = _RawParser(stored, catalog)
    before = _lines(stored)
    known = sum(map(len, before.values()))
    places: list[str] = []
    lost: dict[str, list[str]] = {}
    for key, ended in _in_order(stored).items():
        if ended not in VALUED:
            continue
        folder = stored.layout.repeat(*key)
        lines = found.lines[key] = before.get(key, [])
        status = stored.status_if_readable(folder)
        if status is None or status.status != ended:
            lost.setdefault(_NO_STATUS, []).append(str(folder))
            continue
        if name := changed_file(folder, status.files or {}):
            found.changed.append(folder)
            places.append(f"{folder}/{name}")
            continue
        if not status.has_all(lines):
            try:
                found.lines[key] = builder.lines(key, status)
            except _LostError as reason:
                lost.setdefault(str(reason), []).append(str(folder))
                continue
            found.rebuilt.append(key)
        found.done[key] = status
    found.surplus = known - sum(len(before.get(key, ())) for key in found.lines)
    found.findings = [*_changed(places), *_lost(lost)]
    return found


def _in_order(stored: StoredRun) -> dict[RepeatKey, str]:
    """Return each repeat's status according to the journal, ordered by when the repeat last ended."""
    found: dict[RepeatKey, str] = {}
    for event in stored.journal():
        if event.get("t") == "point-ended" and event["repeat"] > 0:
            found.pop(repeat_key(event), None)
            found[repeat_key(event)] = event["status"]
    return found


def _lines(stored: StoredRun) -> dict[RepeatKey, list[str]]:
    """Return the readable lines in records.jsonl, keyed by repeat, or an empty dictionary if the file does not exist.
    Damaged lines are counted under a separate key."""
    path = stored.layout.records
    found: dict[RepeatKey, list[str]] = {}
    if not path.exists():
        return found
    try:
        text = read_text(stored.inside(path))
    except StoreError:
        return found
    *lines, torn = text.split("\n")  # splitlines also splits at U+2028, which JSON text may contain
    for line in [*(f"{line}\n" for line in lines), *([torn] if torn else [])]:
        key: RepeatKey = ("", "", "", 0)
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            key = repeat_key(json.loads(line))
            hash(key)
        found.setdefault(key if line.endswith("\n") else ("", "", "", 0), []).append(line)
    return found


def _changed(places: Sequence[str]) -> list[Diagnostic]:
    if not places:
        return []
    more = f" and {len(places) - 1} more repeats" if len(places) > 1 else ""
    message = f"{places[0]}{more}: missing or changed since the run wrote it; the repeat is treated as not measured"
    hint = "restore the raw files from a backup, or measure the repeat again with `asct resume`"
    return [Diagnostic("E517", message, hint=hint, severity="warning")]


def _lost(reasons: Mapping[str, Sequence[str]]) -> list[Diagnostic]:
    found = []
    for reason, folders in reasons.items():
        more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
        message = f"{folders[0]}{more}: the records cannot be checked or rebuilt: {reason}"
        file = "status.json" if reason == _NO_STATUS else "records.jsonl"
        hint = f"restore {file} from a backup, or measure the repeat again with `asct resume`"
        found.append(Diagnostic("E519", message, hint=hint, severity="warning"))
    return found


@dataclass
class _RawParser:
    """Parses the raw files of one run."""

    stored: StoredRun
    catalog: Catalog

    @cached_property
    def _facts(self) -> dict[str, HostFacts]:
        return self.stored.facts()

    @cached_property
    def _jobs(self) -> dict[tuple[str, str], JobEntry]:
        return {(job.host, job.id): job for job in self.stored.run.jobs}

    def lines(self, key: RepeatKey, status: Status) -> list[str]:
        """Return the lines in records.jsonl that belong to one repeat. Raises _LostError."""
        host, job_id, point_id, repeat = key
        run, command = self.stored.run, status.command
        job = self._jobs.get((host, job_id))
        if job is None or command is None:
            raise _LostError("run.json or status.json does not describe the repeat")
        benchmark = self._benchmark(job)
        folder = self.stored.layout.repeat(*key)
        record_of = partial(
            Record, run=run.run, plan=run.plan, host=host, benchmark=job.benchmark, id=job.id, version=job.version,
            point=dict(command.swept), point_id=point_id, repeat=repeat, raw=self.stored.layout.relative(folder),
        )  # fmt: skip
        try:
            params = benchmark.params_model.model_validate(dict(command.settings))
            outputs = list(self._outputs(status, command))
            measured = benchmark.parse(params, outputs, self._facts[host])
            found = adjusted(measured, status.host_state, status.earlier)
            records = [_reused(one, status) for one in records_of(found, benchmark, record_of)]
        except OSError as error:
            raise _LostError(f"a raw file is unreadable: {error.strerror}") from error
        except StoreError as error:
            raise _LostError(error.diagnostics[0].message) from error
        except SHAPE_ERRORS as error:
            raise _LostError(f"{job.benchmark} cannot read the raw files: {error}") from error
        parsed_again = [line_of(record) for record in records]
        if not status.has_all(parsed_again):
            raise _LostError("the values now parsed from the raw files differ from the recorded values")
        return parsed_again

    def _benchmark(self, job: JobEntry) -> Benchmark[Any]:
        if any(host.name == job.host and host.transport == _IMPORTED for host in self.stored.run.hosts):
            raise _LostError("they were imported; import the files again")
        benchmark = self.catalog.get(job.benchmark)
        if benchmark is None:
            raise _LostError(f"`{job.benchmark}` is not installed")
        if benchmark.version != job.version:
            versions = f"version {job.version} of `{job.benchmark}`, but version {benchmark.version} is installed"
            raise _LostError(f"they were measured with {versions}")
        return benchmark

    def _outputs(self, status: Status, command: CommandDocument) -> Iterable[Output]:
        """Yield the outputs as the benchmark received them. Raises OSError, StoreError, ValueError or LookupError."""
        root = self.stored.layout.root
        for row, recorded in zip(status.steps, command.steps, strict=True):
            step = Step(
                str(row["name"]),
                Tool(Path(recorded["argv"][0]).name),
                files=recorded.get("files", {}),
                collect=tuple(recorded.get("collect", ())),
            )
            texts = _texts(root, str(row["folder"]), status, step)
            yield Output(step, int(row["status"] or 0), texts, int(row["elapsed_ns"] or 0), bool(row.get("resumed")))


def _texts(root: Path, folder: str, status: Status, step: Step) -> dict[str, str]:
    """Return a step's fetched files as text. A file that is listed but does not exist is treated as empty."""
    place = inside(root, folder)
    top = place if status.files is None else inside(root, str(status.steps[0]["folder"]))
    prefix = "" if place == top else f"{place.relative_to(top)}/"
    listed = scan(place).files if status.files is None else status.files
    names = [path.removeprefix(prefix) for path in listed if path.startswith(prefix)]
    inputs = set(step.files) - set(step.collect)
    outputs = [name for name in names if "/" not in name and name not in inputs and (prefix or name not in _OWN)]
    found = {}
    for name in outputs:
        with suppress(FileNotFoundError):
            found[name] = content(place / name).decode("utf-8", errors="replace")
        found.setdefault(name, "")
    return found


def _reused(record: Record, status: Status) -> Record:
    if not status.reused_from:
        return record
    return record.model_copy(update={"flags": [flag for flag in record.flags if flag != REUSED] + [REUSED]})


def _require_ends(stored: StoredRun) -> None:
    """Raise StoreError if the journal of a completed run does not contain the end of a repeat that has values, because
    the records of such a repeat would be lost."""
    if stored.run.status == "running":
        return
    ended = {stored.layout.repeat(*key) for key in _in_order(stored)}
    others = [stored.status_if_readable(folder) for folder in stored.repeats() if folder not in ended]
    if number := sum(status is not None and status.status in VALUED for status in others):
        lacks = f"does not contain the end events of {counted(number, 'repeat')} with values"
        message = f"{stored.layout.journal} {lacks}; records.jsonl is unchanged"
        hint = "restore the journal from a backup; if there is none, `asct resume` measures these repeats again"
        raise StoreError(Diagnostic("E508", message, hint=hint))


def rebuild(stored: StoredRun, catalog: Catalog) -> RepeatSurvey:
    """Rewrite records.jsonl and its line in SHA256SUMS for a run that no process is writing to. Return the survey of
    the run.

    Raises StoreError if the journal cannot be read or is incomplete, or if the run cannot be written. Raises
    SafetyError if the run is locked.
    """
    with hold_lock(stored.layout.lock):
        _require_ends(stored)
        found = survey(stored, catalog)
        path, sums = stored.layout.records, stored.layout.sums
        if found.differs or not path.exists():
            write_atomic(path, found.text)
        if sums.exists():
            listed, _ = read_sums(read_text(stored.inside(sums)))
            expected = text_checksum(found.text)
            if listed.get(path.name) not in (None, expected) and not found.findings:
                write_atomic(sums, sums_text({**listed, path.name: expected}))
    return found
