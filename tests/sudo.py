"""Grant sudo rights to the account of the tests, with a file in sudoers.d that exists only during a test. Only one test
at a time uses it."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sshd import ACCOUNT, make_account

GRANTS = Path("/etc/sudoers.d/asct-bench-test")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may grant what sudo may do")


@contextmanager
def sudoers(*lines: str) -> Iterator[None]:
    """Write these lines to a separate file, checked by visudo. Without lines, the account has no rights."""
    make_account()
    with Path("/run/asct-bench-sudo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            grant(*lines)
            yield
        finally:
            GRANTS.unlink(missing_ok=True)


def grant(*lines: str) -> None:
    """Replace the granted rights while `sudoers` holds the file."""
    GRANTS.write_text("".join(f"{line}\n" for line in lines))
    GRANTS.chmod(0o440)
    subprocess.run(["visudo", "-cqf", str(GRANTS)], check=True)


def of_root(place: str) -> list[str]:
    """Return the command lines of root's processes that contain `place` or run in it, except those of the tests
    themselves."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            text = b" ".join(words).decode(errors="replace")
            if entry.stat().st_uid != 0 or not (place in text or str((entry / "cwd").readlink()).startswith(place)):
                continue
        except OSError:
            continue
        if b"asct" not in words and b"pytest" not in text.encode() and b"sshd" not in words[0]:
            found.append(text)
    return found


__all__ = ["ACCOUNT", "as_root", "grant", "of_root", "sudoers"]
