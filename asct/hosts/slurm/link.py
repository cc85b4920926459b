"""Link into a Slurm job: every command is a step (srun), which the batch script runs as its own child."""

from __future__ import annotations

import os
import posixpath
import re
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts import errors, script
from asct.hosts.downloads import save
from asct.hosts.link import TimedLink
from asct.hosts.processes import ProcessChannel
from asct.hosts.slurm import errors as slurm_errors
from asct.hosts.slurm.jobs import Allocation, JobQueue, QueuedJob, environment, step_arguments

CONNECT_S = 90.0
"""Seconds for the first step: the prolog of the job may still be running."""
END_S = 60.0
"""Seconds for a completing job to end."""


class SlurmLink(TimedLink):
    """Link over steps of one job at a time, which `move` selects."""

    def __init__(self, name: str, queue: JobQueue) -> None:
        super().__init__(name, self.cut)
        self._queue = queue
        self._allocation: Allocation | None = None
        self._numbers = count(1)
        self._channels: set[StepChannel] = set()
        self._lock = threading.Lock()
        self._files: SlurmFiles | None = None

    def move(self, allocation: Allocation, node: str) -> None:
        """Use this job from the next `connect` on."""
        self._allocation = allocation
        self.label = f"{self._name} (job {allocation.job} on {node})"

    def connect(self, *, files: bool = True) -> None:
        allocation = self._given()
        seen = self._settled(allocation.job)
        if seen.over:
            raise ConnectError(self._name, slurm_errors.ended(self._name, allocation.job, seen.state))
        self.watch()
        try:
            with self.within(CONNECT_S, "starting a step of the job"):
                self._files = SlurmFiles(self._name, self.label, self.start)
        except HostError as error:
            self.close()
            raise ConnectError(self._name, *error.diagnostics) from error

    def _settled(self, job: int) -> QueuedJob:
        """The current state of a job; waits for a completing job to end."""
        until = time.monotonic() + END_S
        seen = self._queue.fresh(self._name, job)
        while seen.state == "COMPLETING" and time.monotonic() < until:
            seen = self._queue.change(self._name, job, seen, END_S)
        return seen

    def _given(self) -> Allocation:
        if self._allocation is None:
            raise HostLost(self._name, errors.connection_lost(self.label, "idle", "it has no job"))
        return self._allocation

    def close(self) -> None:
        self.unwatch()
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
        return self._files is not None and not self.late and self._files.alive()

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
            raise HostLost(self._name, errors.connection_lost(self.label, "idle"))
        return self._files


_NOISE = b"srun: "
"""Prefix of srun's own lines on the standard error that it shares with the command."""
_LONGEST = 1000
"""Characters of an srun message that a diagnostic quotes."""


class StepChannel(ProcessChannel):
    """Channel over srun, which forwards the standard streams of the command. `on_end` is called when it ends."""

    def __init__(self, host: str, argv: Sequence[str], on_end: Callable[[StepChannel], None]) -> None:
        try:
            super().__init__(argv, environment(os.environ))
        except FileNotFoundError as error:
            raise HostError(host, slurm_errors.not_here(host, argv[0])) from error
        except OSError as error:  # no process or memory left, or the command line is too long
            raise HostError(host, slurm_errors.silent(host, f"`{argv[0]}`: {error.strerror}", 0.0)) from error
        self._on_end = on_end
        self._half = b""

    def receive(self, timeout_s: float) -> bytes:
        data = super().receive(timeout_s)
        if not data:
            self.close()
        return data

    def receive_error(self) -> bytes:
        *lines, half = (self._half + super().receive_error()).splitlines(keepends=True) or [b""]
        if self._err.closed or half.endswith(b"\n") or len(half) > _BLOCK:
            lines, half = [*lines, half], b""
        self._half = half
        return b"".join(line for line in lines if not line.startswith(_NOISE))

    def trouble(self) -> str:
        """The messages of srun itself, for a channel that failed to start."""
        lines = (self._half + super().receive_error()).decode("utf-8", "replace").splitlines()
        return "; ".join(line.removeprefix("srun: ").removeprefix("error: ") for line in lines)[:_LONGEST]

    def close(self) -> None:
        super().close()
        self._on_end(self)


SERVER = Path(__file__).with_name("files.sh")
_TAIL_BYTES = 1 << 16
_BLOCK = 1 << 16
_PAUSE_S = 1.0
_SIZE = re.compile("[0-9]{1,15}")


