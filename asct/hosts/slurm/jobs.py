"""Slurm jobs: the commands that submit, cancel and list them, and the batch script that holds the node."""

from __future__ import annotations

import math
import os
import re
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asct.errors import HostError, HostLost
from asct.hosts.slurm import errors
from asct.plan.model import HostSpec
from asct.resources import data

COMMAND_S = 60.0
_LONGEST = 1000
"""Maximum number of characters that a diagnostic quotes from a Slurm message."""
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
_PREFIXES = ("SLURM_", "SBATCH_", "SRUN_", "SQUEUE_", "SCANCEL_", "SALLOC_", "PMI_", "PMIX_")


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that Slurm sets inside a job, because these affect Slurm's
    commands."""
    return {name: value for name, value in own.items() if name in _KEPT or not name.startswith(_PREFIXES)}


def command(host: str, argv: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a Slurm command with `text` as its standard input.

    Raises HostError if the command is missing or times out.
    """
    try:
        return subprocess.run(
            argv,
            check=False,
            env=environment(os.environ),
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_S,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise HostError(host, errors.problem("not_here", host, program=argv[0])) from error
    except subprocess.TimeoutExpired as error:
        raise HostError(
            host, errors.problem("silent", host, text=f"`{argv[0]}` did not end", seconds=COMMAND_S)
        ) from error
    except OSError as error:  # this machine is out of processes or memory
        raise HostError(
            host, errors.problem("silent", host, text=f"`{argv[0]}`: {error.strerror}", seconds=0.0)
        ) from error


def message_of(result: subprocess.CompletedProcess[str]) -> str:
    """Return the message from a failed command as one line."""
    lines = [line.strip() for line in (result.stderr or result.stdout).splitlines() if line.strip()]
    words = [line.partition(": ")[2].removeprefix("error: ") or line for line in lines]
    return "; ".join(words)[:_LONGEST] or "no reason given"


STEP = Path(__file__).with_name("step.sh")
ORDER = '[ -n "$(find "$1" -prune -type d -user "$(id -u)")" ] && printf "%s\\n" "$2" >"$1/orders"'
"""Shell code that writes an order, but only to a folder that belongs to this account.

After the job has ended, another account could create a folder with the same name.
"""
PATIENCE_S = 180
"""Seconds after which a job ends if no asct process is running in it."""
SPARE, SPARE_S = 1.5, 300.0
"""A job's time limit is its estimated duration multiplied by this factor, plus this number of seconds for opening the
session and copying results."""
FIRST_JOB_S = 1200.0
"""Expected duration, in seconds, of a host's first job, which reads facts, runs checks and builds kernels."""
EXPORT = "--export=HOME,USER,LOGNAME,SHELL,PATH"
"""The sbatch option that selects which environment variables are passed to a job."""
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class SbatchRequest:
    """The sbatch options in a plan. If `node` is empty, Slurm selects a node."""

    partition: str = ""
    account: str = ""
    constraint: str = ""
    node: str = ""
    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: HostSpec) -> SbatchRequest:
        """Return the request described by the host's keys in a plan."""
        partition, account, constraint, node = (
            str(spec.options.get(key, "")) for key in ("partition", "account", "constraint", "nodelist")
        )
        return cls(partition, account, constraint, node, tuple(map(str, spec.options.get("options", ()))))


@dataclass(frozen=True, slots=True)
class JobOrder:
    """The jobs that a job depends on. Jobs in `ok` must have succeeded; the others need only have ended."""

    ended: tuple[int, ...] = ()
    ok: tuple[int, ...] = ()

    def text(self) -> str:
        """Return the value of --dependency, or an empty string if there are no dependencies."""
        parts = [("afterany", [job for job in self.ended if job not in self.ok]), ("afterok", list(self.ok))]
        return ",".join(":".join([word, *map(str, jobs)]) for word, jobs in parts if jobs)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A submitted job: its number, and the unpredictable part of its folder's name on the node."""

    job: int
    token: str


