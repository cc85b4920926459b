"""The results of a repeat's steps: outputs for the benchmark and, for a long repeat, notes on disk.

A benchmark determines its steps from its settings and the outputs of earlier steps. After an interruption, it returns
the same steps again, one after the other. A step that has a note is not run again; its output is read from disk. If a
step differs from its note because the plan, the program on the host or the asct version has changed, the notes belong
to a different measurement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.programs import texts
from asct.sdk.guard import target_files, targets_in
from asct.sdk.record import Scalar
from asct.sdk.step import HostReadings, Output, Step
from asct.store.files import writing
from asct.store.model import StepNote
from asct.store.reader import finished_steps, hashes
from asct.store.writer import RunWriter


@dataclass(slots=True)
class StepOutputs:
    """The results of completed steps: outputs for the benchmark, and entries for status.json."""

    outputs: list[Output] = field(default_factory=list)
    rows: list[dict[str, Scalar | None]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    readings: list[HostReadings] = field(default_factory=list)
    failure: Diagnostic | None = None
    timed_out: bool = False

    def add(
        self, output: Output, status: int | None, folder: str, notes: Iterable[str], readings: HostReadings
    ) -> None:
        """Add a finished step. `status` is the step's exit status, or None if the step reached its time limit.

        The step's files are in `folder`, a path relative to the run folder.
        """
        self.outputs.append(output)
        self.readings.append(readings)
        row: dict[str, Scalar | None] = {"name": output.step.name, "status": status}
        row |= {"elapsed_ns": output.elapsed_ns, "folder": folder}
        self.rows.append({**row, "resumed": True} if output.resumed else row)
        self.notes += notes


class StepsChangedError(Exception):
    """Raised if the steps of a repeat differ from its notes. The argument describes the difference."""


class StepNotes:
    """The notes about the steps of one repeat, stored in its folder. The methods raise StoreError."""

    def __init__(self, writer: RunWriter, repeat: Path, identity: Sequence[str], work: str) -> None:
        """Create notes. `identity` distinguishes the repeat from all others; `work` is the job's folder on the host."""
        self._writer = writer
        self._repeat = repeat
        self._identity = [*identity]
        self._work = work
        self._earlier = finished_steps(writer.layout, repeat)
        self._next = 0
        self._noted = 0
        self.finished = 0
        """Number of steps finished in this part of the run."""

    @property
    def found(self) -> bool:
        """Whether an earlier part of the run finished steps of this repeat."""
        return bool(self._earlier)

    @property
    def earlier_s(self) -> float:
        """Total duration, in seconds, of the steps finished in earlier parts of the run."""
        return sum(note.elapsed_ns for note in self._earlier) / 1e9

    def reopen(self) -> None:
        """Keep the repeat's folder and its finished steps."""
        self._writer.reopen_repeat(self._repeat, self._earlier)

    def discard_earlier(self) -> None:
        """Ignore the steps finished in earlier parts of the run."""
        self._earlier = []
        self._next = self._noted = 0

    def replay(self, step: Step, done: StepOutputs) -> bool:
        """Add the stored output of `step` to `done` if the step has a note, and return whether it has one.

        Raises StepsChangedError if the note belongs to a different step.
        """
        if self._next == len(self._earlier):
            return False
        note = self._earlier[self._next]
        if note.digest != step_key(self._identity, self._next, step, self._work):
            raise StepsChangedError(
                f"step {self._next + 1} previously ran `{note.name}` with different arguments or files"
            )
        folder = self._writer.layout.root / note.folder
        output = Output(step, note.status, texts(folder, note.files), note.elapsed_ns, note.resumed)
        done.commands.append(note.command)
        done.add(output, note.status, note.folder, note.notes, note.around)
        self._next += 1
        self._noted = len(done.notes)
        return True

    def check_replayed(self) -> None:
        """Raise StepsChangedError if there are notes about steps that follow the last step returned by the
        benchmark."""
        if self._next < len(self._earlier):
            raise StepsChangedError(
                f"there were at least {len(self._earlier)} steps, but there are now only {self._next}"
            )

    def add(self, step: Step, done: StepOutputs) -> None:
        """Write a note about the step that has just succeeded, which is the last one in `done`.

        The note about the first step after an interruption is marked.
        """
        number = len(done.outputs) - 1
        if self._earlier and not self.finished:
            done.outputs[-1] = replace(done.outputs[-1], resumed=True)
            done.rows[-1]["resumed"] = True
            done.notes.append(f"resumed after step {number}")
        output, folder = done.outputs[-1], str(done.rows[-1]["folder"])
        with writing(self._writer.layout.root / folder):
            files = hashes(self._writer.layout.root / folder, output.files)
        self._writer.note_step(
            self._repeat,
            StepNote(
                digest=step_key(self._identity, number, step, self._work),
                name=step.name,
                folder=folder,
                status=output.status,
                elapsed_ns=output.elapsed_ns,
                resumed=output.resumed,
                notes=done.notes[self._noted :],
                command=done.commands[-1],
                files=files,
                around=done.readings[-1],
            ),
        )
        self._noted = len(done.notes)
        self.finished += 1


def step_key(identity: Sequence[str], number: int, step: Step, work: str) -> str:
    """Return 64 hexadecimal digits that identify a step in all parts of a run. They depend on `identity` and on the
    step's number, name, program, arguments, files and environment, but not on its time limit, its companions or the
    job's folder `work`.
    """
    targets = targets_in(step)
    # earlier parts of the run may have written to the targets, which must not change the key
    clean = target_files([replace(one, dirty=False) for one in targets]) if targets else {}
    program = [type(step.program).__name__, step.program.name]
    parts = [*identity, number, step.name, program, [*step.arguments], {**step.files, **clean}, {**step.env}]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False).replace(work, "<work>")
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
