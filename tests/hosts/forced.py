"""Hosts that lie: a real sshd whose account runs a script of the test in place of what it is asked to run."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.sshd import Sshd

SFTP = "/usr/lib/openssh/sftp-server"
HEAD = f"#!/bin/sh\ncase $SSH_ORIGINAL_COMMAND in internal-sftp) exec {SFTP} ;; esac\n"
"""File transfer is served as ever; the script decides about commands."""


def force(server: Sshd, script: str, *, files: bool = True) -> None:
    """From now on logins run `script` (sh); what was asked for is in $SSH_ORIGINAL_COMMAND. With `files` sftp works."""
    place = server.folder / "forced"
    place.write_text((HEAD if files else "#!/bin/sh\n") + script)
    place.chmod(0o755)
    key = (server.folder / "client.pub").read_text()
    (server.folder / "authorized_keys").write_text(f'command="{place}" {key}')


def through(*filters: str) -> str:
    """A script that runs what was asked for, and changes what it says by expressions of sed."""
    words = " ".join(f"-e '{one}'" for one in filters)
    return f'sh -c "$SSH_ORIGINAL_COMMAND" | sed -u {words}\n'


def with_programs(folder: Path, programs: dict[str, str]) -> str:
    """A script that runs what was asked for with `programs` (name to sh text) in front of those of the host."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f'PATH={folder}:$PATH; export PATH\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n'


def end(server: Sshd) -> None:
    """Kill what was started on a host that could not be told to end it, by pid."""
    place = str(server.folder).encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if place in words and b"sshd" not in words.split(b"\0")[0]:
                os.kill(int(entry.name), signal.SIGKILL)
