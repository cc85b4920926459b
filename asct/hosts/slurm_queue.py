"""The queue of Slurm as asct sees it: one `squeue` call for all jobs of this process, as long as somebody waits."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from asct.errors import HostError, HostLost
from asct.hosts import slurm_problems as problems
from asct.hosts.slurm_process import command, said

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
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Seen:
    """A job at the last look. `node` is empty until it has one."""

    state: str
    node: str = ""
    reason: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER


def read_rows(text: str) -> dict[int, Seen]:
    """Lines of `squeue --format=%A|%T|%N|%r`; others are passed over."""
    found = {}
    for line in text.splitlines():
        number, *rest = line.strip().split("|", 3)
        if _NUMBER.fullmatch(number) and len(rest) == 3:
            found[int(number)] = Seen(rest[0], rest[1], rest[2])
    return found


def look(jobs: Sequence[int], names: Sequence[str] = ()) -> dict[int, Seen]:
    """The state of jobs now; one that Slurm does not know any more is GONE, and with `names` one that has another name.
    Raises HostError when Slurm is silent."""
    ids = ",".join(map(str, jobs))
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={ids}", "--format=%A|%T|%N|%r"]
    argv += [f"--name={','.join(names)}"] if names else []
    done = command("slurm", argv)
    if done.returncode and _UNKNOWN not in done.stderr:
        raise HostError("slurm", problems.silent("slurm", said(done), 0.0))
    return {job: Seen("GONE") for job in jobs} | read_rows(done.stdout)


class Queue:
    """Follows jobs from one thread, which ends when nothing is followed. Used by the threads of all hosts."""

    def __init__(self, looking: Callable[[Sequence[int]], dict[int, Seen]] = look) -> None:
        self._look = looking
        self._news = threading.Condition()
        self._jobs: dict[int, Seen] = {}
        self._thread: threading.Thread | None = None
        self._pause = SOONEST_S
        self._silent_since: float | None = None
        self._trouble = ""
        self.rounds = 0
        """How often the queue was asked."""

    def follow(self, job: int) -> None:
        """Look at this job from now on."""
        with self._news:
            self._jobs.setdefault(job, Seen("PENDING"))
            self._hurry()
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="asct-slurm-queue", daemon=True)
                self._thread.start()

    def forget(self, job: int) -> None:
        """Look at this job no more."""
        with self._news:
            self._jobs.pop(job, None)
            self._news.notify_all()

    def seen(self, job: int) -> Seen:
        """The job as it was at the last look."""
        with self._news:
            return self._jobs.get(job, Seen("GONE"))

    def change(self, host: str, job: int, known: Seen, timeout_s: float) -> Seen:
        """Wait until the job is not as `known` any more, or the time is over. Raises HostLost when Slurm is silent."""
        until = time.monotonic() + timeout_s
        with self._news:
            while self._jobs.get(job, Seen("GONE")) == known and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
                self._refuse_silence(host)
            return self._jobs.get(job, Seen("GONE"))

    def fresh(self, host: str, job: int) -> Seen:
        """The job at a look that begins after this call."""
        with self._news:
            wanted = self.rounds + 2  # one may be under way
            self._hurry()
            while self.rounds < wanted and job in self._jobs:
                self._hurry()
                self._news.wait(SOONEST_S)
                self._refuse_silence(host)
            return self._jobs.get(job, Seen("GONE"))

    def _refuse_silence(self, host: str) -> None:
        silent = time.monotonic() - self._silent_since if self._silent_since is not None else 0.0
        if silent > SILENCE_S:
            raise HostLost(host, problems.silent(host, self._trouble, silent))

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

    def _asked(self, jobs: Sequence[int]) -> tuple[dict[int, Seen], str]:
        try:
            return (self._look(jobs) if jobs else {}), ""
        except HostError as error:
            return {}, error.diagnostics[0].message

    def _note(self, found: Mapping[int, Seen], trouble: str) -> None:
        self.rounds += 1
        self._trouble = trouble
        if trouble:
            self._silent_since = self._silent_since or time.monotonic()
            return
        self._silent_since = None
        changes = {job: seen for job, seen in found.items() if job in self._jobs and self._jobs[job] != seen}
        self._jobs.update(changes)
        self._pause = SOONEST_S if changes else min(2 * self._pause, RAREST_S)


QUEUE = Queue()
"""The one of this process."""
