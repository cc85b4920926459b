"""How pingpong ends if a thread, a CPU, its memory or the reader of its output fails: within a limited time, and with a
reason."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from tests.kernels.pingpong import BOTH, CPUS

pytestmark = pytest.mark.kernels

LONG = ("--cpus", BOTH, "--pages", "4k", "--batches", "65536")
PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def out_of(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


@contextmanager
def started(program: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a kernel, and provide its process and its meta line."""
    command = [str(program), *LONG, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            meta = json.loads(out_of(process).readline())
            assert json.loads(out_of(process).readline()) == {"t": "ready"}
            yield process, meta
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, stderr = process.communicate(timeout=120)
    return process.returncode, stderr


def thread_on(process: subprocess.Popen[str], cpu: int) -> int:
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        if int(task.name) != process.pid and os.sched_getaffinity(int(task.name)) == {cpu}:
            return int(task.name)
    raise LookupError(f"no thread on CPU {cpu}")


def harmed(program: Path, harm: Callable[[subprocess.Popen[str]], None], *arguments: str) -> tuple[int, int, str]:
    """Run one method, do harm to the run while it measures, and return how the run ended, preceded by the time limit in
    ms. If the run ended before the harm, try again with more time."""
    for cap in (500, 2000, 8000):
        with started(program, "--time-cap-ms", str(cap), *arguments) as (process, _):
            with suppress(LookupError, OSError):
                harm(process)
            code, stderr = ended(process)
        if code != 0:
            break
    return cap, code, stderr


def ptrace(request: int, thread: int) -> None:
    LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if LIBC.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def test_a_thread_that_never_answers_ends_the_run_with_3(pingpong: Path) -> None:
    def stand_still(process: subprocess.Popen[str]) -> None:
        thread = thread_on(process, CPUS[1])
        ptrace(PTRACE_SEIZE, thread)
        ptrace(PTRACE_INTERRUPT, thread)
        os.waitpid(thread, WALL)  # it stands still
        os.waitpid(thread, WALL)  # it was killed with the others

    cap, code, stderr = harmed(pingpong, stand_still, "--methods", "token", "--patience-ms", "200")
    waited = f"did not finish within {8 * cap + 200} ms (2 threads did not): did a CPU go offline"
    assert code == 3 and f"CPU {CPUS[0]} and CPU {CPUS[1]} {waited}" in stderr


def test_a_thread_that_was_moved_ends_the_run_with_3(pingpong: Path) -> None:
    first, second = CPUS[:2]

    def move(process: subprocess.Popen[str]) -> None:
        os.sched_setaffinity(thread_on(process, second), {first})

    _, code, stderr = harmed(pingpong, move, "--methods", "cas")
    message = f"CPU {second} went offline during the measurement: its thread is on CPU {first} now"
    assert (code, stderr) == (3, f"pingpong: {message}\n")


def arena_of(process: subprocess.Popen[str], bytes_: int) -> int:
    """Return the address at which the mapping of this size begins."""
    for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
        low, high = (int(number, 16) for number in line.split()[0].split("-"))
        if high - low == bytes_:
            return low
    raise AssertionError(f"no mapping of {bytes_} bytes")


@contextmanager
def opened(memory: str) -> Iterator[int]:
    """Open the memory of a process. Once the process has ended, its memory can no longer be written."""
    descriptor = os.open(memory, os.O_RDWR)
    try:
        yield descriptor
    except OSError:
        pass
    finally:
        os.close(descriptor)


def test_a_word_that_was_overwritten_fails_the_self_check(pingpong: Path) -> None:
    with started(pingpong, "--time-cap-ms", "20000", "--methods", "token", "--addresses", "2") as (process, meta):
        words = arena_of(process, meta["arena_bytes"]) + 4096
        with opened(f"/proc/{process.pid}/mem") as memory:
            while process.poll() is None:
                os.pwrite(memory, b"\x55" * 8192, words)
        code, stderr = ended(process)
    assert code == 4 and stderr.endswith(": a message arrived out of order\n")


def test_a_line_that_was_overwritten_fails_the_self_check(pingpong: Path) -> None:
    """The stamps, which follow the addresses of the next lines, are overwritten. Both CPUs rewrite them constantly."""
    arguments = ("--time-cap-ms", "20000", "--methods", "chain", "--addresses", "1", "--chain-bytes", "4096")
    with started(pingpong, *arguments) as (process, meta):
        ring = arena_of(process, meta["arena_bytes"]) + 8192
        with opened(f"/proc/{process.pid}/mem") as memory:
            while process.poll() is None:
                lines = os.pread(memory, meta["arena_bytes"] - 8192, ring)
                for at in range(0, len(lines), meta["line_bytes"]):
                    if any(lines[at : at + 8]):
                        os.pwrite(memory, b"\x55" * 8, ring + at + 8)
        code, stderr = ended(process)
    assert code == 4 and stderr.endswith(": a walk of the chain did not find every line as written\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_leaves_whole_lines_and_no_end(number: signal.Signals, pingpong: Path) -> None:
    with started(pingpong, "--time-cap-ms", "5000") as (process, _):
        process.send_signal(number)
        lines = out_of(process).readlines()
        assert process.wait(timeout=60) == -number
    assert "end" not in [json.loads(line)["t"] for line in lines]


def test_a_full_disk_ends_with_3(pingpong: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(pingpong), "--cpus", BOTH]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3 and "cannot write to standard output" in done.stderr
