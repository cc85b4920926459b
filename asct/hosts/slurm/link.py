"""A Link into a Slurm job. Each command is a step (srun), which the batch script starts as its child."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import count

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts import errors
from asct.hosts.shell import ProcessChannel, ShellLink
from asct.hosts.slurm import errors as slurm_errors
from asct.hosts.slurm.jobs import Allocation, JobQueue, QueuedJob, environment, step_arguments

END_S = 60.0
"""Seconds within which a job in the state COMPLETING must end."""
_NOISE = b"srun: "
"""Prefix of srun's own lines on standard error. srun and the command share that stream."""
_LONGEST_LINE = 1 << 16


class SlurmLink(ShellLink):
    """A Link that runs commands as steps of one job at a time; `move` selects the job."""

    def __init__(self, name: str, queue: JobQueue) -> None:
        super().__init__(name, self._step)
        self._queue = queue
        self._allocation: Allocation | None = None
        self._numbers = count(1)

    def move(self, allocation: Allocation, node: str) -> None:
        """Use this job, starting with the next call to `connect`."""
        self._allocation = allocation
        self.label = f"{self._name} (job {allocation.job} on {node})"

    def connect(self) -> None:
        allocation = self._require_allocation()
        current = self._settled(allocation.job)
        if current.over:
            raise ConnectError(self._name, slurm_errors.ended(self._name, allocation.job, current.state))
        super().connect()

    def _settled(self, job: int) -> QueuedJob:
        """Return the current state of a job. If it is completing, wait until it has ended."""
        until = time.monotonic() + END_S
        current = self._queue.fresh(self._name, job)
        while current.state == "COMPLETING" and time.monotonic() < until:
            current = self._queue.change(self._name, job, current, END_S)
        return current

    def _require_allocation(self) -> Allocation:
        if self._allocation is None:
            raise HostLost(self._name, errors.connection_lost(self.label, "idle", "it has no job"))
        return self._allocation

    def _step(self, command: str) -> list[str]:
        return step_arguments(self._require_allocation(), f"{os.getpid()}-{id(self):x}-{next(self._numbers)}", command)

    def open_channel(self, argv: Sequence[str]) -> ProcessChannel:
        return StepChannel(argv, environment(os.environ))

    def not_started(self, program: str, error: OSError) -> HostError:
        if isinstance(error, FileNotFoundError):
            return HostError(self._name, slurm_errors.problem("not_here", self._name, program=program))
        return HostError(
            self._name, slurm_errors.problem("silent", self._name, text=f"`{program}`: {error.strerror}", seconds=0.0)
        )


class StepChannel(ProcessChannel):
    """A Channel over srun, which forwards the command's standard streams."""

    _half = b""

    def receive_error(self) -> bytes:
        *lines, half = (self._half + super().receive_error()).splitlines(keepends=True) or [b""]
        if self._err.closed or half.endswith(b"\n") or len(half) > _LONGEST_LINE:
            lines, half = [*lines, half], b""
        self._half = half
        return b"".join(line for line in lines if not line.startswith(_NOISE))

    def message(self) -> str:
        lines = (self._half + super().receive_error()).decode("utf-8", "replace").splitlines()
        return "; ".join(line.removeprefix("srun: ").removeprefix("error: ") for line in lines)[: errors.QUOTED]