def job_name(run: str, host: str) -> str:
    """Return the common name prefix of a host's Slurm jobs in a run."""
    return f"asct-{_NAME.sub('_', run)}-{_NAME.sub('_', host)}"[:200]


def minutes(seconds: float) -> int:
    """Return the time limit, in minutes, for a job that is expected to take this number of seconds."""
    return math.ceil((SPARE * seconds + SPARE_S) / 60)


def arguments(
    request: SbatchRequest, name: str, comment: str, seconds: float, after: JobOrder, exclude: Sequence[str] = ()
) -> list[str]:
    """Return the command line that submits a job on one node. The command reads the job's script from standard input.

    The user's options come last and therefore take precedence.
    """
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
    """Return the batch script. `token` is hexadecimal and requires no quoting."""
    return f"#!/bin/sh\ntoken={token} patience={patience_s}\n{Path(__file__).with_name('batch.sh').read_text('utf-8')}"


def submit(host: str, argv: Sequence[str]) -> Allocation:
    """Submit a job. Raises HostError with Slurm's message if this fails."""
    token = secrets.token_hex(16)
    result = command(host, argv, batch_text(token))
    number = result.stdout.strip().partition(";")[0]
    if result.returncode or not _NUMBER.fullmatch(number):
        raise HostError(host, errors.problem("refused", host, text=message_of(result)))
    return Allocation(int(number), token)


def cancel(host: str, jobs: Sequence[int]) -> None:
    """Cancel the jobs, except those that have already ended. Raises HostError if Slurm fails to cancel them."""
    if not jobs:
        return
    result = command(host, ["scancel", "--quiet", *map(str, jobs)])
    if result.returncode and "Invalid job id" not in result.stderr:
        raise HostError(host, errors.problem("silent", host, text=message_of(result), seconds=0.0))


def order(host: str, allocation: Allocation, words: str) -> None:
    """Send an order to the batch script. This has no effect after the job has ended."""
    shell = ["sh", "-c", ORDER, "sh", _job_folder(allocation), words]
    command(host, [*_srun(allocation), "--output=none", "--error=none", *shell])


def _job_folder(allocation: Allocation) -> str:
    return f"/tmp/asct-job-{allocation.token}"  # noqa: S108 - the batch script creates it with mode 0700 or fails


