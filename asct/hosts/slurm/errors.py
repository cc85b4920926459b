"""The diagnostics of the `slurm` transport: one function per cause, each with a hint on how to fix it."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic

_ENDS = {
    "TIMEOUT": (
        "it reached its time limit",
        "raise the limit with `options: [--time=...]`, or use a partition that allows longer jobs",
    ),
    "NODE_FAIL": ("its node failed", "see `sinfo -R`; select another node with `nodelist`, or let Slurm choose"),
    "BOOT_FAIL": ("its node did not boot", "see `sinfo -R`; select another node with `nodelist`, or let Slurm choose"),
    "CANCELLED": ("it was canceled", "run `scontrol show job` to find out who canceled it, or ask the administrators"),
    "PREEMPTED": ("a job of higher priority took its node", "use a partition or `--qos=` that is not preempted"),
    "OUT_OF_MEMORY": ("it ran out of memory", "reduce the memory that the benchmarks use"),
    "DEADLINE": ("its deadline passed", "remove `--deadline` from `options`"),
    "FAILED": ("its batch script failed", "see the slurmd log on the node"),
    "COMPLETED": ("it ended because asct did not contact it in time", "run asct on a machine that stays connected"),
}
"""Maps each final job state to its cause and a fix."""


def not_here(name: str, program: str) -> Diagnostic:
    hint = "run asct on a machine that can submit Slurm jobs; on Debian, the commands are in the package slurm-client"
    return Diagnostic("E350", f"{name}: the Slurm command `{program}` is not on the PATH", hint=hint)


def refused(name: str, text: str) -> Diagnostic:
    hint = (
        "check the host's `partition`, `account`, `constraint`, `nodelist` and `options`; `sinfo` lists the partitions"
    )
    return Diagnostic("E351", f"{name}: Slurm rejected the job: {text}", hint=hint)


def hopeless(name: str, job: int, reason: str) -> Diagnostic:
    hint = "correct the host's `partition`, `nodelist` or `options: [--time=...]`; the job was canceled"
    return Diagnostic("E352", f"{name}: Slurm job {job} can never start ({reason})", hint=hint)


def ended(name: str, job: int, state: str) -> Diagnostic:
    cause, fix = _ENDS.get(state, ("it has ended", "see `scontrol show job`"))
    hint = f"{fix}; `asct resume` measures the missing points"
    return Diagnostic("E353", f"{name}: Slurm job {job} ended ({state}): {cause}", hint=hint)


def silent(name: str, text: str, seconds: float) -> Diagnostic:
    hint = "check that slurmctld is running (`scontrol ping`), then run `asct resume`"
    return Diagnostic("E354", f"{name}: Slurm has not responded for {seconds:.0f} s: {text}", hint=hint)


def waiting(name: str, job: int, reason: str) -> Diagnostic:
    hint = "to cancel, press Ctrl-C"
    return Diagnostic("E355", f"{name}: Slurm job {job} is waiting in the queue ({reason})", severity="note", hint=hint)


def given_up(name: str, job: int) -> Diagnostic:
    message = f"{name}: Slurm job {job} was canceled because the run was interrupted"
    return Diagnostic("E353", message, hint="`asct resume` continues the run")
