"""Runs the steps of a repeat and keeps what they left: outputs for the benchmark, notes on disk for a long repeat.

The steps of a benchmark follow from its settings and the outputs of earlier steps. A repeat that was interrupted asks
for its steps again, one by one; a step that has a note is not run, its output is read back. A step that differs from
its note (another plan, another program on the host, a newer asct) shows that the notes belong to another measurement.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.failures import StepRun, failure_of
from asct.engine.gate import JobGuard
from asct.engine.programs import MissingProgram, Programs, process_of, texts
from asct.engine.telemetry.summary import StepReading
from asct.hosts.base import Host, HostReadings, Process, Task, TaskResult
from asct.sdk.guard import target_files, targets_in
from asct.sdk.record import Scalar
from asct.sdk.step import Output, Step
from asct.store.files import writing
from asct.store.model import Readings, StepNote
from asct.store.reader import finished_steps, hashes
from asct.store.writer import RunWriter


@dataclass(slots=True)
class StepOutputs:
    """The results of finished steps: outputs for the benchmark, and the parts of status.json and command.json."""

    outputs: list[Output] = field(default_factory=list)
    rows: list[dict[str, Scalar | None]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    readings: list[StepReading] = field(default_factory=list)
    failure: Diagnostic | None = None
    timed_out: bool = False

    def add(self, read: StepReading, status: int | None, folder: str, notes: Sequence[str]) -> None:
        """Add a step that ended with `status` (None: time limit); its files are in `folder`, relative to the run."""
        output = read.output
        self.readings.append(read)
        self.outputs.append(output)
        self.rows.append(
            {"name": output.step.name, "status": status, "elapsed_ns": output.elapsed_ns, "folder": folder}
        )
        self.notes += notes


class StepRunner:
    """Runs the steps of one job over one connection to its host, each in its own folder: a step finds no files of
    another one, and its files stay on the host until they are fetched."""

    def __init__(self, host: Host, programs: Programs, guard: JobGuard, writer: RunWriter, work: str) -> None:
        """`work` is the job's folder on the host."""
        self._host = host
        self._programs = programs
        self._guard = guard
        self._writer = writer
        self._work = work
        self._numbers = count(1)

    def run(
        self,
        step: Step,
        folder: Path,
        done: StepOutputs,
        deadline: float,
        on_line: Callable[[str], None] | None = None,
        identity: Sequence[str] = (),
    ) -> bool:
        """Run one step, fetch its files into `folder` (of the repeat) and add it to `done`; False when it failed.

        `deadline` is a time of `time.monotonic`; `on_line` gets the lines of standard output while it runs. Raises
        HostLost and other HostErrors.
        """
        number = len(done.rows)
        into = self._writer.layout.step(folder, number, step.name)
        if number:
            into = self._writer.repeat_folder(into)
        limit = max(0.001, deadline - time.monotonic())
        limit = limit if step.timeout_s is None else min(limit, step.timeout_s)
        name = self._host.name
        try:
            task = self.task(step, into, limit, done, self.key(identity, number, step))
        except MissingProgram as error:
            done.failure = Diagnostic("E420", f"host {name}: {error} is not installed", hint=f"install {error}")
            return False
        done.failure = self._guard.begin(step)
        if done.failure is not None:
            return False
        done.commands.append(_command(step, task))
        finished = self._run_task(task, on_line)
        output = Output(step, finished.status or 0, texts(into, finished.fetched), finished.elapsed_ns)
        raw = self._writer.layout.relative(into)
        done.add(StepReading(output, finished.readings), finished.status, raw, finished.notes)
        done.timed_out = finished.status is None
        ran = StepRun(output, name, raw, task.main.argv, limit if finished.status is None else None)
        done.failure = self._guard.settle(output, raw) or failure_of(ran)
        return done.failure is None

    def _run_task(self, task: Task, on_line: Callable[[str], None] | None) -> TaskResult:
        try:
            for name, text in task.files.items():
                (task.into / name).write_text(text, encoding="utf-8")
            finished = self._host.run(task, on_line)
        except OSError as error:  # a failure of the transport is a HostError: this one is of the results tree
            raise self._writer.fail(task.into, error) from error
        if finished.notes:  # a file that was not fetched may be the first sign of a full disk here
            self._writer.probe()
        return finished

    def key(self, identity: Sequence[str], number: int, step: Step) -> str:
        return step_key(identity, number, step, self._work)[:24] if identity else ""

    def task(self, step: Step, into: Path, limit: float, done: StepOutputs, key: str) -> Task:
        folder = f"{self._work}/{key or next(self._numbers)}"
        path, sudo = self._programs.path(step.program), self._programs.through_sudo(step)
        return Task(
            main=process_of(self._guard.limited(step), path, folder, sudo=sudo),
            into=into,
            files=step.files,
            companions=tuple(self._companions(step, folder, done)),
            collect=step.collect,
            timeout_s=limit,
            key=key,
        )

    def _companions(self, step: Step, folder: str, done: StepOutputs) -> Iterable[Process]:
        for companion in step.companions:
            try:
                path = self._programs.path(companion.program)
            except MissingProgram as error:
                done.notes.append(f"{error} is not installed on {self._host.name}: measured without it")
                continue
            yield process_of(companion, path, folder)


