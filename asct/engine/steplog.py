"""What the finished steps of a repeat left, kept on the disk, so that a repeat of hours goes on behind the last one.

A benchmark's steps follow from its settings and from the outputs before. So the steps of a repeat that was cut off are
asked for again, one by one, and those that are noted are not run: their outputs are read back. A step that is not the
noted one (another plan, another program on the host, a newer asct) shows that the notes are of another measurement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.programs import texts
from asct.engine.telemetry.summary import StepReading
from asct.hosts.base import Around
from asct.sdk.guard import target_files, targets_in
from asct.sdk.record import Scalar
from asct.sdk.step import Output, Step
from asct.store.files import writing
from asct.store.model import Readings, StepNote
from asct.store.reader import finished_steps, hashes
from asct.store.writer import RunWriter


@dataclass(slots=True)
class StepOutputs:
    """What the steps of one repeat left: outputs for the benchmark, and documents for status.json and command.json."""

    outputs: list[Output] = field(default_factory=list)
    rows: list[dict[str, Scalar | None]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    readings: list[StepReading] = field(default_factory=list)
    failure: Diagnostic | None = None
    timed_out: bool = False

    def add(self, read: StepReading, status: int | None, folder: str, notes: Sequence[str]) -> None:
        """A step that ended, with its `status` (None: out of time); its files lie in `folder`, relative to the run."""
        output = read.output
        self.readings.append(read)
        self.outputs.append(output)
        self.rows.append(
            {"name": output.step.name, "status": status, "elapsed_ns": output.elapsed_ns, "folder": folder}
        )
        self.notes += notes


class StepsChangedError(Exception):
    """The steps of this repeat are no longer those that are noted; the argument says which."""


class StepNotes:
    """The notes of one repeat, in its folder. Methods raise StoreError."""

    def __init__(self, writer: RunWriter, repeat: Path, identity: Sequence[str], work: str) -> None:
        """`identity` tells this repeat from every other; `work` is the job's folder on the host, new in each part."""
        self._writer = writer
        self._repeat = repeat
        self._identity = [*identity]
        self._work = work
        self._earlier = finished_steps(writer.layout, repeat)
        self._next = 0
        self._told = 0
        self.finished = 0
        """Steps that were run in this part."""

    @property
    def found(self) -> bool:
        """Whether there is something to go on from."""
        return bool(self._earlier)

    @property
    def before_s(self) -> float:
        """How long the steps of before ran."""
        return sum(note.elapsed_ns for note in self._earlier) / 1e9

    def begin(self) -> None:
        """Open the repeat's folder again behind the steps found."""
        self._writer.go_on(self._repeat, self._earlier)

    def drop(self) -> None:
        """Nothing that was found counts."""
        self._earlier = []
        self._next = self._told = 0

    def forget(self) -> None:
        """The repeat came to an end that does not count: its outputs are none to go on from."""
        self._writer.forget_steps(self._repeat)

    def replay(self, step: Step, trail: StepOutputs) -> bool:
        """Take the output of `step` from its note, if it has one; raises StepsChangedError when that is of another."""
        if self._next == len(self._earlier):
            return False
        note = self._earlier[self._next]
        if note.digest != self._digest(step, self._next):
            raise StepsChangedError(f"step {self._next + 1} was `{note.name}` with other arguments or files")
        folder = self._writer.layout.root / note.folder
        output = Output(step, note.status, texts(folder, note.files), note.elapsed_ns, note.resumed)
        trail.commands.append(note.command)
        trail.add(StepReading(output, Around(**note.around.model_dump())), note.status, note.folder, note.notes)
        self._next += 1
        self._told = len(trail.notes)
        return True

    def check_replayed(self) -> None:
        """No further step is wanted; raises StepsChangedError when more are noted."""
        if self._next < len(self._earlier):
            raise StepsChangedError(f"it went on to step {len(self._earlier)}, now it ends at step {self._next}")

    def note(self, step: Step, trail: StepOutputs) -> None:
        """Note the step that just ended well, the last of `trail`; the first one behind a pause is told so."""
        number = len(trail.outputs) - 1
        if self._earlier and not self.finished:
            trail.outputs[-1] = replace(trail.outputs[-1], resumed=True)
            trail.notes.append(f"went on behind step {number} after a pause")
        output, folder = trail.outputs[-1], str(trail.rows[-1]["folder"])
        with writing(self._writer.layout.root / folder):
            files = hashes(self._writer.layout.root / folder, output.files)
        self._writer.note_step(
            self._repeat,
            StepNote(
                digest=self._digest(step, number),
                name=step.name,
                folder=folder,
                status=output.status,
                elapsed_ns=output.elapsed_ns,
                resumed=output.resumed,
                notes=trail.notes[self._told :],
                command=trail.commands[-1],
                files=files,
                around=Readings(**asdict(trail.readings[-1].around)),
            ),
        )
        self._told = len(trail.notes)
        self.finished += 1

    def _digest(self, step: Step, number: int) -> str:
        return step_key(self._identity, number, step, self._work)


def step_key(identity: Sequence[str], number: int, step: Step, work: str) -> str:
    """64 hex digits. Not its time limit nor what runs beside it, and not where the job's folder `work` lies."""
    program = [type(step.program).__name__, step.program.name]
    parts = [*identity, number, step.name, program, [*step.arguments], _files(step), {**step.env}]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False).replace(work, "<work>")
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _files(step: Step) -> Mapping[str, str]:
    """The files of a step. That its target was written to before is true from the second part on, and left out."""
    targets = targets_in(step)
    return {**step.files, **target_files([replace(one, dirty=False) for one in targets])} if targets else {**step.files}
