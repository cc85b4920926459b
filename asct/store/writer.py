"""Write one run. The journal and the records are appended to; all other files are written atomically.

A run has one writer, which any thread may use. A repeat is written in this order: its folder and raw files (by the
transport), its lines in records.jsonl, status.json with the checksums of the raw files and the lines, and finally the
journal line that records its end. That line is flushed to disk. A repeat is complete if status.json and the journal
agree and the raw files are intact; a resumed run measures everything else again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from pydantic import BaseModel

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.sdk.record import Record
from asct.store.checksums import evidence, raw_checksums, sums_text, text_checksum
from asct.store.files import LineFile, clear_unfinished, sync_files, then_run, write_atomic, write_error, writing
from asct.store.folders import RunLock, given_folder, link_files, link_latest, new_folder
from asct.store.layout import RunLayout
from asct.store.model import Run, Status, StepNote
from asct.store.ownership import own_reports

_RESERVE_BYTES = 128 << 10
_SYNC_EVERY_S = 0.25


def _document(model: BaseModel) -> str:
    return model.model_dump_json(by_alias=True, indent=1) + "\n"


class RunWriter:
    """Writes a run folder. All methods raise StoreError if the results tree cannot be written."""

    def __init__(self, layout: RunLayout, run: Run) -> None:
        self.layout = layout
        self.run = run
        self.resumable = True
        """Whether `asct resume` can continue the run after a failed write."""
        self.notes: list[Diagnostic] = []
        """Warnings about the results tree, such as a failure to create the link `latest`."""
        self.failure: StoreError | None = None
        """The error of the first write that failed, or None. After a failed write, the run must end."""
        self._mutex = RLock()
        self._lock = RunLock(layout.lock)
        self._journal: LineFile | None = None
        self._records: LineFile | None = None
        self._synced = 0.0
        self._folders: set[Path] = set()
        """Folders that are known to exist."""
        self._recorded: set[Path] = set()
        """The repeats for which this process has written lines to records.jsonl."""

    @classmethod
    def create(cls, results: Path, run: Run, plan_text: str, resolved: str, folder: Path | None = None) -> RunWriter:
        """Create the run folder, and write everything that is known at the start.

        The folder is results/<plan>/<run id>/, or `folder`, which must be empty. `run.run` is set to the actual name of
        the folder, because a second run started in the same second gets the suffix `-2`. If the folder cannot be
        created or written, StoreError is raised before anything else happens.
        """
        layout = RunLayout(new_folder(results, run) if folder is None else given_folder(folder))
        if folder is None:
            run = run.model_copy(update={"run": layout.root.name})
        writer = cls(layout, run)
        try:
            writer._begin(plan_text, resolved)
            if folder is None:
                note = link_latest(layout.root)
                writer.notes.extend([note] if note is not None else [])
        except StoreError:
            writer.close()
            raise
        return writer

    @classmethod
    def reopen(cls, layout: RunLayout, run: Run, *, keep_reports: bool = False) -> RunWriter:
        """Continue an existing run, after removing incomplete last lines. Raises SafetyError if the run is locked.

        First of all, remove the checksums and, unless `keep_reports` is set, the reports. They describe the run as it
        was, and must not remain if this process is killed or finds the disk full.
        """
        writer = cls(layout, run)
        writer._lock.take()
        if not keep_reports:
            writer.discard_reports()
        writer._unlink(layout.sums)
        writer._open_streams()
        clear_unfinished(layout.root)
        return writer

    def discard_reports(self) -> None:
        """Remove the reports from the run folder, except those that a user changed."""
        for path in own_reports(self.layout.root):
            self._unlink(path)

    def replace_records(self, text: str) -> None:
        """Replace records.jsonl with the lines of the repeats that will not be measured again."""
        with self._mutex:
            self._put(self.layout.records, text)
            if self._records is not None:
                self._records.close()
                self._records = LineFile(self.layout.records)

    def _begin(self, plan_text: str, resolved: str) -> None:
        self._lock.take()
        self._open_streams()
        write_atomic(self.layout.plan, plan_text)
        write_atomic(self.layout.resolved, resolved if resolved.endswith("\n") else resolved + "\n")
        self.save()

    def _open_streams(self) -> None:
        self._journal = LineFile(self.layout.journal)
        self._records = LineFile(self.layout.records)
        with suppress(OSError):  # without the reserve, only the final run.json is lost on a full disk
            self.layout.reserve.write_bytes(b"\1" * _RESERVE_BYTES)

    # ---- documents of the whole run ----

    def save(self) -> None:
        """Replace run.json with the content of `self.run`."""
        with self._mutex:
            self._put(self.layout.run, _document(self.run))

    def document(self, path: Path, model: BaseModel, *, sync: bool = True) -> None:
        """Write any other document in the results tree, creating its folder if necessary."""
        self.folder(path.parent)
        self._put(path, _document(model), sync=sync)

    def folder(self, path: Path) -> Path:
        """Create a folder below the run folder, and return its path."""
        with self._writing(path):
            if path not in self._folders:
                path.mkdir(parents=True, exist_ok=True)
                self._folders.add(path)
        return path

    # ---- one repeat ----

    def repeat_folder(self, folder: Path, attempt: int = 1) -> Path:
        """Create an empty folder for a repeat. First, move the files of the earlier attempt (`attempt` - 1) aside and
        remove its records."""
        self.folder(folder.parent)
        with self._writing(folder):
            try:
                folder.mkdir()
            except FileExistsError:
                number = max(1, attempt - 1)
                while (target := self.layout.attempt(folder, number)).exists():
                    number += 1
                folder.rename(target)
                folder.mkdir()
                self._drop_records(folder)
        return folder

    def _drop_records(self, folder: Path) -> None:
        with self._mutex:
            if folder in self._recorded:
                self._recorded.discard(folder)
                lines = self.layout.records.read_text(encoding="utf-8").split("\n")
                end = f'"raw":{json.dumps(self.layout.relative(folder))}}}'
                self.replace_records("\n".join(line for line in lines if not line.endswith(end)))

    def finish_repeat(self, folder: Path, status: Status, records: Sequence[Record]) -> None:
        """Write the lines of records.jsonl, then status.json, which marks the attempt as ended.

        status.json receives the checksums of the records and of all raw files in `folder`. Empty raw files are removed,
        except those of a long repeat, whose notes refer to them.
        """
        lines = "".join(map(line_of, records))
        with self._writing(folder):
            files = raw_checksums(folder, drop_empty=not self.layout.steps(folder).exists())
        sums = {"files": files, "records": len(records), "records_sha256": text_checksum(lines) if records else ""}
        text = by_line(status.model_copy(update=sums))
        if not records or self._records is None:
            self._put(self.layout.status(folder), text, sync=False)
            return
        with self._mutex:  # if the disk fills up between the two writes, neither of them is kept
            before = self._records.size
            self._append(self._records, lines, sync=False)
            self._recorded.add(folder)
            try:
                self._put(self.layout.status(folder), text, sync=False)
            except StoreError:
                self._records.take_back(before)
                raise

    def adopt(self, sources: Mapping[Path, Path]) -> None:
        """Create the folders of reused repeats, with the raw files from an earlier run but without its documents.

        If this fails, for example because the earlier run cannot be read (E515), the folders are removed and StoreError
        is raised.
        """
        for folder, source in sources.items():
            self.repeat_folder(folder)
            layout = self.layout
            own = (layout.status(folder), layout.command(folder), layout.telemetry(folder), layout.steps(folder))
            try:
                link_files(source, folder, [place.name for place in own])
            except OSError as error:
                raise self.fail(folder, error) from error
            except StoreError:
                for begun in sources:
                    shutil.rmtree(begun, ignore_errors=True)
                raise

    def note_step(self, repeat: Path, note: StepNote) -> None:
        """Append a line to the repeat's steps.jsonl after flushing the files that the line lists to disk."""
        path = self.layout.steps(repeat)
        with self._writing(path), closing(LineFile(path)) as stream:
            sync_files(self.layout.root, self.layout.root / note.folder, note.files)
            stream.append(line_of(note), sync=True)

    def reopen_repeat(self, repeat: Path, notes: Sequence[StepNote]) -> None:
        """Reopen a repeat so that it continues after the steps in `notes`. This removes status.json and the notes on
        all other steps."""
        self._put(self.layout.steps(repeat), "".join(map(line_of, notes)))
        self._unlink(self.layout.status(repeat))

    def disown_repeat(self, repeat: Path) -> None:
        """Rename the status.json of a repeat whose raw files have changed, so that the repeat is treated as not
        measured and is measured again."""
        path = self.layout.status(repeat)
        with self._writing(path):
            path.rename(path.with_name("status.before.json"))

    def discard_steps(self, repeat: Path) -> None:
        """Remove the step notes of a repeat that starts over."""
        self._unlink(self.layout.steps(repeat))

    def _unlink(self, path: Path) -> None:
        with self._writing(path):
            path.unlink(missing_ok=True)

    def journal(self, event: Mapping[str, Any], *, sync: bool, force: bool = False) -> None:
        """Append a line to journal.jsonl. `sync` flushes it to disk, but at most once every 250 ms unless `force` is
        True.

        If the process is killed, nothing is lost. After a power failure, at most the points that ended during the last
        250 ms are missing; a resumed run measures them again.
        """
        if self._journal is None:
            return
        with self._mutex:
            due = force or (sync and time.monotonic() - self._synced > _SYNC_EVERY_S)
            self._append(self._journal, _event(event), sync=due)
            if due:
                self._synced = time.monotonic()

    # ---- the end ----

    def finish(self, **changes: Any) -> Run:
        """Write `changes` (verdicts, exit_code, status, ...) to run.json, even on a full disk if possible. Returns the
        run."""
        with self._mutex:
            self._release_reserve()
            self.run = self.run.model_copy(update=changes)
            try:
                write_atomic(self.layout.run, _document(self.run))
            except StoreError as error:
                raise self._with_way_out(error) from error
            return self.run

    def journal_last(self, event: Mapping[str, Any]) -> None:
        """Append the last line of the journal, even after a failure. Raises no exception."""
        if self._journal is not None:
            with self._mutex, suppress(StoreError):
                self._journal.append(_event(event), sync=True)

    def seal(self) -> None:
        """Write SHA256SUMS. All other files must already be written. If this fails, for example on a full disk, the run
        has no checksums."""
        with self._mutex, suppress(StoreError):
            self.run = self.run.model_copy(update={"sealed": True})
            write_atomic(self.layout.run, _document(self.run))
            write_atomic(self.layout.sums, sums_text(evidence(self.layout.root)))

    def close(self) -> None:
        """Close the files and release the lock. Can be called repeatedly; failures are ignored."""
        with self._mutex:
            self._release_reserve()
            for stream in (self._journal, self._records):
                if stream is not None:
                    stream.close()
            self._journal = self._records = None
            self._lock.release()

    def _release_reserve(self) -> None:
        with suppress(OSError):
            self.layout.reserve.unlink(missing_ok=True)

    # ---- failures ----

    def probe(self) -> None:
        """Check that disk space is left. Raises StoreError (E502, E503)."""
        path = self.layout.root / ".probe"
        self._put(path, "\0" * _RESERVE_BYTES, sync=False)
        with suppress(OSError):
            path.unlink()

    def fail(self, path: Path, error: OSError) -> StoreError:
        """Record that the results tree cannot be written, and release the disk space reserved for the end of the
        run."""
        return self._failed(write_error(path, error))

    def _with_way_out(self, error: StoreError) -> StoreError:
        if not self.resumable:
            return error
        return StoreError(*(then_run(item, "asct resume") for item in error.diagnostics))

    def _failed(self, error: StoreError) -> StoreError:
        with self._mutex:
            if self.failure is None:
                self.failure = self._with_way_out(error)
                self._release_reserve()
            return self.failure

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Record an OSError raised by the body as the failure of the run, and raise it as a StoreError. If a write has
        failed before, raise that error instead."""
        if self.failure is not None:
            raise self.failure
        try:
            with writing(path):
                yield
        except StoreError as error:
            raise self._failed(error) from error

    def _put(self, path: Path, text: str, *, sync: bool = True) -> None:
        with self._writing(path):
            write_atomic(path, text, sync=sync)

    def _append(self, stream: LineFile, text: str, *, sync: bool) -> None:
        with self._mutex, self._writing(stream.path):
            stream.append(text, sync=sync)


def by_line(model: BaseModel) -> str:
    """Return a document as text with one field per line. The line feeds take no extra space on disk, because even small
    files occupy whole blocks."""
    body = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    fields = (f'"{name}": {json.dumps(value, separators=(",", ":"), allow_nan=False)}' for name, value in body.items())
    return "{" + ",\n ".join(fields) + "}\n"


def line_of(model: BaseModel) -> str:
    """Return a document as one line of a JSON Lines file."""
    return model.model_dump_json(by_alias=True) + "\n"


def _event(event: Mapping[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n"