def _command(step: Step, task: Task) -> dict[str, Any]:
    return {
        "name": step.name,
        "argv": list(task.main.argv),
        "cwd": task.main.cwd,
        "env": dict(step.env),
        "files": dict(step.files),
        "companions": [list(process.argv) for process in task.companions],
        "collect": list(step.collect),
        "timeout_s": round(task.timeout_s, 3),
    }


class StepsChangedError(Exception):
    """The steps of a repeat differ from its notes; the argument says how."""


class StepNotes:
    """The notes of one repeat, in its folder. Methods raise StoreError."""

    def __init__(self, writer: RunWriter, repeat: Path, identity: Sequence[str], work: str) -> None:
        """`identity` distinguishes the repeat from every other; `work` is the job's folder on the host."""
        self._writer = writer
        self._repeat = repeat
        self._identity = [*identity]
        self._work = work
        self._earlier = finished_steps(writer.layout, repeat)
        self._next = 0
        self._noted = 0
        self.finished = 0
        """Steps run in this part of the run."""

    @property
    def found(self) -> bool:
        """Whether an earlier part of the run finished steps of this repeat."""
        return bool(self._earlier)

    @property
    def earlier_s(self) -> float:
        """The duration of the steps of earlier parts."""
        return sum(note.elapsed_ns for note in self._earlier) / 1e9

    def reopen(self) -> None:
        """Keep the repeat's folder with its finished steps."""
        self._writer.reopen_repeat(self._repeat, self._earlier)

    def discard_earlier(self) -> None:
        """Ignore the steps of earlier parts."""
        self._earlier = []
        self._next = self._noted = 0

    def discard(self) -> None:
        """Remove the notes: the repeat ended, but its values do not count, so the next attempt starts over."""
        self._writer.discard_steps(self._repeat)

    def replay(self, step: Step, done: StepOutputs) -> bool:
        """Read the output of `step` back if it has a note; raises StepsChangedError if it is for another step."""
        if self._next == len(self._earlier):
            return False
        note = self._earlier[self._next]
        if note.digest != step_key(self._identity, self._next, step, self._work):
            raise StepsChangedError(f"step {self._next + 1} was `{note.name}` with other arguments or files")
        folder = self._writer.layout.root / note.folder
        output = Output(step, note.status, texts(folder, note.files), note.elapsed_ns, note.resumed)
        done.commands.append(note.command)
        done.add(StepReading(output, HostReadings(**note.around.model_dump())), note.status, note.folder, note.notes)
        self._next += 1
        self._noted = len(done.notes)
        return True

    def check_replayed(self) -> None:
        """After the last step: raises StepsChangedError if there are notes of further steps."""
        if self._next < len(self._earlier):
            raise StepsChangedError(f"it had {len(self._earlier)} steps or more, now it ends at step {self._next}")

    def add(self, step: Step, done: StepOutputs) -> None:
        """Note the step that has just succeeded, the last of `done`; the first one after a pause is marked."""
        number = len(done.outputs) - 1
        if self._earlier and not self.finished:
            done.outputs[-1] = replace(done.outputs[-1], resumed=True)
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
                around=Readings(**asdict(done.readings[-1].around)),
            ),
        )
        self._noted = len(done.notes)
        self.finished += 1


def step_key(identity: Sequence[str], number: int, step: Step, work: str) -> str:
    """64 hex digits that identify a step in all parts of a run: who runs it, its number, program, arguments, files and
    environment. Its time limit, its companions and the location of the job's folder `work` do not count."""
    targets = targets_in(step)
    # whether a target was written before is true from the second part on
    clean = target_files([replace(one, dirty=False) for one in targets]) if targets else {}
    program = [type(step.program).__name__, step.program.name]
    parts = [*identity, number, step.name, program, [*step.arguments], {**step.files, **clean}, {**step.env}]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False).replace(work, "<work>")
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
