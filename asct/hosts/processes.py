"""A local process as a channel: `sh` on this machine, or `srun` into a job of Slurm."""

from __future__ import annotations

import contextlib
import math
import os
import select
import subprocess
from collections.abc import Mapping, Sequence

CLOSE_S = 5.0
"""How long a process may take to end by itself once its channel is closed."""
_BYTES = 1 << 16
_MOST_ERROR = 1 << 20
"""Bytes of standard error that are kept until the caller takes them."""


class ProcessChannel:
    """Channel over the three standard streams of a process, which leads a session of its own: neither Ctrl-C nor a
    closed terminal reaches it. Raises OSError when the process cannot be started."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._in, self._out, self._err = process.stdin, process.stdout, process.stderr
        os.set_blocking(self._err.fileno(), False)
        self._poll = select.poll()  # select() knows no descriptor beyond 1023: some hundred hosts
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self._open = {self._out.fileno(), self._err.fileno()}
        self._error = b""

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        with contextlib.suppress(OSError, ValueError):
            while view:
                view = view[os.write(self._in.fileno(), view) :]

    def finish_input(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()

    def receive(self, timeout_s: float) -> bytes:
        """Standard output ends here once standard error has ended too, so that none of it is missed."""
        while self._open:
            ready = {number for number, _ in self._poll.poll(_milliseconds(timeout_s))}
            if not ready:
                raise TimeoutError
            if self._err.fileno() in ready and self._take_error():
                raise TimeoutError  # the caller has to take it first
            if self._out.fileno() in ready:
                if data := os.read(self._out.fileno(), _BYTES):
                    return data
                self._forget(self._out.fileno())
        self._close_streams()
        return b""

    def _take_error(self) -> bool:
        """Take what there is of standard error; True when no more of it is kept."""
        while len(self._error) < _MOST_ERROR:
            try:
                block = os.read(self._err.fileno(), _BYTES)
            except BlockingIOError:
                return False
            if not block:
                self._forget(self._err.fileno())
                return False
            self._error += block
        return True

    def _forget(self, number: int) -> None:
        if number in self._open:
            self._open.remove(number)
            self._poll.unregister(number)

    def receive_error(self) -> bytes:
        if not self._err.closed:
            self._take_error()
        found, self._error = self._error, b""
        return found

    def status(self) -> int:
        status = self._process.wait()
        return -1 if status < 0 else status

    def running(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        self.finish_input()
        if self.running():
            self._process.terminate()
            try:
                self._process.wait(CLOSE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if not self._err.closed:
            self._take_error()
        self._close_streams()

    def _close_streams(self) -> None:
        self.finish_input()
        for number in list(self._open):
            self._forget(number)
        self._out.close()
        self._err.close()


def _milliseconds(seconds: float) -> int | None:
    """A timeout of poll(2), which waits without end for None."""
    return None if math.isinf(seconds) else math.ceil(seconds * 1000)
