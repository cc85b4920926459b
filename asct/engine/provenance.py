"""Reads the git commit of a plan's folder from .git: no program is started and no hook can run."""

from __future__ import annotations

import re
from pathlib import Path

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_commit(plan: Path) -> str | None:
    """The commit checked out in the folder of `plan`; None outside a repository or if it cannot be read."""
    try:
        folder = _git_folder(plan.resolve().parent)
        return _head(folder) if folder is not None else None
    except (OSError, ValueError):
        return None


def _git_folder(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        entry = folder / ".git"
        if entry.is_dir():
            return entry
        if entry.is_file():  # a worktree or submodule: `gitdir: PATH`
            text = entry.read_text(encoding="utf-8").strip()
            return (folder / text.removeprefix("gitdir:").strip()).resolve()
    return None


def _head(folder: Path) -> str | None:
    text = (folder / "HEAD").read_text(encoding="utf-8").strip()
    if not text.startswith("ref: "):
        return _hash(text)
    name = text.removeprefix("ref: ").strip()
    common = folder
    if (folder / "commondir").is_file():
        common = (folder / (folder / "commondir").read_text(encoding="utf-8").strip()).resolve()
    for place in (folder, common):
        if ".." not in name and (place / name).is_file():
            return _hash((place / name).read_text(encoding="utf-8").strip())
    return _packed(common, name)


def _packed(folder: Path, name: str) -> str | None:
    packed = folder / "packed-refs"
    if not packed.is_file():
        return None
    for line in packed.read_text(encoding="utf-8").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name:
            return _hash(found)
    return None


def _hash(text: str) -> str | None:
    return text if _HASH.fullmatch(text) else None