def _srun(allocation: Allocation) -> list[str]:
    """Return the command for a step on the job's node.

    The step shares all of the job's CPUs and memory with other steps.
    """
    argv = ["srun", f"--jobid={allocation.job}", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0", "--cpu-bind=none"]
    return [*argv, "--mem-bind=none", "--chdir=/", "--quiet", EXPORT]


def step_arguments(allocation: Allocation, number: str, text: str) -> list[str]:
    """Return the command line for a step that runs `text` inside the job, connected to the standard streams of this
    process."""
    step = STEP.read_text(encoding="utf-8")
    return [*_srun(allocation), "sh", "-c", step, "sh", _job_folder(allocation), number, text]


SOONEST_S = 0.5
RAREST_S = 10.0
"""Longest interval, in seconds, between two queries. The interval doubles after each query that shows no change."""
SILENCE_S = 300.0
"""Seconds for which slurmctld may be unavailable, for example while it restarts. Jobs continue to run in the
meantime."""
_UNKNOWN = "Invalid job id"


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job's state at the last query. `node` is empty until the job starts."""

    state: str
    node: str = ""
    reason: str = ""

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in data(__file__, "words.yaml")["over"]


def read_rows(text: str) -> dict[int, QueuedJob]:
    """Return the jobs in the output of `squeue --format=%A|%T|%N|%r`, keyed by job number, ignoring malformed lines."""
    found = {}
    for line in text.splitlines():
        number, *rest = line.strip().split("|", 3)
        if _NUMBER.fullmatch(number) and len(rest) == 3:
            found[int(number)] = QueuedJob(rest[0], rest[1], rest[2])
    return found


def query_jobs(jobs: Sequence[int], names: Sequence[str] = ()) -> dict[int, QueuedJob]:
    """Query and return the current state of the jobs. Raises HostError if Slurm does not respond.

    A job is GONE if Slurm no longer lists it, or if `names` is not empty and does not contain the job's name.
    """
    ids = ",".join(map(str, jobs))
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={ids}", "--format=%A|%T|%N|%r"]
    argv += [f"--name={','.join(names)}"] if names else []
    result = command("slurm", argv)
    if result.returncode and _UNKNOWN not in result.stderr:
        raise HostError("slurm", errors.problem("silent", "slurm", text=message_of(result), seconds=0.0))
    return {job: QueuedJob("GONE") for job in jobs} | read_rows(result.stdout)


class JobQueue:
    """Polls the states of jobs in one thread, which ends when no jobs are left. All hosts share the queue."""

    def __init__(self, query: Callable[[Sequence[int]], dict[int, QueuedJob]] = query_jobs) -> None:
        self._query_jobs = query
        self._news = threading.Condition()
        self._jobs: dict[int, QueuedJob] = {}
        self._thread: threading.Thread | None = None
        self._pause = SOONEST_S
        self._silent_since: float | None = None
        self._trouble = ""
        self.rounds = 0
        """Number of queries so far."""

    def follow(self, job: int) -> None:
        """Start polling this job."""
        with self._news:
            self._jobs.setdefault(job, QueuedJob("PENDING"))
            self._hurry()
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="asct-slurm-queue", daemon=True)
                self._thread.start()

    def forget(self, job: int) -> None:
        """Stop polling this job."""
        with self._news:
            self._jobs.pop(job, None)
            self._news.notify_all()

    def latest(self, job: int) -> QueuedJob:
        """Return the state of the job at the last query."""
        with self._news:
            return self._jobs.get(job, QueuedJob("GONE"))

    def change(self, host: str, job: int, known: QueuedJob, timeout_s: float) -> QueuedJob:
        """Wait until the state of the job differs from `known` or the timeout expires, then return the job's state.

        Raises HostLost if Slurm does not respond.
        """
        until = time.monotonic() + timeout_s
        with self._news:
            while self._jobs.get(job, QueuedJob("GONE")) == known and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
                self._refuse_silence(host)
            return self._jobs.get(job, QueuedJob("GONE"))

    def fresh(self, host: str, job: int) -> QueuedJob:
        """Return the job's state according to a query that starts after this call."""
        with self._news:
            needed = self.rounds + 2  # one query may already be running
            self._hurry()
            while self.rounds < needed and job in self._jobs:
                self._hurry()
                self._news.wait(SOONEST_S)
                self._refuse_silence(host)
            return self._jobs.get(job, QueuedJob("GONE"))

    def _refuse_silence(self, host: str) -> None:
        silent = time.monotonic() - self._silent_since if self._silent_since is not None else 0.0
        if silent > SILENCE_S:
            raise HostLost(host, errors.problem("silent", host, text=self._trouble, seconds=silent))

    def hurry(self) -> None:
        """Return to the shortest polling interval, because a change is imminent."""
        with self._news:
            self._hurry()

    def _hurry(self) -> None:
        self._pause = SOONEST_S
        self._news.notify_all()

    def _poll(self) -> None:
        while True:
            with self._news:
                jobs = [job for job, queued in self._jobs.items() if not queued.over]
                if not self._jobs:
                    self._thread = None
                    return
            found, trouble = {}, ""
            try:
                found = self._query_jobs(jobs) if jobs else {}
            except HostError as error:
                trouble = error.diagnostics[0].message
            with self._news:
                self._note(found, trouble)
                self._news.notify_all()
                self._news.wait(self._pause)

    def _note(self, found: Mapping[int, QueuedJob], trouble: str) -> None:
        self.rounds += 1
        self._trouble = trouble
        if trouble:
            self._silent_since = self._silent_since or time.monotonic()
            return
        self._silent_since = None
        changes = {job: queued for job, queued in found.items() if job in self._jobs and self._jobs[job] != queued}
        self._jobs.update(changes)
        self._pause = SOONEST_S if changes else min(2 * self._pause, RAREST_S)


QUEUE = JobQueue()
"""The job queue of this process."""
