"""The Host protocol over Slurm jobs, and the state saved for `asct resume`."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import AsctError, ConnectError, HostError, HostLost
from asct.hosts.base import CommandResult, JobRequest, SessionSpec
from asct.hosts.remote import RemoteHost
from asct.hosts.slurm import errors
from asct.hosts.slurm.jobs import (
    FIRST_JOB_S,
    QUEUE,
    Allocation,
    JobOrder,
    JobQueue,
    QueuedJob,
    SbatchRequest,
    arguments,
    cancel,
    job_name,
    order,
    query_jobs,
    submit,
)
from asct.hosts.slurm.link import SlurmLink
from asct.plan.model import HostSpec
from asct.resources import data

CHECK_S = 1.0
"""Interval, in seconds, at which a waiting host checks whether the run was interrupted."""
END_S = 60.0
"""Seconds within which a job must end after it is told to do so."""
_NODES: dict[str, str] = {}
"""Maps each node to the host that uses it in this process. This ensures that two hosts in a plan are never the same
machine."""
_NODES_LOCK = threading.Lock()


def _claim(node: str, host: str) -> bool:
    """Reserve a node for a host. Returns False if another host has reserved it."""
    with _NODES_LOCK:
        return _NODES.setdefault(node, host) == host


class SlurmHost(RemoteHost):
    """The Host protocol over Slurm jobs on one node.

    A short first job determines the node and is used for facts, checks and builds. All later jobs request the same
    node, so that facts and measurements describe the same machine. These jobs are submitted together, and each starts
    after the previous one has ended. asct ends a job only when the next one is about to begin, so that the node remains
    available for commands between measurements.
    """

    def __init__(self, spec: HostSpec, queue: JobQueue = QUEUE) -> None:
        self._steps = SlurmLink(spec.name, queue)
        super().__init__(spec.name, "slurm", spec.workdir, self._steps)
        self._queue = queue
        self._request = SbatchRequest.of(spec)
        self._file: Path | None = None
        self._jobs_name = ""
        self._memory = SlurmState()
        self._planned: dict[str, Allocation] = {}
        self._ok = True
        self._resumed = False
        self._over = threading.Event()
        self._notice: Callable[[Diagnostic], None] = lambda _: None

    @property
    def resumed(self) -> bool:
        return self._resumed

    # ---- the session

    def open(self, session: SessionSpec | None = None) -> None:
        run = job_name(session.run if session else "look", self.name)
        self._jobs_name = f"{run}-{secrets.token_hex(4)}"
        self._over.clear()
        if session is not None:
            self._file = state_file(session.run, self.name)
            self._memory = load_state(self._file) or SlurmState()
            self._notice = session.notice
        try:
            self._take_up()
            self._memory.names.append(self._jobs_name)
            if self._memory.held is None:
                self._find_node()
            super().open(session)
        except (AsctError, KeyboardInterrupt) as error:
            self.close()
            if isinstance(error, HostError) and not isinstance(error, ConnectError):
                raise ConnectError(self.name, *error.diagnostics) from error
            raise
        self._resumed = super().resumed
        self._memory.work = self.work
        self._save_state()

    def _take_up(self) -> None:
        """Resume the job that holds the node if an earlier part of the run left one behind, and cancel the waiting
        jobs."""
        memory = self._memory
        known = [*memory.waiting, *([memory.held.job] if memory.held else [])]
        ours = query_jobs(known, memory.names) if known and memory.names else {}
        live = {job for job, queued in ours.items() if not queued.over}
        cancel(self.name, [job for job in memory.waiting if job in live])
        memory.waiting = []
        if memory.held is None or memory.held.job not in live:
            memory.held = None
            return
        self._queue.follow(memory.held.job)
        queued = self._queue.fresh(self.name, memory.held.job)
        if queued.state == "RUNNING" and _claim(queued.node, self.name):
            self._hold(memory.id, memory.held, queued.node)
        else:
            self._queue.forget(memory.held.job)
            cancel(self.name, [memory.held.job])
            memory.held = None

    def _find_node(self) -> None:
        """Submit the first job, or resubmit a job that was lost, on a node that no other host in this run uses."""
        memory, what = self._memory, self._memory.id or "look"
        memory.node = memory.node or self._request.node
        while True:
            with _NODES_LOCK:
                others = sorted(node for node, host in _NODES.items() if host != self.name)
            allocation = self._submit(what, memory.seconds.get(memory.id, FIRST_JOB_S), JobOrder(), others)
            memory.held = allocation
            self._save_state()
            node = self._await(allocation, self._over)
            if self._request.node or _claim(node, self.name):
                self._hold(memory.id, allocation, node)
                return
            self._end_allocation()
            memory.node = ""

    def _submit(self, what: str, seconds: float, after: JobOrder, exclude: Sequence[str] = ()) -> Allocation:
        """Submit a job for the node of this host or, if the host does not have one yet, for any node."""
        comment = f"asct: {what} on {self.name}"
        request = replace(self._request, node=self._memory.node)
        allocation = submit(self.name, arguments(request, self._jobs_name, comment, seconds, after, exclude))
        self._queue.follow(allocation.job)
        return allocation

    def _await_or_cancel(self, allocation: Allocation, given_up: threading.Event) -> str:
        """Wait for a job as `_await` does, but cancel the job if it does not start."""
        try:
            return self._await(allocation, given_up)
        except (HostError, KeyboardInterrupt):
            cancel(self.name, [allocation.job])
            raise

    def _await(self, allocation: Allocation, given_up: threading.Event) -> str:
        """Wait for a job to start, and return its node. Raises HostLost if the job cannot start or if `given_up` is
        set."""
        job, reason = QueuedJob("PENDING"), ""
        while job.state != "RUNNING":
            if given_up.is_set():
                raise HostLost(self.name, errors.problem("given_up", self.name, job=allocation.job))
            if job.over:
                raise HostLost(self.name, errors.ended(self.name, allocation.job, job.state))
            if job.reason in data(__file__, "words.yaml")["hopeless"]:
                raise HostLost(self.name, errors.problem("hopeless", self.name, job=allocation.job, reason=job.reason))
            if job.reason not in ("", "None", "Dependency", reason):
                reason = job.reason
                self._notice(errors.problem("waiting", self.name, job=allocation.job, reason=reason))
            job = self._queue.change(self.name, allocation.job, job, CHECK_S)
        return job.node

    def _hold(self, job_id: str, allocation: Allocation, node: str) -> None:
        memory = self._memory
        memory.held, memory.id, memory.node, self._ok = allocation, job_id, node, True
        memory.waiting = [one.job for one in self._planned.values()]
        self._steps.move(allocation, node)
        self._save_state()

    def _save_state(self) -> None:
        if self._file is not None:
            save_state(self._file, self._memory)

    # ---- jobs

    def plan_jobs(self, requests: Sequence[JobRequest]) -> None:
        allocation = self._memory.held
        done = {self._memory.id: allocation} if allocation is not None else {}
        last = allocation
        self._memory.seconds = {request.id: request.seconds for request in requests}
        for request in requests:
            if request.id in done:
                continue
            needed = tuple(done[one].job for one in request.needs if one in done)
            after = JobOrder(ended=(last.job,) if last is not None else (), ok=needed)
            try:
                last = self._submit(request.id, request.seconds, after)
            except HostError:
                break  # there may be a limit on jobs per user, so the job is submitted again when it is due
            self._planned[request.id] = done[request.id] = last
        self._memory.waiting = [one.job for one in self._planned.values()]
        self._save_state()

    def begin_job(self, job_id: str) -> None:
        if self._memory.held is not None and self._memory.id == job_id:
            return
        for skipped in list(itertools.takewhile(lambda one: one != job_id, self._planned)):
            self.end_job(skipped, ok=False)
        allocation = self._planned.pop(job_id, None)
        if allocation is None:
            allocation = self._submit(job_id, self._memory.seconds.get(job_id, FIRST_JOB_S), JobOrder())
        self._steps.close()
        self._end_allocation()
        self._hold(job_id, allocation, self._await_or_cancel(allocation, self._over))
        self._session.reattach()
        self._memory.work = self.work
        self._save_state()

    def end_job(self, job_id: str, *, ok: bool) -> None:
        unused = self._planned.pop(job_id, None)
        if unused is not None:
            self._queue.forget(unused.job)
            cancel(self.name, [unused.job])
        elif job_id == self._memory.id:
            self._ok = ok

    def _end_allocation(self) -> None:
        """End the job that holds the node. If its benchmark was measured, the job ends successfully, so that jobs that
        depend on it may run."""
        allocation, self._memory.held = self._memory.held, None
        if allocation is None:
            return
        job = self._queue.latest(allocation.job)
        if job.state == "RUNNING":
            order(self.name, allocation, "end 0" if self._ok else "end 1")
            self._queue.hurry()
            while not (now := self._queue.change(self.name, allocation.job, job, END_S)).over and now != job:
                job = now
        if not self._queue.latest(allocation.job).over:
            cancel(self.name, [allocation.job])
        self._queue.forget(allocation.job)

    # ---- the end

    def interrupt(self) -> None:
        self._over.set()
        super().interrupt()

    def probe(self, text: str, arguments: Sequence[str], *, timeout_s: float = 60.0) -> CommandResult:
        """Run the script in a separate job, because a node can only be reached through a job."""
        self.open()
        try:
            return self.execute(["sh", "-s", *arguments], timeout_s=timeout_s, stdin=text)
        finally:
            self.close()

    def _regain_node(self) -> None:
        """If the run was interrupted between two jobs, submit a short job, because nothing on the node can be removed
        without a job. The wait for the job ends after END_S. The engine keeps interrupting a host until it is closed;
        these interruptions must not shorten the wait."""
        if not self.work or self._memory.held is not None:
            return
        expired = threading.Event()
        deadline = threading.Timer(END_S, expired.set)
        deadline.start()
        try:
            with contextlib.suppress(AsctError):
                allocation = self._submit("clean up", FIRST_JOB_S, JobOrder())
                self._hold(self._memory.id, allocation, self._await_or_cancel(allocation, expired))
                self._session.reattach()
        finally:
            deadline.cancel()

    def _cancel_planned(self) -> None:
        """Cancel the jobs that have not started. Otherwise, the next one would start and take the node."""
        left = [one.job for one in self._planned.values()]
        self._planned = {}
        with contextlib.suppress(AsctError):  # Slurm does not respond; the jobs will end on their own
            cancel(self.name, left)
        for job in left:
            self._queue.forget(job)

    def close(self) -> Diagnostic | None:
        self._cancel_planned()
        self._regain_node()
        tidy = self._link.alive() if self.work else not self._memory.work
        left = super().close()
        self._steps.close()
        with contextlib.suppress(AsctError):
            self._end_allocation()
        with _NODES_LOCK:
            for node in [node for node, host in _NODES.items() if host == self.name]:
                del _NODES[node]
        self._memory.waiting = []
        if self._file is not None and tidy:
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)
        else:
            self._save_state()
        self._file = None
        return left


@dataclass(slots=True)
class SlurmState:
    """The work folder and the submitted Slurm jobs of a host. `held` is the Slurm job that holds the node for the run's
    job `id`."""

    node: str = ""
    work: str = ""
    id: str = ""
    held: Allocation | None = None
    waiting: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """The expected duration of each job, in seconds."""
    names: list[str] = field(default_factory=list)
    """The names of the jobs, which are needed because Slurm reuses job numbers."""


def state_file(run: str, host: str) -> Path:
    """Return the path of a host's state file for a run. The file name includes a hash to distinguish hosts with the
    same shortened job name."""
    name = f"{job_name(run, host)}-{hashlib.sha256(f'{run}/{host}'.encode()).hexdigest()[:12]}"
    base = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return folder / "asct" / "slurm" / f"{name}.json"


def load_state(file: Path) -> SlurmState | None:
    """Return the saved state, or None if there is none or it cannot be read."""
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
        held = body.pop("held")
        return SlurmState(**body, held=Allocation(**held) if held else None)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def save_state(file: Path, memory: SlurmState) -> None:
    """Save the state so that only this account can read it.

    If this fails, the measurement continues, but the run cannot be resumed.
    """
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(asdict(memory), out)
        partial.replace(file)
