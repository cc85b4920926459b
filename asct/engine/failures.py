"""Diagnostics for failed steps and repeats.

Each diagnostic contains the cause, the last lines of output, the path to the raw files, and a command that runs the
program again.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from asct.diagnostics.model import Diagnostic
from asct.engine.guard import refusal
from asct.errors import HostLost
from asct.planner.model import Job
from asct.sdk.needs import GUARD
from asct.sdk.record import Measurement, doubtful, is_invalid
from asct.sdk.step import Kernel, Output
from asct.store.model import PointStatus
from asct.values.strict_json import json_object

_TAIL_LINES = 5
_TAIL_CHARACTERS = 400


def failure_of(
    output: Output, host: str, raw: str, argv: tuple[str, ...], timed_out_s: float | None = None
) -> Diagnostic | None:
    """Return the diagnostic for a failed step, or None if the step succeeded.

    `raw` is the folder that contains the step's files, relative to the run folder, and `argv` is the step's command
    line. `timed_out_s` is the time limit, in seconds, that the step reached, or None if the step ended before its
    limit.
    """
    found = _reason(output, host, timed_out_s)
    return found and replace(found, notes=_notes(output, host, raw, argv))


def _reason(output: Output, host: str, timed_out_s: float | None) -> Diagnostic | None:
    if timed_out_s is not None:
        return _late(output, timed_out_s)
    status = output.status
    if status < 0:
        return _killed(output, -status)
    if status in (126, 127):
        hint = "set a `workdir` for the host on a file system that is not mounted noexec, or install the program"
        return _failure("E609", output, f"could not be started (exit status {status}){_cause(output)}", hint)
    if isinstance(output.step.program, Kernel):
        return _kernel(output, host)
    if status != 0:
        hint = "see the last lines of its output below; run it again with the command below"
        return _failure("E601", output, f"failed with exit status {status}{_cause(output)}", hint)
    return None


def _killed(output: Output, number: int) -> Diagnostic:
    name = signal_name(number)
    hints = {
        "SIGKILL": "the Linux kernel may have run out of memory: check `dmesg` on the host, or reduce the sizes",
        "SIGILL": "the program uses an instruction that this CPU lacks: remove the build cache and run the plan again",
    }
    hint = hints.get(name, "run it again with the command below; if it fails again, use a debugger")
    return _failure("E602", output, f"was killed by {name}", hint)


_KERNEL_STATUSES = {
    2: (
        "E604",
        "rejected its arguments",
        "change the setting named in the message; `asct list settings` shows the permitted ranges",
    ),
    3: (
        "E605",
        "cannot measure this on host {host}",
        "change the host as described in the message, or change the setting",
    ),
    4: (
        "E606",
        "failed its self-check",
        "the value was discarded; if the check fails again, the memory or the virtual machine may be faulty",
    ),
}


def _kernel(output: Output, host: str) -> Diagnostic | None:
    if output.step.program == Kernel(GUARD) and (refused := refusal(host, output.stdout)) is not None:
        return refused
    if status := output.status:
        other = "E601", f"failed with exit status {status}", "see the last lines of its output below"
        code, what, hint = _KERNEL_STATUSES.get(status, other)
        return _failure(code, output, what.format(host=host) + _cause(output), hint)
    end = _end_line(output.stdout)
    if end is None:
        hint = "its output may be incomplete and is not used; measure again with `asct resume`"
        return _failure("E607", output, "ended without printing its last line", hint)
    if end.get("ok") is not True:
        why = f": {end['error']}" if isinstance(end.get("error"), str) else ""
        return _failure("E606", output, f"reported a failure{why}", "see the last lines of its output below")
    return None


def _late(output: Output, limit_s: float) -> Diagnostic:
    """Return the diagnostic for a step that reached a time limit: either the step's own limit, which is generous, or
    what remained of the point's limit."""
    seconds = f"{limit_s:.3g}" if limit_s < 100 else f"{limit_s:.0f}"
    hint = "increase `timeout` in the plan, or shorten the measurement"
    if output.step.timeout_s is not None and limit_s >= output.step.timeout_s:
        hint = (
            "the program should take much less time: check the Linux kernel log (`dmesg`) and "
            "other activity on the host"
        )
    return _failure("E603", output, f"reached its time limit of {seconds} s and was stopped", hint)


def _end_line(stdout: str) -> Mapping[str, object] | None:
    """Return the `end` object from the last line, or None if that line is incomplete or contains no such object."""
    if not stdout.endswith("\n"):
        return None
    value = json_object(stdout[stdout.rfind("\n", 0, -1) + 1 :])
    return value if value is not None and value.get("t") == "end" else None


