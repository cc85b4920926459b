"""Jobs of Slurm: what is asked of sbatch, as lists of arguments, and the batch script that holds the node."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asct.errors import HostError
from asct.hosts import slurm_problems as problems
from asct.hosts.slurm_process import command, said
from asct.plan.model import HostSpec

BATCH = Path(__file__).with_name("slurm.sh")
STEP = Path(__file__).with_name("slurm_step.sh")
ORDER = '[ -n "$(find "$1" -prune -type d -user "$(id -u)")" ] && printf "%s\\n" "$2" >"$1/orders"'
"""Only into a folder of this account: when the job is over, others could make one of that name."""
PATIENCE_S = 180
"""A job in which nothing of asct lives for so long ends by itself."""
SPARE, SPARE_S = 1.5, 300.0
"""The time limit of a job is its estimate times this, and so much for opening the session and fetching results."""
LOOK_S = 1200.0
"""Time for the first job of a host: facts, checks, building kernels."""
EXPORT = "--export=HOME,USER,LOGNAME,SHELL,PATH"
"""What a job gets of this environment; other variables are none of its business."""
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Request:
    """What the plan asks for. `node` is a node's name, or empty: whichever Slurm chooses."""

    partition: str = ""
    account: str = ""
    constraint: str = ""
    node: str = ""
    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: HostSpec) -> Request:
        """From the options of a host."""
        told = {key: str(value) for key, value in spec.options.items() if key != "options"}
        return cls(
            partition=told.get("partition", ""),
            account=told.get("account", ""),
            constraint=told.get("constraint", ""),
            node=told.get("nodelist", ""),
            options=tuple(str(item) for item in spec.options.get("options", ())),
        )


@dataclass(frozen=True, slots=True)
class After:
    """Jobs that must be over before (`ended`), and those that must have done well (`ok`)."""

    ended: tuple[int, ...] = ()
    ok: tuple[int, ...] = ()

    def text(self) -> str:
        """As sbatch has it; empty when there is nothing to wait for."""
        parts = [("afterany", [job for job in self.ended if job not in self.ok]), ("afterok", list(self.ok))]
        return ",".join(":".join([word, *map(str, jobs)]) for word, jobs in parts if jobs)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A submitted job: its number, and the secret that names its folder on the node."""

    job: int
    token: str


def job_name(run: str, host: str) -> str:
    """What all names of jobs of a host in a run begin with; each time that it is opened something is added."""
    return f"asct-{_NAME.sub('_', run)}-{_NAME.sub('_', host)}"[:200]


def minutes(seconds: float) -> int:
    """The time limit for what is expected to take so long."""
    return math.ceil((SPARE * seconds + SPARE_S) / 60)


def arguments(
    request: Request, name: str, comment: str, seconds: float, after: After, exclude: Sequence[str] = ()
) -> list[str]:
    """The command line that submits a job of one node, its script on standard input. The user's options come last and
    win."""
    argv = ["sbatch", "--parsable", "--exclusive", "--nodes=1", "--ntasks=1", "--mem=0", "--no-requeue", "--chdir=/"]
    argv += ["--output=/dev/null", "--error=/dev/null", "--input=/dev/null", EXPORT]
    argv += [f"--job-name={name}", f"--comment={comment}", f"--time={minutes(seconds)}"]
    if dependency := after.text():
        argv += [f"--dependency={dependency}", "--kill-on-invalid-dep=yes"]
    for option in ("partition", "account", "constraint"):
        if value := getattr(request, option):
            argv.append(f"--{option}={value}")
    if request.node:
        argv.append(f"--nodelist={request.node}")
    elif exclude:
        argv.append(f"--exclude={','.join(exclude)}")
    return [*argv, *request.options]


def batch_text(token: str, patience_s: int = PATIENCE_S) -> str:
    """The batch script; `token` is hexadecimal, so nothing in it needs quotes."""
    return f"#!/bin/sh\ntoken={token} patience={patience_s}\n{BATCH.read_text(encoding='utf-8')}"


def submit(host: str, argv: Sequence[str]) -> Allocation:
    """Submit a job. Raises HostError with what Slurm says against it."""
    token = secrets.token_hex(16)
    done = command(host, argv, batch_text(token))
    number = done.stdout.strip().partition(";")[0]
    if done.returncode or not _NUMBER.fullmatch(number):
        raise HostError(host, problems.refused(host, said(done)))
    return Allocation(int(number), token)


def cancel(host: str, jobs: Sequence[int]) -> None:
    """End jobs; those that are over already are passed over. Raises HostError when Slurm does not do it."""
    if not jobs:
        return
    done = command(host, ["scancel", "--quiet", *map(str, jobs)])
    if done.returncode and "Invalid job id" not in done.stderr:
        raise HostError(host, problems.silent(host, said(done), 0.0))


def order(host: str, allocation: Allocation, words: str) -> None:
    """Tell the batch script something; a job that is over meanwhile does not hear it."""
    argv = [*_srun(allocation), "--output=none", "--error=none", "sh", "-c", ORDER, "sh", _door(allocation), words]
    command(host, argv)


def _door(allocation: Allocation) -> str:
    return f"/tmp/asct-job-{allocation.token}"  # noqa: S108 - the batch script makes it, mode 0700 or not at all


def _srun(allocation: Allocation) -> list[str]:
    """A step on the node of the job, beside whatever runs there, with all its CPUs and memory."""
    argv = ["srun", f"--jobid={allocation.job}", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0", "--cpu-bind=none"]
    return [*argv, "--mem-bind=none", "--chdir=/", "--quiet", EXPORT]


def step_arguments(allocation: Allocation, number: str, text: str) -> list[str]:
    """The command line of a step that runs a command line of ours inside the job, with our standard streams."""
    step = STEP.read_text(encoding="utf-8")
    return [*_srun(allocation), "sh", "-c", step, "sh", _door(allocation), number, text]
