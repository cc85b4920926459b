"""Read a host's keys from known_hosts files (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"), and format keys for messages.

A fleet's file has at least one line per host and is searched once per host. Therefore, lines are found by name, and
only lines that match the host are decoded.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_PATTERN: Final = re.compile(r"[*?!|]")
DEFAULT_FILE = "~/.ssh/known_hosts"
Key = tuple[str, bytes]
"""The key type, and the key itself as ssh encodes it."""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The keys of a host: the trusted keys in file order, and the keys marked with @revoked.

    Lines of certificate authorities (@cert-authority) are ignored, because asct does not use host certificates.
    """

    keys: tuple[Key, ...] = ()
    revoked: frozenset[Key] = frozenset()

    def with_more(self, other: KnownKeys) -> KnownKeys:
        """Return the keys in both files. A key that either file revokes is not trusted, even if the other file lists
        it."""
        revoked = self.revoked | other.revoked
        return KnownKeys(tuple(key for key in (*self.keys, *other.keys) if key not in revoked), revoked)


def known_keys(file: Path, name: str) -> KnownKeys:
    """Return the keys that a file contains for a host (`name` comes from `known_as`).

    Raises OSError if the file cannot be read, and ValueError if it is not text or contains no keys.
    """
    status = file.stat()
    by_name, searched = _lines(str(file), status.st_mtime_ns, status.st_size)
    found: list[Key] = []
    revoked: set[Key] = set()
    for line in sorted([*by_name.get(name, ()), *(line for line in searched if _concerns(line.patterns, name))]):
        key = line.key_type, base64.b64decode(line.encoded_key, validate=True)
        if line.revoked:
            revoked.add(key)
        else:
            found.append(key)
    return KnownKeys(tuple(key for key in found if key not in revoked), frozenset(revoked))


class _KeyLine(NamedTuple):
    """A line with a trusted or revoked key. The key is encoded in Base64."""

    number: int
    revoked: bool
    patterns: Sequence[str]
    key_type: str
    encoded_key: str


@lru_cache(maxsize=16)
def _lines(file: str, modified_ns: int, size: int) -> tuple[dict[str, list[_KeyLine]], list[_KeyLine]]:
    """Return the lines without wildcards, negations and hashes, keyed by host name, and all other lines, which must be
    searched. The file is read again only if it has changed."""
    by_name: dict[str, list[_KeyLine]] = {}
    searched: list[_KeyLine] = []
    for number, text in enumerate(Path(file).read_text(encoding="utf-8").splitlines()):
        fields = text.split()
        marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
        if len(fields) < 3 or fields[0].startswith("#") or marker not in ("", "@revoked"):
            continue
        line = _KeyLine(number, bool(marker), fields[0].split(","), *fields[1:3])
        if _PATTERN.search(fields[0]):
            searched.append(line)
        else:
            for name in set(line.patterns):
                by_name.setdefault(name, []).append(line)
    return by_name, searched


def _concerns(patterns: Sequence[str], name: str) -> bool:
    """Return whether the first field of a line matches the host: at least one pattern must match, and no pattern with
    `!` may match."""
    matching = [pattern for pattern in patterns if _matches(pattern.removeprefix("!"), name)]
    return bool(matching) and not any(pattern.startswith("!") for pattern in matching)


def _matches(pattern: str, name: str) -> bool:
    """Return whether a pattern matches the host. `*` and `?` are wildcards. Brackets are literal, because in this field
    they enclose an address."""
    if pattern.startswith("|"):
        return _is_hash_of(pattern, name)
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern.replace("[", "[[]"))
    return pattern == name


def _is_hash_of(text: str, name: str) -> bool:
    """Return whether `|1|salt|hash` contains the HMAC-SHA1 of the name (salt and hash in Base64)."""
    _, kind, *rest = text.split("|")
    if kind != "1" or len(rest) != 2:
        return False
    salt, digest = (base64.b64decode(one) for one in rest)
    return hmac.compare_digest(digest, hmac.new(salt, name.encode(), hashlib.sha1).digest())


def known_as(address: str, port: int) -> str:
    """Return the host's name in known_hosts: `[address]:port`, or the address alone for port 22."""
    return address if port == 22 else f"[{address}]:{port}"


def fingerprint(key_type: str, blob: bytes) -> str:
    """Return the fingerprint of a key in the format of `ssh-keygen -lf`, such as `ssh-ed25519 SHA256:...`."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"{key_type} SHA256:{digest}"


def line_to_add(address: str, port: int, key_type: str, blob: bytes) -> str:
    """Return the known_hosts line that makes ssh trust this key."""
    return f"{known_as(address, port)} {key_type} {base64.b64encode(blob).decode()}"


def resolve(path: str, folder: Path) -> Path:
    """Return a path in the plan as an absolute path: `~` is the home directory, and relative paths are resolved against
    `folder`."""
    return folder / os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises without a home folder
