"""Host keys as people compare them: names in known_hosts, fingerprints, the line to add."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

DEFAULT_FILE = "~/.ssh/known_hosts"


def known_as(address: str, port: int) -> str:
    """The name under which known_hosts lists a host: `[address]:port` unless the port is 22."""
    return address if port == 22 else f"[{address}]:{port}"


def fingerprint(key_type: str, blob: bytes) -> str:
    """`ssh-ed25519 SHA256:...`, as `ssh-keygen -lf` prints it."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"{key_type} SHA256:{digest}"


def line_to_add(address: str, port: int, key_type: str, blob: bytes) -> str:
    """The line of known_hosts that makes this key the known one."""
    return f"{known_as(address, port)} {key_type} {base64.b64encode(blob).decode()}"


def resolve(path: str, folder: Path) -> Path:
    """A path of the plan: `~` is the home folder, a relative one starts at `folder`."""
    return folder / os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises when there is no home


def known_hosts_file(given: str | None, folder: Path) -> Path:
    """The file that decides: the plan's, or the account's own."""
    return resolve(given or DEFAULT_FILE, folder)
