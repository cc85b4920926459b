"""Find the address, port and account of an ssh server, as ssh(1) does: from the given text and the ssh_config files."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from asct.hosts.ssh.library import import_invoke, paramiko

_CONFIG_FILES: Final = ("~/.ssh/config", "/etc/ssh/ssh_config")
"""The files that ssh(1) reads, in this order. The first value of a setting applies."""
_EXEC: Final = re.compile(r"^\s*match\b.*\bexec\b", re.IGNORECASE | re.MULTILINE)
FileState = tuple[str, int, int]
"""The name, modification time and size of a file. If any of these changes, the file is read again."""


def states(*files: str) -> tuple[FileState, ...]:
    """Return the states of the files that exist."""
    found = []
    for file in map(os.path.expanduser, files):
        with suppress(OSError):
            status = Path(file).stat()
            found.append((file, status.st_mtime_ns, status.st_size))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Destination:
    """An ssh server. `settings` contains what the ssh_config files say about it, keyed by lowercase name."""

    user: str
    host: str
    port: int
    settings: Mapping[str, Any]


def destination(text: str, user: str | None, port: int | None) -> Destination:
    """Return the server that `text` (`[user@]host[:port]`) names. `user` and `port` take precedence, and the ssh_config
    files are consulted last. An IPv6 address has no port.

    Raises SSHException, ValueError, LookupError or OSError if the ssh_config files cannot be read or applied.
    """
    own_user, _, place = text.rpartition("@")
    host, _, own_port = place.partition(":") if place.count(":") == 1 else (place, "", "")
    settings = _ssh_config(states(*_CONFIG_FILES)).lookup(host)
    return Destination(
        user=user or own_user or settings.get("user") or getpass.getuser(),
        host=settings["hostname"],
        port=int(port or own_port or settings.get("port") or 22),
        settings=settings,
    )


@lru_cache(maxsize=4)
def _ssh_config(files: tuple[FileState, ...]) -> paramiko.SSHConfig:
    """Return the content of the ssh_config files, which are read once for all hosts in a fleet."""
    config = paramiko.SSHConfig()
    for name, *_ in files:
        text = Path(name).read_text("utf-8", "surrogateescape")
        if _EXEC.search(text):
            import_invoke()
        config.parse(text.split("\n"))
    return config
