"""Hostile hosts: a real sshd whose account runs a script of the test instead of the requested command."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.sshd import Sshd


def force(server: Sshd, script: str) -> None:
    """Make logins run `script` (sh); the requested command is in $SSH_ORIGINAL_COMMAND."""
    place = server.folder / "forced"
    place.write_text(f"#!/bin/sh\n{script}")
    place.chmod(0o755)
    key = (server.folder / "client.pub").read_text()
    (server.folder / "authorized_keys").write_text(f'command="{place}" {key}')


def through(*filters: str) -> str:
    """Return a script that runs the requested command and modifies its output with sed expressions."""
    words = " ".join(f"-e '{one}'" for one in filters)
    return f'sh -c "$SSH_ORIGINAL_COMMAND" | sed -u {words}\n'


def with_programs(folder: Path, programs: dict[str, str]) -> str:
    """Return a script that runs the requested command with `programs` (a mapping from names to sh code) first on the
    PATH."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f'PATH={folder}:$PATH; export PATH\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n'


def end(server: Sshd) -> None:
    """Kill the processes on a host that did not respond to a request to stop, by their pids."""
    place = str(server.folder).encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if place in words and b"sshd" not in words.split(b"\0")[0]:
                os.kill(int(entry.name), signal.SIGKILL)