class SlurmFiles:
    """FileTransfer over a channel that runs files.sh; each file sent uses a channel of its own.

    All files are read on the node, because changes in a shared folder appear on this machine with a delay.
    """

    def __init__(self, host: str, place: str, start: Callable[[str], StepChannel]) -> None:
        self._host = host
        self._place = place
        self._start = start
        self._channel = start(SERVER.read_text(encoding="utf-8"))
        self._rest = b""
        word, _ = self._reply()
        self._done((word, 0))

    def alive(self) -> bool:
        """Whether its step is running."""
        return self._channel.running()

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        word, size = self._request("fetch", source, str(max_bytes), limit=max_bytes)
        if word == "odd":
            raise HostError(self._host, errors.not_regular(self._host, source))
        if word == "missing":
            raise HostError(self._host, errors.file_failed(self._host, source, "No such file or directory"))
        if word == "large":
            return False
        blocks = self._content(size)
        try:
            save(target, blocks)
        finally:
            for _ in blocks:  # read the rest even if writing failed
                pass
        return True

    fetch_regular = fetch

    def tail(self, path: str, offset: int) -> bytes:
        _, size = self._request("more", path, str(offset), str(_TAIL_BYTES))
        return b"".join(self._content(size))

    def exists(self, path: str) -> bool:
        return self._request("exists", path)[0] == "there"

    def make_folder(self, path: str) -> bool:
        return self._done(self._request("folder", path)) == "ok"

    def write(self, target: str, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        self._done(self._request("text", target, _partial(target), text))

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        self._done(self._request("folder", posixpath.dirname(target)))
        size = source.stat().st_size
        channel = self._start(f"umask 077; exec cat >{shlex.quote(partial)}")
        try:
            with source.open("rb") as data:
                while block := data.read(_BLOCK):
                    channel.send(block)
            channel.finish_input()
            while self._received(channel):
                pass
        finally:
            channel.close()
        self._done(self._request("settle", target, partial, f"{mode:o}", str(size)))

    # ---- requests and replies

    def _request(self, function: str, path: str, *values: str, limit: int = _TAIL_BYTES) -> tuple[str, int]:
        """The first word of the reply and the number of bytes that follow, at limit `limit`."""
        line = script.call(self._host, function, path, *values) + "\n"
        self._channel.send(line.encode("utf-8", "surrogateescape"))
        word, rest = self._reply()
        if word == "no":
            raise HostError(self._host, errors.file_failed(self._host, path, rest))
        if word != "ok":
            return word, 0
        if not _SIZE.fullmatch(rest) or int(rest) > limit:
            raise self._unexpected(rest)
        return word, int(rest)

    def _unexpected(self, text: str) -> HostError:
        return HostError(self._host, errors.strange_shell(self._place, "moving files", text))

    def _done(self, reply: tuple[str, int]) -> str:
        """The first word of a reply whose content is ignored."""
        word, size = reply
        if word == "ok":
            for _ in self._content(size):
                pass
        return word

    def _reply(self) -> tuple[str, str]:
        while b"\n" not in self._rest:
            if len(self._rest) > script.LONGEST_LINE:
                raise self._unexpected(self._rest.decode("utf-8", "replace"))
            self._rest += self._received(self._channel)
        line, _, self._rest = self._rest.partition(b"\n")
        word, _, rest = line.decode("utf-8", "replace").removeprefix("asct:").partition(" ")
        return word, rest

    def _content(self, size: int) -> Iterator[bytes]:
        """`size` bytes of content, without the line feed behind them."""
        left = size
        while left >= 0:
            block, self._rest = self._rest[: left + 1], self._rest[left + 1 :]
            if not block:
                self._rest = self._received(self._channel)
                continue
            content = block[:left]
            left -= len(block)
            if content:
                yield content

    def _received(self, channel: StepChannel) -> bytes:
        """The next bytes; waits until the limit of the link closes the channel."""
        while True:
            try:
                data = channel.receive(_PAUSE_S)
            except TimeoutError:
                continue
            if not data and channel is self._channel:
                raise HostLost(self._host, errors.connection_lost(self._place, "moving files", channel.trouble()))
            return data


def _partial(target: str) -> str:
    return f"{target}.{secrets.token_hex(6)}.part"
