"""A snapshot of a machine elsewhere: a kept exchange, or files of /proc and /sys in a folder or a tar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.facts import archive, dumped
from asct.facts.snapshot import KEPT, Said, Snapshot, kept
from asct.facts.sources import FILES, FOLDERS
from asct.facts.sources.cpu import DUMPED
from asct.facts.sources.model import Folders
from asct.facts.trees import Below, FolderTree, Path_, Tree, paths, resolve, texts

COMMANDS_FOLDER = "commands"
MOST_FOLDERS = 20_000
DEEPEST = 8
_TOPS = {"proc", "sys", COMMANDS_FOLDER}
_STATUS = re.compile(r"\n?\[status (\d{1,3})\]\Z")
_EXHAUSTED = "not all of it was read: it has too many names, or links that lead in circles or often to the same files"
_WAY_OUT = "give a folder or a tar (gz, bz2, xz) with /proc and /sys of a machine, a run, or its `snapshot.txt`"


def load(place: Path) -> Snapshot:
    """What is known of the machine whose files are at `place`. Raises UsageError when there is nothing of one.

    The files are those that would be read of a host, wherever their folder stands in the dump. What commands print may
    lie beside them as `commands/<name>.txt`, with `[status N]` in the last line.
    """
    try:
        if place.is_dir():
            tree: Tree = FolderTree(place)
            return _machine(place, tree, [])
        if not place.is_file():
            raise _refused(place, "it is neither a file nor a folder" if place.exists() else "there is nothing")
        with place.open("rb") as file:
            found = kept(file.read(8 << 20).decode("utf-8", "replace"))
        return found or _machine(place, *archive.read(place))
    except OSError as error:
        raise _refused(place, error.strerror or str(error)) from error


def _refused(place: Path, why: str) -> UsageError:
    return UsageError(Diagnostic("E920", f"{place} is no snapshot of a machine: {why}", hint=_WAY_OUT))


def _machine(place: Path, tree: Tree, notes: list[str]) -> Snapshot:
    tops = _tops(tree)
    if not tops:
        raise _refused(place, "; ".join([*notes, "neither proc/ nor sys/ is in it"]))
    if len(tops) > 1:
        named = ", ".join("/".join(top) or "." for top in tops[:5])
        raise _refused(place, f"it has those of several: {named}")
    machine = Below(tree, tops[0])
    if KEPT in machine.names(()) and (found := kept("".join(texts(machine, [(KEPT,)]).values()))):
        return replace(found, notes=tuple(notes))
    left: dict[str, int] = {}
    commands = dumped.said(machine, left) | _commands(machine)
    files = texts(machine, _wanted(machine, left))
    told = [*notes, *([_EXHAUSTED] if machine.exhausted else [])]
    return Snapshot(files, commands, left, tuple(told), dumped.taken(machine))


def _wanted(tree: Tree, left: dict[str, int]) -> Iterator[Path_]:
    for pattern in FILES:
        yield from paths(tree, pattern)
    for folders in (*FOLDERS, *DUMPED):
        yield from _of_folders(tree, folders, left)


def _tops(tree: Tree) -> list[Path_]:
    """The folders that have the files of a machine, none of them inside another."""
    found: list[Path_] = []
    ahead: list[Path_] = [()]
    for _ in range(MOST_FOLDERS):
        if not ahead:
            break
        folder = ahead.pop(0)
        names = tree.names(folder)
        inner = [name for name in names if (entry := tree.entry((*folder, name))) and entry.kind == "folder"]
        if KEPT in names or not _TOPS.isdisjoint(inner):
            found.append(folder)
        elif len(folder) < DEEPEST:
            ahead += [(*folder, name) for name in inner]
    return found


def _of_folders(tree: Tree, folders: Folders, left: dict[str, int]) -> Iterator[Path_]:
    found = [path for pattern in folders.patterns for path in paths(tree, pattern)]
    if len(found) > folders.most:
        left[folders.field] = len(found) - folders.most
        found = sorted(found, key=lambda path: resolve(tree, (*path, "device")) is None)[: folders.most]
    for folder in found:
        for name in folders.files:
            yield from paths(tree, name, folder)


def _commands(tree: Tree) -> dict[str, Said]:
    found = {}
    for path, text in texts(tree, paths(tree, f"/{COMMANDS_FOLDER}/*.txt")).items():
        status = _STATUS.search(text)
        name = path.rpartition("/")[2].removesuffix(".txt")
        found[name] = Said(int(status[1]) if status else 255, text[: status.start()] if status else text)
    return found
