"""A Link that uses a program on this machine to provide a shell on the host, such as `docker exec -i` or `srun`."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import subprocess
from collections.abc import Callable, Mapping, Sequence

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts import errors
from asct.hosts.link import FileTransfer, TimedLink, quoted
from asct.hosts.shell_files import COMMAND, ShellFiles

CONNECT_S = 90.0
"""Seconds within which the first command must start. This command may have to wait for a Slurm job's prolog."""
CLOSE_S = 5.0
"""Seconds within which a process must exit after its channel is closed."""
_BYTES = 1 << 16
_MOST_ERROR = 1 << 20
"""Maximum number of unread bytes on standard error."""


class ProcessChannel:
    """A Channel over the standard streams of a process.

    The process leads a separate session and is therefore not affected by Ctrl-C or a closed terminal. Raises OSError if
    the process cannot be started.
    """

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
        self._unread = selectors.PollSelector()  # select() is limited to descriptors below 1024
        self._unread.register(self._out, selectors.EVENT_READ)
        self._unread.register(self._err, selectors.EVENT_READ)
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
        """See `Channel.receive`. The end of standard output is reported only after standard error has also ended, so
        that nothing is lost."""
        while self._unread.get_map():
            ready = {key.fileobj for key, _ in self._unread.select(None if math.isinf(timeout_s) else timeout_s)}
            if not ready:
                raise TimeoutError
            if self._out in ready:
                if data := os.read(self._out.fileno(), _BYTES):
                    return data  # before standard error is read, so that a flood of messages cannot hide the data
                self._unread.unregister(self._out)
            if self._err in ready and self._take_error():
                raise TimeoutError  # the caller must read standard error first
        self._close_streams()
        return b""

    def _take_error(self) -> bool:
        """Read the available bytes of standard error. Returns True if the limit has been reached."""
        while len(self._error) < _MOST_ERROR:
            try:
                block = os.read(self._err.fileno(), _BYTES)
            except BlockingIOError:
                return False
            if not block:
                if self._err in (self._unread.get_map() or ()):
                    self._unread.unregister(self._err)
                return False
            self._error += block
        return True

    def receive_error(self) -> bytes:
        if not self._err.closed:
            self._take_error()
        found, self._error = self._error, b""
        return found

    def message(self) -> str:
        """See `Channel.message`."""
        return quoted(self.receive_error())

    def status(self) -> int:
        status = self._process.wait()
        return -1 if status < 0 else status

    def running(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process."""
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
        self._unread.close()
        self._out.close()
        self._err.close()


class ShellLink(TimedLink):
    """A Link over processes on this machine.

    `argv(command)` returns the command line that runs `command` in a shell on the host, connected to the standard
    streams of the process, such as `["docker", "exec", "-i", "box", "sh", "-c", command]`.
    """

    def __init__(self, name: str, argv: Callable[[str], Sequence[str]]) -> None:
        super().__init__(name)
        self._argv = argv
        self._channels: list[ProcessChannel] = []
        self._shell: ProcessChannel | None = None
        self._files: FileTransfer | None = None

    def connect(self) -> None:
        self.watch()
        try:
            with self.within(CONNECT_S, "starting a shell"):
                self._shell = self.start(COMMAND)
                shell_files = ShellFiles(self._name, self.label, self._shell, self.progress)
                shell_files.wait_until_ready()
                self._files = shell_files
        except HostError as error:
            self.close()
            raise ConnectError(self._name, *error.diagnostics) from error

    def close(self) -> None:
        self.unwatch()
        channels, self._channels, self._files = self._channels, [], None
        for channel in channels:
            channel.close()

    def alive(self) -> bool:
        return not self.late and self._files is not None and self._shell is not None and self._shell.running()

    def cut(self) -> None:
        for channel in list(self._channels):
            channel.kill()

    def start(self, command: str) -> ProcessChannel:
        for ended in [one for one in self._channels if not one.running()]:
            ended.close()
            self._channels.remove(ended)
        argv = self._argv(command)
        try:
            channel = self.open_channel(argv)
        except OSError as error:
            raise self.not_started(argv[0], error) from error
        self._channels.append(channel)
        return channel

    def open_channel(self, argv: Sequence[str]) -> ProcessChannel:
        """Start the process for a channel. Raises OSError."""
        return ProcessChannel(argv)

    def not_started(self, program: str, error: OSError) -> HostError:
        """Return the error for a program that could not be started because it is missing or because this machine has
        run out of processes, file descriptors or memory."""
        missing = isinstance(error, FileNotFoundError)
        detail = f"no `{program}` on the PATH" if missing else error.strerror or str(error)
        diagnostic = errors.connection_lost(self.label, "starting a shell", detail)
        return ConnectError(self._name, diagnostic) if missing else HostLost(self._name, diagnostic)

    @property
    def files(self) -> FileTransfer:
        if self._files is None:
            raise HostLost(self._name, errors.connection_lost(self.label, "idle"))
        return self._files
