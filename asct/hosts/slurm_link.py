"""Into a job of Slurm: every command is a step of it (srun), which the batch script runs as a child of its own."""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager
from itertools import count

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts import problems, slurm_problems
from asct.hosts.slurm_files import SlurmFiles
from asct.hosts.slurm_job import Allocation, step_arguments
from asct.hosts.slurm_process import StepChannel
from asct.hosts.slurm_queue import Queue, Seen
from asct.hosts.watch import Watch

CONNECT_S = 90.0
"""Time for the first step: the prolog of the job may still run."""
END_S = 60.0
"""Time for a job that completes to be over."""


class SlurmLink:
    """Link over steps of one job at a time; `move` says which."""

    breaks_silently = True

    def __init__(self, name: str, queue: Queue) -> None:
        self.place = name
        self._name = name
        self._queue = queue
        self._allocation: Allocation | None = None
        self._numbers = count(1)
        self._channels: set[StepChannel] = set()
        self._lock = threading.Lock()
        self._files: SlurmFiles | None = None
        self._watch: Watch | None = None

    def move(self, allocation: Allocation, node: str) -> None:
        """From the next `connect` on the steps are of this job."""
        self._allocation = allocation
        self.place = f"{self._name} (job {allocation.job} on {node})"

    def connect(self, *, files: bool = True) -> None:
        allocation = self._given()
        seen = self._settled(allocation.job)
        if seen.over:
            raise ConnectError(self._name, slurm_problems.ended(self._name, allocation.job, seen.state))
        self._watch = Watch(self._name, self.cut)
        self._watch.start()
        try:
            with self.within(CONNECT_S, "starting a step of the job"):
                self._files = SlurmFiles(self._name, self.place, self.start)
        except HostError as error:
            self.close()
            raise ConnectError(self._name, *error.diagnostics) from error

    def _settled(self, job: int) -> Seen:
        """The job as it is now; one that is about to be over has ended when this returns."""
        until = time.monotonic() + END_S
        seen = self._queue.fresh(self._name, job)
        while seen.state == "COMPLETING" and time.monotonic() < until:
            seen = self._queue.change(self._name, job, seen, END_S)
        return seen

    def _given(self) -> Allocation:
        if self._allocation is None:
            raise HostLost(self._name, problems.connection_lost(self.place, "idle", "it has no job"))
        return self._allocation

    def close(self) -> None:
        if self._watch is not None:
            self._watch.stop()
        self._files = None
        for channel in self._open_channels():
            channel.close()

    def cut(self) -> None:
        for channel in self._open_channels():
            channel.kill()

    def _open_channels(self) -> list[StepChannel]:
        with self._lock:
            return list(self._channels)

    def alive(self) -> bool:
        watch = self._watch
        return self._files is not None and watch is not None and not watch.fired and self._files.alive()

    def within(self, seconds: float, doing: str) -> AbstractContextManager[None]:
        if self._watch is None:
            raise HostLost(self._name, problems.connection_lost(self.place, doing, "not connected"))
        return self._watch.within(self.place, seconds, doing)

    def extend(self, seconds: float) -> None:
        if self._watch is not None:
            self._watch.deadline = time.monotonic() + seconds

    def start(self, command: str) -> StepChannel:
        number = f"{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        channel = StepChannel(self._name, step_arguments(self._given(), number, command), self._ended)
        with self._lock:
            self._channels.add(channel)
        return channel

    def _ended(self, channel: StepChannel) -> None:
        with self._lock:
            self._channels.discard(channel)

    @property
    def files(self) -> SlurmFiles:
        if self._files is None:
            raise HostLost(self._name, problems.connection_lost(self.place, "idle"))
        return self._files
