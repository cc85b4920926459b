"""Runs one step on a host and takes its texts back; keeps what was run, literally."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.failures import Ran, failure_of
from asct.engine.gate import JobGate
from asct.engine.programs import MissingProgram, Programs
from asct.engine.step_key import step_key
from asct.engine.telemetry.account import StepReading
from asct.hosts.base import Finished, Host, Process, Task
from asct.sdk.record import Scalar
from asct.sdk.step import Companion, Output, Step
from asct.store.layout import RunLayout
from asct.store.writer import RunWriter


@dataclass(slots=True)
class Trail:
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


class Stepper:
    """Runs steps of one job, each in a folder of its own on the host, so that no step finds files of another, and what
    one left is there until it was fetched."""

    def __init__(self, host: Host, programs: Programs, work: str, writer: RunWriter, gate: JobGate) -> None:
        self._host = host
        self._programs = programs
        self._work = work
        self._numbers = count(1)
        self._writer = writer
        self._gate = gate

    @property
    def _layout(self) -> RunLayout:
        return self._writer.layout

    def run(
        self,
        step: Step,
        folder: Path,
        trail: Trail,
        deadline: float,
        on_line: Callable[[str], None] | None = None,
        identity: Sequence[str] = (),
    ) -> bool:
        """Run one step into `folder` (of the repeat) and note it in `trail`; False when it failed.

        `deadline` is a time of `time.monotonic`; `on_line` hears the step's standard output while it runs. `identity`
        tells the attempt that asks for it from all others of the run. Raises HostLost and other HostErrors, and
        StoreError.
        """
        number = len(trail.rows)
        into = self._layout.step(folder, number, step.name)
        if number:
            into = self._writer.repeat_folder(into)
        limit = max(0.001, deadline - time.monotonic())
        limit = limit if step.timeout_s is None else min(limit, step.timeout_s)
        try:
            task = self._task(step, into, limit, trail, self._key(identity, number, step))
        except MissingProgram as error:
            trail.failure = Diagnostic("E420", f"host {self._host.name}: {error} is not there", hint=f"install {error}")
            return False
        trail.failure = self._gate.begin(step)
        if trail.failure is not None:
            return False
        trail.commands.append(_command(step, task))
        self._keep(step, into)
        finished = self._run(task, on_line)
        output = Output(step, finished.status or 0, texts(into, finished.fetched), finished.elapsed_ns)
        raw = self._layout.relative(into)
        trail.add(StepReading(output, finished.around), finished.status, raw, finished.notes)
        trail.timed_out = finished.status is None
        ran = Ran(output, self._host.name, raw, task.main.argv, limit if finished.status is None else None)
        trail.failure = self._gate.settle(output, raw) or failure_of(ran)
        return trail.failure is None

    def _keep(self, step: Step, into: Path) -> None:
        """The files that the step is given, as they were given."""
        try:
            for name, text in step.files.items():
                (into / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise self._writer.fail(into, error) from error

    def _run(self, task: Task, on_line: Callable[[str], None] | None) -> Finished:
        try:
            finished = self._host.run(task, on_line)
        except OSError as error:  # a transport's own failures are HostErrors: this one is of the results tree
            raise self._writer.fail(task.into, error) from error
        if finished.notes:  # a file that was not fetched may be the first sign of a full disk here
            self._writer.probe()
        return finished

    def foreseen(self, steps: Sequence[Step], folder: Path, limit: float, identity: Sequence[str]) -> list[Task]:
        """The tasks that `run` will make of these steps, which are all of a repeat; none when a program is missing."""
        try:
            return [
                self._task(step, self._layout.step(folder, number, step.name), min(limit, step.timeout_s or limit),
                           Trail(), self._key(identity, number, step))
                for number, step in enumerate(steps)
            ]  # fmt: skip
        except MissingProgram:
            return []

    def _key(self, identity: Sequence[str], number: int, step: Step) -> str:
        return step_key(identity, number, step, self._work)[:24] if identity else ""

    def _task(self, step: Step, into: Path, limit: float, trail: Trail, key: str) -> Task:
        folder = f"{self._work}/{key or next(self._numbers)}"
        return Task(
            main=process_of(
                self._gate.limited(step),
                self._programs.path(step.program),
                folder,
                sudo=self._programs.through_sudo(step),
            ),
            into=into,
            files=step.files,
            companions=tuple(self._companions(step, folder, trail)),
            collect=step.collect,
            timeout_s=limit,
            key=key,
        )

    def _companions(self, step: Step, folder: str, trail: Trail) -> Iterable[Process]:
        for companion in step.companions:
            try:
                path = self._programs.path(companion.program)
            except MissingProgram as error:
                trail.notes.append(f"{error} is not installed on {self._host.name}: measured without it")
                continue
            yield process_of(companion, path, folder)


def process_of(part: Step | Companion, path: str, folder: str, *, sudo: bool = False) -> Process:
    """The program at `path` with the arguments of a step or of what runs beside it, in `folder` of the host.

    With `sudo` it is a kernel that starts itself again as root; the files to be collected it makes before.
    """
    argv = (path, *part.arguments)
    if isinstance(part, Step):
        return Process((path, "--sudo", ",".join(part.collect), *part.arguments) if sudo else argv, folder, part.env)
    name = part.stdout_file
    return Process(argv, folder, part.env, stdout_file=name, stderr_file=f"{name}.stderr")


def texts(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The fetched files as text; a file with other bytes is read with replacement characters."""
    return {name: _text(f"{folder}/{name}") for name in names}


def _text(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - thousands of small files: pathlib would double the time
        return file.read().decode("utf-8", errors="replace")


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
