"""Wait for a child of this process without reaping it, so that its process group can still be named safely."""

from __future__ import annotations

import os
import select
import time

STEP_S = 0.005


def exited(pid: int) -> bool:
    """Whether the child has ended (it stays a zombie)."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def wait_exit(pid: int, timeout_s: float, wake: int = -1) -> bool:
    """Wait until the child ends, `wake` (if any) is readable, or the time is over; True when the child has ended."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:  # a kernel before 5.3, or a sandbox that forbids the call
        return _poll_exit(pid, timeout_s, wake)
    try:
        poll = _watching(wake)
        poll.register(pidfd, select.POLLIN)
        poll.poll(max(timeout_s, 0.0) * 1000)
    finally:
        os.close(pidfd)
    return exited(pid)


def cpu_ns(pid: int) -> int | None:
    """CPU time of a child that has ended but is not reaped, with all that it waited for: fields 14 to 17 of its stat
    (proc(5)), in ticks. None when it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - once for each of a thousand tasks
            fields = file.read().rpartition(b") ")[2].split()
        return sum(map(int, fields[11:15])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


def _watching(wake: int) -> select.poll:
    poll = select.poll()
    if wake >= 0:
        poll.register(wake, select.POLLIN)
    return poll


def _poll_exit(pid: int, timeout_s: float, wake: int) -> bool:
    until = time.monotonic() + timeout_s
    poll = _watching(wake)
    while not exited(pid):
        left = until - time.monotonic()
        if left <= 0 or poll.poll(min(STEP_S, left) * 1000):
            return exited(pid)
    return True
