"""The findings of the transport `slurm`: one function per cause, each with the way out."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic

_ENDS = {
    "TIMEOUT": (
        "its time limit passed",
        "give the job more time: `options: [--time=...]`, or a partition that allows it",
    ),
    "NODE_FAIL": ("its node failed", "see `sinfo -R`; name another node by `nodelist`, or let Slurm choose"),
    "BOOT_FAIL": ("its node did not boot", "see `sinfo -R`; name another node by `nodelist`, or let Slurm choose"),
    "CANCELLED": ("it was cancelled", "find out who did it: `scontrol show job`, or the administrators"),
    "PREEMPTED": ("a job of higher priority took its node", "use a partition or `--qos=` that is not preempted"),
    "OUT_OF_MEMORY": ("it ran out of memory", "let the benchmarks use less memory"),
    "DEADLINE": ("its deadline passed", "take `--deadline` out of `options`"),
    "FAILED": ("its batch script failed", "look into the log of slurmd on the node"),
    "COMPLETED": ("it ended by itself", "asct was away from it for too long"),
}
"""States in which a job is over, and what to do."""


def not_here(name: str, program: str) -> Diagnostic:
    hint = "run asct on a machine from which jobs are submitted; Debian has them in slurm-client"
    return Diagnostic("E350", f"{name}: `{program}` of Slurm is not on the PATH", hint=hint)


def refused(name: str, words: str) -> Diagnostic:
    hint = (
        "check `partition`, `account`, `constraint`, `nodelist` and `options` of the host; `sinfo` shows the partitions"
    )
    return Diagnostic("E351", f"{name}: Slurm does not take the job: {words}", hint=hint)


def hopeless(name: str, job: int, reason: str) -> Diagnostic:
    hint = "mend the request of the host (`partition`, `nodelist`, `options: [--time=...]`); the job was cancelled"
    return Diagnostic("E352", f"{name}: job {job} of Slurm would never start ({reason})", hint=hint)


def ended(name: str, job: int, state: str) -> Diagnostic:
    what, way_out = _ENDS.get(state, ("it is over", "ask `scontrol show job`"))
    hint = f"{way_out}; `asct resume` measures what is missing"
    return Diagnostic("E353", f"{name}: job {job} of Slurm ended ({state}): {what}", hint=hint)


def silent(name: str, words: str, seconds: float) -> Diagnostic:
    hint = "see whether slurmctld runs (`scontrol ping`), then `asct resume`"
    return Diagnostic("E354", f"{name}: Slurm has not answered for {seconds:.0f} s: {words}", hint=hint)


def waiting(name: str, job: int, reason: str) -> Diagnostic:
    hint = "Ctrl-C gives it up"
    return Diagnostic("E355", f"{name}: job {job} waits in the queue of Slurm ({reason})", severity="note", hint=hint)


def given_up(name: str, job: int) -> Diagnostic:
    return Diagnostic(
        "E353", f"{name}: job {job} of Slurm was cancelled because the run ends", hint="`asct resume` goes on"
    )
