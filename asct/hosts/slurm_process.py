"""Programs of Slurm as processes of this machine: short commands, and steps of jobs as channels."""

from __future__ import annotations

import contextlib
import math
import os
import select
import subprocess
from collections.abc import Callable, Mapping, Sequence

from asct.errors import HostError
from asct.hosts import slurm_problems as problems

COMMAND_S = 60.0
CLOSE_S = 5.0
"""How long a step may take to end by itself once it is given up."""
_BYTES = 1 << 16
_BLOCKS = 16
_LONGEST = 1000
"""Characters of what Slurm says that a message has room for."""
_NOISE = b"srun: "
"""How lines of srun itself begin on the standard error that it shares with the command."""
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
        raise HostError(host, problems.not_here(host, argv[0])) from error
    except subprocess.TimeoutExpired as error:
        raise HostError(host, problems.silent(host, f"`{argv[0]}` did not end", COMMAND_S)) from error
    except OSError as error:  # no process or memory left here
        raise HostError(host, problems.silent(host, f"`{argv[0]}`: {error.strerror}", 0.0)) from error


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed says, in a line."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    words = [line.partition(": ")[2].removeprefix("error: ") or line for line in lines]
    return "; ".join(words)[:_LONGEST] or "no reason is given"


class StepChannel:
    """Channel over srun, whose standard streams are those of the command. `on_end` is told when it is over."""

    def __init__(self, host: str, argv: Sequence[str], on_end: Callable[[StepChannel], None]) -> None:
        try:
            self._process = subprocess.Popen(
                argv,
                env=environment(os.environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise HostError(host, problems.not_here(host, argv[0])) from error
        except OSError as error:  # no process or memory left here, or a command line that is too long
            raise HostError(host, problems.silent(host, f"`{argv[0]}`: {error.strerror}", 0.0)) from error
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._in, self._out, self._err = process.stdin, process.stdout, process.stderr
        os.set_blocking(self._err.fileno(), False)
        self._on_end = on_end
        self._told = b""

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        with contextlib.suppress(OSError, ValueError):
            while view:
                view = view[os.write(self._in.fileno(), view) :]

    def finish_input(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()

    def receive(self, timeout_s: float) -> bytes:
        if self._out.closed:
            return b""
        ready = select.poll()  # select() knows no descriptor beyond 1023: some hundred hosts
        ready.register(self._out, select.POLLIN)
        if not ready.poll(math.ceil(timeout_s * 1000)):
            raise TimeoutError
        data = os.read(self._out.fileno(), _BYTES)
        if not data:
            self.close()
        return data

    def receive_error(self) -> bytes:
        self._take_error()
        *lines, half = self._told.splitlines(keepends=True) or [b""]
        if self._err.closed or half.endswith(b"\n") or len(half) > _BYTES:
            lines, half = [*lines, half], b""
        self._told = half
        return b"".join(line for line in lines if not line.startswith(_NOISE))

    def _take_error(self) -> None:
        if not self._err.closed:
            with contextlib.suppress(BlockingIOError):
                for _ in range(_BLOCKS):  # who writes faster than this reads would never let it go
                    block = os.read(self._err.fileno(), _BYTES)
                    if not block:
                        break
                    self._told += block

    def trouble(self) -> str:
        """What srun itself says, for a channel that did not come about."""
        self._take_error()
        lines = self._told.decode("utf-8", "replace").splitlines()
        return "; ".join(line.removeprefix("srun: ").removeprefix("error: ") for line in lines)[:_LONGEST]

    def status(self) -> int:
        status = self._process.wait()
        return -1 if status < 0 else status

    def running(self) -> bool:
        """Whether the step has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End srun at once; what it ran in the job sees the end of its input."""
        self._process.kill()

    def close(self) -> None:
        self.finish_input()
        if self._out.closed:
            return
        self._process.terminate()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._take_error()
        self._out.close()
        self._err.close()
        self._on_end(self)
