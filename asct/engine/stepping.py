"""Runs one step on a host and takes its texts back; keeps what was run, literally."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.failures import StepRun, failure_of
from asct.engine.gate import JobGuard
from asct.engine.programs import MissingProgram, Programs, process_of, texts
from asct.engine.steplog import StepOutputs, step_key
from asct.engine.telemetry.summary import StepReading
from asct.hosts.base import Finished, Host, Process, Task
from asct.sdk.step import Output, Step
from asct.store.layout import RunLayout
from asct.store.writer import RunWriter


class Stepper:
    """Runs steps of one job, each in a folder of its own on the host, so that no step finds files of another, and what
    one left is there until it was fetched."""

    def __init__(self, host: Host, programs: Programs, work: str, writer: RunWriter, gate: JobGuard) -> None:
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
        trail: StepOutputs,
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
        ran = StepRun(output, self._host.name, raw, task.main.argv, limit if finished.status is None else None)
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
                           StepOutputs(), self._key(identity, number, step))
                for number, step in enumerate(steps)
            ]  # fmt: skip
        except MissingProgram:
            return []

    def _key(self, identity: Sequence[str], number: int, step: Step) -> str:
        return step_key(identity, number, step, self._work)[:24] if identity else ""

    def _task(self, step: Step, into: Path, limit: float, trail: StepOutputs, key: str) -> Task:
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

    def _companions(self, step: Step, folder: str, trail: StepOutputs) -> Iterable[Process]:
        for companion in step.companions:
            try:
                path = self._programs.path(companion.program)
            except MissingProgram as error:
                trail.notes.append(f"{error} is not installed on {self._host.name}: measured without it")
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
