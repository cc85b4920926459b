"""Jobs of Slurm: the commands that submit, cancel and list them, and the batch script that holds the node."""

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

COMMAND_S = 60.0
_LONGEST = 1000
"""Characters of what Slurm says that a message has room for."""
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
_PREFIXES = ("SLURM_", "SBATCH_", "SRUN_", "SQUEUE_", "SCANCEL_", "SALLOC_", "PMI_", "PMIX_")


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """This process's variables without those that would change what Slurm's commands do, as inside of another job."""
    return {name: value for name, value in own.items() if name in _KEPT or not name.startswith(_PREFIXES)}


def command(host: str, argv: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm, `text` on its standard input. Raises HostError when it is not there or does not end."""
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
        raise HostError(host, errors.not_here(host, argv[0])) from error
    except subprocess.TimeoutExpired as error:
        raise HostError(host, errors.silent(host, f"`{argv[0]}` did not end", COMMAND_S)) from error
    except OSError as error:  # no process or memory left here
        raise HostError(host, errors.silent(host, f"`{argv[0]}`: {error.strerror}", 0.0)) from error


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed says, in a line."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    words = [line.partition(": ")[2].removeprefix("error: ") or line for line in lines]
    return "; ".join(words)[:_LONGEST] or "no reason is given"


BATCH = Path(__file__).with_name("batch.sh")
STEP = Path(__file__).with_name("step.sh")
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
class SbatchRequest:
    """What the plan asks for. `node` is a node's name, or empty: whichever Slurm chooses."""

    partition: str = ""
    account: str = ""
    constraint: str = ""
    node: str = ""
    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: HostSpec) -> SbatchRequest:
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
class JobOrder:
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
    request: SbatchRequest, name: str, comment: str, seconds: float, after: JobOrder, exclude: Sequence[str] = ()
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
        raise HostError(host, errors.refused(host, said(done)))
    return Allocation(int(number), token)


def cancel(host: str, jobs: Sequence[int]) -> None:
    """End jobs; those that are over already are passed over. Raises HostError when Slurm does not do it."""
    if not jobs:
        return
    done = command(host, ["scancel", "--quiet", *map(str, jobs)])
    if done.returncode and "Invalid job id" not in done.stderr:
        raise HostError(host, errors.silent(host, said(done), 0.0))


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


SOONEST_S = 0.5
RAREST_S = 10.0
"""Between two looks: twice as long each time that nothing has changed."""
SILENCE_S = 300.0
"""How long slurmctld may be away: it is restarted, jobs go on meanwhile."""
OVER = frozenset(
    {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
        "REVOKED", "TIMEOUT", "GONE",
    }
)  # fmt: skip
_UNKNOWN = "Invalid job id"


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job at the last look. `node` is empty until it has one."""

    state: str
    node: str = ""
    reason: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER


def read_rows(text: str) -> dict[int, QueuedJob]:
    """Lines of `squeue --format=%A|%T|%N|%r`; others are passed over."""
    found = {}
    for line in text.splitlines():
        number, *rest = line.strip().split("|", 3)
        if _NUMBER.fullmatch(number) and len(rest) == 3:
            found[int(number)] = QueuedJob(rest[0], rest[1], rest[2])
    return found


def look(jobs: Sequence[int], names: Sequence[str] = ()) -> dict[int, QueuedJob]:
    """The state of jobs now; one that Slurm does not know any more is GONE, and with `names` one that has another name.
    Raises HostError when Slurm is silent."""
    ids = ",".join(map(str, jobs))
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={ids}", "--format=%A|%T|%N|%r"]
    argv += [f"--name={','.join(names)}"] if names else []
    done = command("slurm", argv)
    if done.returncode and _UNKNOWN not in done.stderr:
        raise HostError("slurm", errors.silent("slurm", said(done), 0.0))
    return {job: QueuedJob("GONE") for job in jobs} | read_rows(done.stdout)


class JobQueue:
    """Follows jobs from one thread, which ends when nothing is followed. Used by the threads of all hosts."""

    def __init__(self, looking: Callable[[Sequence[int]], dict[int, QueuedJob]] = look) -> None:
        self._look = looking
        self._news = threading.Condition()
        self._jobs: dict[int, QueuedJob] = {}
        self._thread: threading.Thread | None = None
        self._pause = SOONEST_S
        self._silent_since: float | None = None
        self._trouble = ""
        self.rounds = 0
        """How often the queue was asked."""

    def follow(self, job: int) -> None:
        """Look at this job from now on."""
        with self._news:
            self._jobs.setdefault(job, QueuedJob("PENDING"))
            self._hurry()
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="asct-slurm-queue", daemon=True)
                self._thread.start()

    def forget(self, job: int) -> None:
        """Look at this job no more."""
        with self._news:
            self._jobs.pop(job, None)
            self._news.notify_all()

    def seen(self, job: int) -> QueuedJob:
        """The job as it was at the last look."""
        with self._news:
            return self._jobs.get(job, QueuedJob("GONE"))

    def change(self, host: str, job: int, known: QueuedJob, timeout_s: float) -> QueuedJob:
        """Wait until the job is not as `known` any more, or the time is over. Raises HostLost when Slurm is silent."""
        until = time.monotonic() + timeout_s
        with self._news:
            while self._jobs.get(job, QueuedJob("GONE")) == known and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
                self._refuse_silence(host)
            return self._jobs.get(job, QueuedJob("GONE"))

    def fresh(self, host: str, job: int) -> QueuedJob:
        """The job at a look that begins after this call."""
        with self._news:
            wanted = self.rounds + 2  # one may be under way
            self._hurry()
            while self.rounds < wanted and job in self._jobs:
                self._hurry()
                self._news.wait(SOONEST_S)
                self._refuse_silence(host)
            return self._jobs.get(job, QueuedJob("GONE"))

    def _refuse_silence(self, host: str) -> None:
        silent = time.monotonic() - self._silent_since if self._silent_since is not None else 0.0
        if silent > SILENCE_S:
            raise HostLost(host, errors.silent(host, self._trouble, silent))

    def hurry(self) -> None:
        """Something is about to change: look soon, and often for a while."""
        with self._news:
            self._hurry()

    def _hurry(self) -> None:
        self._pause = SOONEST_S
        self._news.notify_all()

    def _poll(self) -> None:
        while True:
            with self._news:
                jobs = [job for job, seen in self._jobs.items() if not seen.over]
                if not self._jobs:
                    self._thread = None
                    return
            found, trouble = self._asked(jobs)
            with self._news:
                self._note(found, trouble)
                self._news.notify_all()
                self._news.wait(self._pause)

    def _asked(self, jobs: Sequence[int]) -> tuple[dict[int, QueuedJob], str]:
        try:
            return (self._look(jobs) if jobs else {}), ""
        except HostError as error:
            return {}, error.diagnostics[0].message

    def _note(self, found: Mapping[int, QueuedJob], trouble: str) -> None:
        self.rounds += 1
        self._trouble = trouble
        if trouble:
            self._silent_since = self._silent_since or time.monotonic()
            return
        self._silent_since = None
        changes = {job: seen for job, seen in found.items() if job in self._jobs and self._jobs[job] != seen}
        self._jobs.update(changes)
        self._pause = SOONEST_S if changes else min(2 * self._pause, RAREST_S)


QUEUE = JobQueue()
"""The one of this process."""
