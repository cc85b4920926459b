"""Which paths a transport may write, fetch or remove. Pure text; the host checks links where they matter."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from asct.errors import HostError
from asct.hosts import problems


def inner_name(host: str, name: str) -> str:
    """`name` if it is a plain relative path that stays in its folder (`job.fio`, `chase/chase.c`); else HostError."""
    parts = name.split("/")
    if not name or "\0" in name or "\n" in name or any(part in ("", ".", "..") for part in parts):
        raise HostError(host, problems.path_refused(host, name, "it could leave the folder it is meant for"))
    return name


def below(host: str, path: str, roots: Sequence[str]) -> str:
    """`path` if it is absolute, plain and strictly below one of `roots`; else HostError."""
    if "\0" in path or "\n" in path or posixpath.normpath(path) != path:
        raise HostError(host, problems.path_refused(host, path, "it is not a plain absolute path"))
    if not any(path.startswith(root.rstrip("/") + "/") for root in roots):
        places = " or ".join(f"`{root}`" for root in roots)
        raise HostError(host, problems.path_refused(host, path, f"it is not below {places}"))
    return path
