"""What went wrong with a step: the cause, the last lines, where the whole output is, how to repeat it."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asct.diagnostics.model import Diagnostic
from asct.engine.guard import refusal
from asct.errors import HostLost
from asct.planner.model import Job
from asct.sdk.guard import KERNEL as GUARD
from asct.sdk.step import Kernel, Output

_TAIL_LINES = 5
_TAIL_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class StepRun:
    """A step that was run: where its files lie (relative to the run's folder) and the literal command."""

    output: Output
    host: str
    raw: str
    argv: tuple[str, ...]
    timed_out_s: float | None = None
    """The limit it ran into; None when it ended by itself."""

    @property
    def program(self) -> str:
        """Its name, for people."""
        return self.output.step.program.name


def failure_of(ran: StepRun) -> Diagnostic | None:
    """The diagnostic of a step that did not do its work; None for one that did."""
    if ran.timed_out_s is not None:
        return _late(ran, ran.timed_out_s)
    status = ran.output.status
    if status < 0:
        return _killed(ran, -status)
    if status in (126, 127):
        hint = "give the host a `workdir` that is not mounted noexec, or install the program"
        return _diagnostic("E609", ran, f"{_place(ran)} could not be started (status {status}){_said(ran)}", hint)
    if isinstance(ran.output.step.program, Kernel):
        return _kernel(ran, status)
    if status != 0:
        hint = "the last lines below say why; run it again by hand with the command below"
        return _diagnostic("E601", ran, f"{_place(ran)} failed with status {status}{_said(ran)}", hint)
    return None


def _killed(ran: StepRun, number: int) -> Diagnostic:
    name = signal_name(number)
    hints = {
        "SIGKILL": "the kernel may have run out of memory: look at `dmesg` on the host, or lower the sizes",
        "SIGILL": "the program uses an instruction that this CPU lacks: remove its build cache and run again",
    }
    hint = hints.get(name, "run it again by hand with the command below, in a debugger if it repeats")
    return _diagnostic("E602", ran, f"{_place(ran)} was killed by {name}", hint)


def _kernel(ran: StepRun, status: int) -> Diagnostic | None:
    place = _place(ran)
    if ran.output.step.program == Kernel(GUARD) and (refused := _refused(ran)) is not None:
        return refused
    if status == 2:
        hint = "change the setting that its message names, `asct list settings` shows the ranges"
        return _diagnostic("E604", ran, f"{place} refused its arguments{_said(ran)}", hint)
    if status == 3:
        hint = "change the host as its message says, or the setting"
        return _diagnostic("E605", ran, f"{place} cannot measure this on host {ran.host}{_said(ran)}", hint)
    if status == 4:
        hint = "the value was not recorded; if it repeats, suspect the memory or the virtual machine"
        return _diagnostic("E606", ran, f"{place} failed its self-check{_said(ran)}", hint)
    if status != 0:
        return _diagnostic("E601", ran, f"{place} failed with status {status}{_said(ran)}", "see the last lines below")
    return _unended(ran)


def _refused(ran: StepRun) -> Diagnostic | None:
    """The check of guard that kept the program from being started; None when it is not the reason."""
    found = refusal(ran.host, ran.output.stdout)
    return _diagnostic(found.code, ran, found.message, found.hint) if found is not None else None


def _unended(ran: StepRun) -> Diagnostic | None:
    end = _end_line(ran.output.stdout)
    if end is None:
        hint = "the output kept may be incomplete and is not used; measure it again with `asct resume`"
        return _diagnostic("E607", ran, f"{_place(ran)} ended without its last line", hint)
    if end.get("ok") is not True:
        why = f": {end['error']}" if isinstance(end.get("error"), str) else ""
        return _diagnostic("E606", ran, f"{_place(ran)} says itself that it failed{why}", "see the last lines below")
    return None


def _late(ran: StepRun, limit_s: float) -> Diagnostic:
    """The limit is the step's own, which has room for all that it should do, or what is left of the point's."""
    seconds = f"{limit_s:.3g}" if limit_s < 100 else f"{limit_s:.0f}"
    hint = "raise `timeout` in the plan, or shorten the measurement"
    if ran.output.step.timeout_s is not None and limit_s >= ran.output.step.timeout_s:
        hint = "that is far more than it should take: look at the kernel's log (`dmesg`) and what else the host did"
    return _diagnostic("E603", ran, f"{_place(ran)} did not end within {seconds} s and was stopped", hint)


def _end_line(stdout: str) -> Mapping[str, object] | None:
    """The `end` object when the last line is one. Only whole lines count, so a cut-off one is none."""
    if not stdout.endswith("\n"):
        return None
    last = stdout[stdout.rfind("\n", 0, -1) + 1 :]
    try:
        value = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value.get("t") == "end" else None


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 99` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _place(ran: StepRun) -> str:
    step = ran.output.step.name
    return ran.program if step == ran.program else f"{ran.program} ({step})"


def _said(ran: StepRun) -> str:
    """The last line it wrote, as the cause."""
    lines = tail(ran.output)
    return f": {lines[-1]}" if lines else ""


def _diagnostic(code: str, ran: StepRun, message: str, hint: str) -> Diagnostic:
    lines = tail(ran.output)
    notes = [f"  {line}" for line in lines]
    if lines:
        notes.insert(0, "it wrote at the end:")
    notes.append(f"its whole output is in {ran.raw}/")
    notes.append(f"run it again on {ran.host}: {command_line(ran.argv, ran.output.step.env)}")
    return Diagnostic(code, message, hint=hint, notes=tuple((note, None) for note in notes))


def tail(output: Output) -> list[str]:
    """The last lines of standard error; of standard output when that is empty."""
    text = output.stderr if output.stderr.strip() else output.stdout
    lines = [line.rstrip() for line in text[-20000:].splitlines() if line.strip()]
    return [line if len(line) <= _TAIL_CHARACTERS else line[:_TAIL_CHARACTERS] + "…" for line in lines[-_TAIL_LINES:]]


def command_line(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """A command as one would type it."""
    words = [f"{name}={value}" for name, value in env.items()]
    return shlex.join([*(["env", *words] if words else []), *argv])


def connection_lost(host: str, error: HostLost) -> Diagnostic:
    """The connection broke in the midst of a measurement."""
    cause = error.diagnostics[0].message if error.diagnostics else "the connection broke"
    hint = "the rest goes on when the host answers again; `retry: {max: 1, on: [host-lost]}` repeats the point"
    return Diagnostic("E610", f"host {host}: lost while measuring: {cause}", hint=hint)


def missing_result(job: Job, error: Exception) -> Diagnostic:
    """A result of another job that this point reads is not there."""
    hint = "give the setting that the needed job would have found"
    return Diagnostic("E612", f"{job.id} on {job.host}: needs a result that was not found: {error}", hint=hint)


def invalid_settings(job: Job, error: Exception) -> Diagnostic:
    """The settings do not hold with what the host is."""
    hint = f"`asct list settings {job.benchmark}` shows what can be set"
    return Diagnostic("E614", f"{job.id} on {job.host}: {error}", hint=hint)


def unreadable(job: Job, outputs: Sequence[Output], notes: Sequence[str], raw: str, error: Exception) -> Diagnostic:
    """An output of another shape than the benchmark reads."""
    lines = tail(outputs[-1]) if outputs else []
    shown = tuple((f"  {line}", None) for line in [*notes, *lines])  # a file that was not fetched comes first
    message = f"{job.benchmark}: no values in the output: {_reason(error)}"
    return Diagnostic("E608", message, hint=f"the raw output is in {raw}/", notes=shown)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def steps_changed(host: str, job_id: str, point_id: str, why: str) -> Diagnostic:
    """The finished steps of a repeat are of another measurement, so the repeat cannot resume after them."""
    message = f"{job_id} {point_id} on {host}: starts over at the first step: {why}"
    hint = "the program or asct has changed since; earlier results are kept in a folder that ends in .try1"
    return Diagnostic("E622", message, hint=hint, severity="warning")