def signal_name(number: int) -> str:
    """Return the name of a signal: `SIGSEGV` for 11, or `signal 99` for a signal without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cause(output: Output) -> str:
    """Return the last line of the output as the cause of a failure, formatted so that it can be appended to a message.
    Return an empty string if there is no output."""
    lines = tail(output)
    return f": {lines[-1]}" if lines else ""


def _failure(code: str, output: Output, what: str, hint: str) -> Diagnostic:
    """Return the diagnostic for a failed program. `what` completes the sentence that begins with the program's name."""
    program, step = output.step.program.name, output.step.name
    title = program if step == program else f"{program} ({step})"
    return Diagnostic(code, f"{title} {what}", hint=hint)


def _notes(output: Output, host: str, raw: str, argv: tuple[str, ...]) -> tuple[tuple[str, None], ...]:
    lines = tail(output)
    notes = [f"  {line}" for line in lines]
    if lines:
        notes.insert(0, "last lines of its output:")
    notes.append(f"complete output: {raw}/")
    notes.append(f"to run it again on {host}: {command_line(argv, output.step.env)}")
    return tuple((note, None) for note in notes)


def tail(output: Output) -> list[str]:
    """Return the last lines of standard error or, if that is empty, of standard output."""
    text = output.stderr if output.stderr.strip() else output.stdout
    lines = [line.rstrip() for line in text[-20000:].splitlines() if line.strip()]
    return [line if len(line) <= _TAIL_CHARACTERS else line[:_TAIL_CHARACTERS] + "…" for line in lines[-_TAIL_LINES:]]


def command_line(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Return the command line as a user would type it in a shell."""
    words = [f"{name}={value}" for name, value in env.items()]
    return shlex.join([*(["env", *words] if words else []), *argv])


def connection_lost(host: str, error: HostLost) -> Diagnostic:
    """Return the diagnostic for a connection that was lost during a repeat."""
    cause = error.diagnostics[0].message if error.diagnostics else "the connection broke"
    hint = "asct reconnects and measures the other points; `retry: {max: 1, on: [host-lost]}` retries this one"
    return Diagnostic("E610", f"host {host}: connection lost during a measurement: {cause}", hint=hint)


def judged(found: Iterable[Measurement], *, strict: bool) -> tuple[PointStatus, Diagnostic | None]:
    """Return the status of a repeat that produced these values and, if the repeat is treated as not measured, the
    reason. The flags of detail values are ignored, because a value that summarizes doubtful details has its own flag.
    """
    results = [item for item in found if not item.detail]
    invalid = [item for item in results if is_invalid(item.flags)]
    doubted = invalid or [item for item in results if any(map(doubtful, item.flags))]
    if not doubted:
        return "ok", None
    share = f"{len(doubted)} of {len(results)} results" if len(results) > 1 else "the result"
    flags = sorted({flag for item in doubted for flag in item.flags}, key=lambda flag: (not doubtful(flag), flag))
    summary = f"{share} {'is' if len(doubted) == 1 else 'are'} flagged {', '.join(flags)}"
    if invalid:
        hint = f"`asct explain {flags[0]}` describes the flag; `asct resume` measures the repeat again"
        return "invalid", Diagnostic("E627", f"{summary}; an invalid value is treated as not measured", hint=hint)
    hint = "reduce other activity on the host, increase `repeats`, or remove `strict`"
    message = f"{summary}; with `strict`, a noisy value is treated as not measured"
    return "noisy", Diagnostic("E617", message, hint=hint, severity="warning") if strict else None


def missing_result(job: Job, error: Exception) -> Diagnostic:
    """Return the diagnostic for a point that needs a result that another job did not produce."""
    hint = "set the missing value in the plan, or find out why the other job did not measure it"
    return Diagnostic("E612", f"{job.id} on {job.host}: a required result does not exist: {error}", hint=hint)


def invalid_settings(job: Job, error: Exception) -> Diagnostic:
    hint = f"`asct list settings {job.benchmark}` lists the settings"
    return Diagnostic("E614", f"{job.id} on {job.host}: {error}", hint=hint)


def unreadable(job: Job, outputs: Sequence[Output], notes: Sequence[str], raw: str, error: Exception) -> Diagnostic:
    """Return the diagnostic for output that the benchmark cannot read."""
    lines = tail(outputs[-1]) if outputs else []
    excerpt = tuple((f"  {line}", None) for line in [*notes, *lines])  # notes about missing files come first
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    message = f"{job.benchmark}: cannot read values from the output: {reason}"
    return Diagnostic("E608", message, hint=f"the raw output is in {raw}/", notes=excerpt)


def steps_changed(host: str, job_id: str, point_id: str, why: str) -> Diagnostic:
    """Return the diagnostic for a repeat that starts again because its stored steps belong to a different
    measurement."""
    message = f"{job_id} {point_id} on {host}: starting again at the first step: {why}"
    hint = (
        "the program or asct has changed in the meantime; the earlier files are kept in a folder whose name ends "
        "in .try1"
    )
    return Diagnostic("E622", message, hint=hint, severity="warning")
